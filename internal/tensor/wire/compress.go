package wire

import (
	"compress/zlib"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registers gzip
)

// Deflate is the name of the compression that the C core of gRPC, and therefore its Python library,
// supports in addition
// to gzip: the zlib format of RFC 1950 (src/core/lib/compression/message_compress.cc in github.com/grpc/grpc).
//
// SkyTorch 0.1.0 compresses every message. In later versions, SKYTORCH_GRPC_COMPRESSION (none,
// deflate or gzip) controls
// the compression. Clients and servers that import this package support both, and servers respond with the compression
// of the request.
const Deflate = "deflate"

func init() { //nolint:gochecknoinits // gRPC requires the registration of compressors at initialization
	encoding.RegisterCompressor(&deflate{})
}

// deflate reuses writers and readers, each of which has tables of about 100 KiB.
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
	//nolint:forcetypeassert,errcheck // as zlib.NewReader documents
	return r.ReadCloser.(zlib.Resetter).Reset(from, nil)
}

func (r *deflateReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err == io.EOF {
		r.pool.Put(r)
	}
	return n, err
}
