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

// deflate reuses writers, which have large tables.
type deflate struct{ writers sync.Pool }

func (d *deflate) Name() string { return Deflate }

func (d *deflate) Compress(w io.Writer) (io.WriteCloser, error) {
	z, ok := d.writers.Get().(*zlib.Writer)
	if !ok {
		z = zlib.NewWriter(nil)
	}
	z.Reset(w)
	return deflateWriter{z, &d.writers}, nil
}

func (*deflate) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }

type deflateWriter struct {
	*zlib.Writer

	pool *sync.Pool
}

func (w deflateWriter) Close() error {
	defer w.pool.Put(w.Writer)
	return w.Writer.Close()
}
