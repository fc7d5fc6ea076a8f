package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxSmall limits the total size of the fields other than data: IDs, shapes, metadata.
const maxSmall = 64 << 10

// cursor reads a message in several buffers without joining them.
type cursor struct {
	bufs  mem.BufferSlice
	at    int // in bufs[0]
	left  int
	small int // bytes of small fields read so far
}

func newCursor(bufs mem.BufferSlice) *cursor { return &cursor{bufs: bufs, left: bufs.Len()} }

// head returns the unread part of the first buffer that is not read completely.
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
	if v, n := protowire.ConsumeVarint(c.head()); n > 0 { // almost always in one buffer
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
		return 0, Errorf(Malformed, "a number is truncated or too long")
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

// length reads the length of a length-delimited field.
func (c *cursor) length() (int, error) {
	n, err := c.uvarint()
	if err != nil {
		return 0, err
	}
	if n > uint64(c.left) { //nolint:gosec // never negative
		return 0, Errorf(Malformed, "a field of %d bytes in a message with %d remaining bytes", n, c.left)
	}
	return int(n), nil //nolint:gosec // not above left
}

// smallField reads a length-delimited field into new memory.
func (c *cursor) smallField() ([]byte, error) {
	n, err := c.length()
	if err != nil {
		return nil, err
	}
	if c.small += n; c.small > maxSmall {
		return nil, Errorf(Limit, "more than %d bytes of fields other than data", maxSmall)
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

// dataField returns the buffers of a length-delimited field, with separate
// references that the caller must free.
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

// skip skips the value of an unknown field.
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
		return Errorf(Malformed, "a field is truncated")
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
