package server

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"google.golang.org/grpc/mem"
)

// growing is an io.Writer that appends to content.
type growing struct {
	content *content
	want    int64
}

func (g growing) Write(p []byte) (int, error) {
	if err := g.content.grow(mem.BufferSlice{mem.SliceBuffer(p)}, g.want); err != nil {
		return 0, err
	}
	return len(p), nil
}

// uniform is an endless reader of float32 numbers from 0 to 1. All reads except the
// last one must be multiples of 4 bytes.
type uniform struct{ random *rand.Rand }

func (u uniform) Read(p []byte) (int, error) {
	n := 0
	for ; n+4 <= len(p); n += 4 {
		binary.LittleEndian.PutUint32(p[n:], math.Float32bits(u.random.Float32()))
	}
	for ; n < len(p); n++ {
		p[n] = 0
	}
	return n, nil
}
