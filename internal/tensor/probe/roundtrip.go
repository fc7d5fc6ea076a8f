package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

var errDiffers = errors.New("the returned tensor differs")

// bytesOf returns an endless reader of bytes that depend only on the seed.
func bytesOf(seed uint64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}

// comparer is a writer that compares the written bytes with the expected ones.
type comparer struct {
	want io.Reader
	buf  []byte
	at   int64
}

func (c *comparer) Write(p []byte) (int, error) {
	if cap(c.buf) < len(p) {
		c.buf = make([]byte, len(p))
	}
	want := c.buf[:len(p)]
	if _, err := io.ReadFull(c.want, want); err != nil {
		return 0, err
	}
	if !bytes.Equal(p, want) {
		for i := range p {
			if p[i] != want[i] {
				return i, fmt.Errorf("%w: byte %d is 0x%02x instead of 0x%02x", errDiffers, c.at+int64(i), p[i],
					want[i])
			}
		}
	}
	c.at += int64(len(p))
	return len(p), nil
}

// roundTrip adds the round trip to the result of a health check. Data is generated
// and compared while it is transferred and not kept in memory, except for the
// response of KPU, whose layout is known only at its end.
func roundTrip(ctx context.Context, c *tensor.Client, e Endpoint, r Result) Result {
	start := time.Now()
	trip := skyTrip
	if r.Service == kputorch.Service_ServiceDesc.ServiceName {
		trip = kpuTrip
	}
	if err := trip(ctx, c, e); err != nil {
		failed := failure(err)
		failed.Latency, failed.Service = r.Latency, r.Service
		return failed
	}
	r.Bytes = e.RoundTrip
	r.Throughput = 2 * float64(e.RoundTrip) / (1 << 20) / time.Since(start).Seconds()
	return r
}

// skyTrip sends, receives, compares and deletes a tensor. If the server rejects the
// chunks, skyTrip retries with fields numbered from 7, as in SkyTorch 0.1.0.
func skyTrip(ctx context.Context, c *tensor.Client, e Endpoint) error {
	err := skyTripOnce(ctx, c, e)
	class := tensor.ClassOf(err)
	if err == nil || e.Options.Numbering != wire.From5 ||
		(class != tensor.Refused && class != tensor.Violation && class != tensor.NotFound) {
		return err
	}
	again := e
	again.Options.Numbering = wire.From7
	other, newErr := tensor.New(e.Target, again.Options)
	if newErr != nil {
		return err
	}
	defer other.Close()
	if skyTripOnce(ctx, other, again) != nil {
		return err // the first error is more helpful
	}
	return nil
}

// cleanupTime limits the deletion of a tensor after the time limit of a probe.
const cleanupTime = 2 * time.Second

func skyTripOnce(ctx context.Context, c *tensor.Client, e Endpoint) (err error) {
	id := rand.Uint64() | 1<<63 //nolint:gosec // an ID, not a secret; other clients use low numbers
	defer func() {              // also after a failure
		deleteErr := c.Delete(ctx, id)
		// The server may end the call at the deadline before ctx ends here, so the error decides, not ctx.Err.
		if class := tensor.ClassOf(deleteErr); class == tensor.TimedOut || class == tensor.Canceled {
			cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
			defer cancel()
			_ = c.Delete(cleanup, id)
		}
		if err == nil {
			err = deleteErr
		}
	}()
	if err := c.Upload(ctx, id, e.RoundTrip, bytesOf(e.Seed)); err != nil {
		return err
	}
	return c.Download(ctx, id, e.RoundTrip, &comparer{want: bytesOf(e.Seed)})
}

func kpuTrip(ctx context.Context, c *tensor.Client, e Endpoint) error {
	id := fmt.Sprintf("probe-%016x", rand.Uint64()) //nolint:gosec // an ID, not a secret
	var returned bytes.Buffer
	if err := c.Echo(ctx, id, e.RoundTrip, bytesOf(e.Seed), &returned); err != nil {
		return err
	}
	// The server may encode the file differently, so only the tensor in it is compared.
	file, err := torchfile.Open(bytes.NewReader(returned.Bytes()), int64(returned.Len()))
	if err != nil {
		return err
	}
	if !torchfile.IsPickleOfBytes(file.Pickle, e.RoundTrip) {
		return fmt.Errorf("%w: it is %.300q instead of %d bytes", errDiffers, file.Pickle, e.RoundTrip)
	}
	offset, err := file.Storage("0", e.RoundTrip)
	if err != nil {
		return err
	}
	_, err = (&comparer{want: bytesOf(e.Seed)}).Write(returned.Bytes()[offset : offset+e.RoundTrip])
	return err
}
