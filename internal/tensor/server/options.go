// Package server implements the reference tensor server. It serves the protocols of
// KPU and SkyTorch, health, and its own metrics on one port, and stores tensors in
// memory.
package server

import (
	"time"
)

// Options configure the limits of the server.
type Options struct {
	// MemoryLimit is the maximum total size of all tensors, in bytes. Defaults to 1 GiB.
	MemoryLimit int64
	// TensorLimit is the maximum size of one tensor, in bytes. Defaults to MemoryLimit.
	TensorLimit int64
	// MessageLimit is the maximum size of a message, in bytes. Defaults to 16 MiB.
	MessageLimit int
	// ChunkSize is the number of data bytes in each sent chunk. Defaults to 1 MiB.
	ChunkSize int
	// StallTimeout is the time without progress after which a transfer is cancelled. Defaults to 30 s.
	StallTimeout time.Duration
	// Streams is the maximum number of concurrent calls of one connection. Defaults to 128.
	Streams uint32
}

func (o Options) withDefaults() Options {
	set := func(v *int64, def int64) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&o.MemoryLimit, 1<<30)
	set(&o.TensorLimit, o.MemoryLimit)
	if o.MessageLimit <= 0 {
		o.MessageLimit = 16 << 20
	}
	if o.ChunkSize <= 0 {
		o.ChunkSize = 1 << 20
	}
	// A chunk has small fields in addition to its data.
	o.ChunkSize = max(min(o.ChunkSize, o.MessageLimit-(64<<10)), 1)
	if o.StallTimeout <= 0 {
		o.StallTimeout = 30 * time.Second
	}
	if o.Streams == 0 {
		o.Streams = 128
	}
	return o
}
