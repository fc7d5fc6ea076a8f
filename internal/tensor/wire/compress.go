package wire

import (
	"compress/zlib"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registers gzip
)

// Deflate is the name of the compression that gRPC's C core, and so its Python library, has beside gzip: the zlib format
// of RFC 1950 (src/core/lib/compression/message_compress.cc in github.com/grpc/grpc).
//
// SkyTorch 0.1.0 compresses every message, and later ones those that SKYTORCH_GRPC_COMPRESSION tells them to; its values
// are none, deflate and gzip. Clients and servers of ours that import this package read both, and answer in the
// compression that they were asked in.
const Deflate = "deflate"

func init() { //nolint:gochecknoinits // gRPC takes compressors at initialization alone
	encoding.RegisterCompressor(&deflate{})
}

// deflate keeps writers and readers for the next message: each has tables of some 100 KiB.
type deflate struct{ writers, readers sync.Pool }

func (d *deflate) Name() string { return Deflate }

func (d *deflate) Compress(w io.Writer) (io.WriteCloser, error) {
	if z, ok := d.writers.Get().(*deflateWriter); ok {
		z.Reset(w)
		return z, nil
	}
	return &deflateWriter{zlib.NewWriter(w), &d.writers}, nil
}

func (d *deflate) Decompress(r io.Reader) (io.Reader, error) {
	if z, ok := d.readers.Get().(*deflateReader); ok {
		if err := z.reset(r); err != nil {
			d.readers.Put(z)
			return nil, err
		}
		return z, nil
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return nil, err
	}
	return &deflateReader{z, &d.readers}, nil
}

type deflateWriter struct {
	*zlib.Writer

	pool *sync.Pool
}

func (w *deflateWriter) Close() error {
	defer w.pool.Put(w)
	return w.Writer.Close()
}

type deflateReader struct {
	io.ReadCloser

	pool *sync.Pool
}

func (r *deflateReader) reset(from io.Reader) error {
	return r.ReadCloser.(zlib.Resetter).Reset(from, nil) //nolint:forcetypeassert,errcheck // as zlib.NewReader documents
}

func (r *deflateReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err == io.EOF {
		r.pool.Put(r)
	}
	return n, err
}
