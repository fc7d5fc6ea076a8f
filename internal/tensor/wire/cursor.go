package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxSmall bounds what of a message is not data: ids, shapes, metadata.
const maxSmall = 64 << 10

// cursor reads a message that lies in several buffers, without joining them.
type cursor struct {
	bufs  mem.BufferSlice
	at    int // in bufs[0]
	left  int
	small int // bytes of small fields read so far
}

func newCursor(bufs mem.BufferSlice) *cursor { return &cursor{bufs: bufs, left: bufs.Len()} }

// head returns what is left of the first buffer that has anything left.
func (c *cursor) head() []byte {
	for len(c.bufs) > 0 {
		if rest := c.bufs[0].ReadOnlyData()[c.at:]; len(rest) > 0 {
			return rest
		}
		c.bufs, c.at = c.bufs[1:], 0
	}
	return nil
}

func (c *cursor) uvarint() (uint64, error) {
	if v, n := protowire.ConsumeVarint(c.head()); n > 0 { // nearly always in one buffer
		c.advance(n)
		return v, nil
	}
	var raw [10]byte
	n := 0
	for n < len(raw) {
		rest := c.head()
		if len(rest) == 0 {
			break
		}
		raw[n] = rest[0]
		c.advance(1)
		if n++; raw[n-1] < 0x80 {
			break
		}
	}
	v, n := protowire.ConsumeVarint(raw[:n])
	if n < 0 {
		return 0, Errorf(Malformed, "a number is cut off or too long")
	}
	return v, nil
}

func (c *cursor) tag() (protowire.Number, protowire.Type, error) {
	v, err := c.uvarint()
	if err != nil {
		return 0, 0, err
	}
	num, typ := protowire.DecodeTag(v)
	if num < 1 {
		return 0, 0, Errorf(Malformed, "field number %d", num)
	}
	return num, typ, nil
}

// length reads the length of a field that has one.
func (c *cursor) length() (int, error) {
	n, err := c.uvarint()
	if err != nil {
		return 0, err
	}
	if n > uint64(c.left) { //nolint:gosec // never negative
		return 0, Errorf(Malformed, "a field of %d bytes in a message that has %d left", n, c.left)
	}
	return int(n), nil //nolint:gosec // not above left
}

// smallField reads a field with a length into memory of its own.
func (c *cursor) smallField() ([]byte, error) {
	n, err := c.length()
	if err != nil {
		return nil, err
	}
	if c.small += n; c.small > maxSmall {
		return nil, Errorf(Limit, "more than %d bytes beside the data", maxSmall)
	}
	out := make([]byte, 0, n)
	for len(out) < n {
		part := c.head()
		part = part[:min(len(part), n-len(out))]
		out = append(out, part...)
		c.advance(len(part))
	}
	return out, nil
}

// dataField returns the buffers of a field with a length. They hold
// references of their own: whoever takes them frees them.
func (c *cursor) dataField() (mem.BufferSlice, error) {
	n, err := c.length()
	if err != nil {
		return nil, err
	}
	var out mem.BufferSlice
	for n > 0 {
		part := min(len(c.head()), n)
		out = append(out, c.bufs[0].Slice(c.at, c.at+part))
		c.advance(part)
		n -= part
	}
	return out, nil
}

// skip passes over the value of a field that is not known.
func (c *cursor) skip(typ protowire.Type) error {
	n := 0
	var err error
	switch typ {
	case protowire.VarintType:
		_, err = c.uvarint()
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		n, err = c.length()
	default:
		return Errorf(Malformed, "wire type %d", typ)
	}
	if err != nil {
		return err
	}
	if n > c.left {
		return Errorf(Malformed, "a field is cut off")
	}
	for n > 0 {
		part := min(len(c.head()), n)
		c.advance(part)
		n -= part
	}
	return nil
}

func (c *cursor) advance(n int) {
	c.at += n
	c.left -= n
}
