// Package server is the reference tensor server: it speaks the protocols of
// KPU and SkyTorch, keeps tensors in memory, and reports its health and its
// own metrics, all over one port.
package server

import (
	"time"
)

// Options say what the server takes from its clients.
type Options struct {
	// MemoryLimit is how many bytes of tensors are held at most. Default 1 GiB.
	MemoryLimit int64
	// TensorLimit is how many bytes one tensor has at most. Default: MemoryLimit.
	TensorLimit int64
	// MessageLimit is the largest message, in bytes. Default 16 MiB.
	MessageLimit int
	// ChunkSize is how many bytes of data a chunk has that is sent. Default 1 MiB.
	ChunkSize int
	// StallTimeout ends a transfer that makes no progress for so long. Default 30 s.
	StallTimeout time.Duration
	// Streams is how many calls one connection may have under way. Default 128.
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
	// A chunk has small fields beside its data.
	o.ChunkSize = max(min(o.ChunkSize, o.MessageLimit-(64<<10)), 1)
	if o.StallTimeout <= 0 {
		o.StallTimeout = 30 * time.Second
	}
	if o.Streams == 0 {
		o.Streams = 128
	}
	return o
}
