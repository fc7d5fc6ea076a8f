package main

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// together are several clients that transfer a tensor each at the same time.
type together []peer

func (t together) each(ctx context.Context, transfer func(context.Context, peer) error) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, p := range t {
		all.Go(func() error { return transfer(ctx, p) })
	}
	return all.Wait()
}

func (t together) upload(ctx context.Context, size int64) error {
	return t.each(ctx, func(ctx context.Context, p peer) error { return p.upload(ctx, size) })
}

func (t together) download(ctx context.Context, size int64) error {
	return t.each(ctx, func(ctx context.Context, p peer) error { return p.download(ctx, size) })
}

func (t together) echo(ctx context.Context, size int64) error {
	return t.each(ctx, func(ctx context.Context, p peer) error { return p.echo(ctx, size) })
}

func (t together) close() {
	for _, p := range t {
		p.close()
	}
}
