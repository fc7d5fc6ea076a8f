// Package server implements the reference tensor server. It serves the protocols of
// KPU and SkyTorch, health, and its own metrics on one port, and stores tensors in
// memory.
package server

import (
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
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
}

// streams is the maximum number of concurrent calls of one connection.
const streams = 128

func (o Options) withDefaults() Options {
	o.MemoryLimit = wire.Positive(o.MemoryLimit, 1<<30)
	o.TensorLimit = wire.Positive(o.TensorLimit, o.MemoryLimit)
	o.MessageLimit = wire.Positive(o.MessageLimit, 16<<20)
	// A chunk has small fields in addition to its data.
	o.ChunkSize = max(min(wire.Positive(o.ChunkSize, 1<<20), o.MessageLimit-(64<<10)), 1)
	o.StallTimeout = wire.Positive(o.StallTimeout, 30*time.Second)
	return o
}
