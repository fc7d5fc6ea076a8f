package wire

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbering is the numbering of those fields of skytorch.torch.TensorChunk that
// describe the tensor.
type Numbering int

const (
	// From5 is the default, and the numbering of proto/skytorch/torch/service.proto: shape is 5, metadata is 10. The
	// main branch of SkyTorch uses it since 19 February 2026.
	From5 Numbering = iota
	// From7 is the numbering of SkyTorch 0.1.0, its only release: shape is 7, metadata is 12
	// (skytorch/torch/server/service.proto at tag v0.1.0 of github.com/astefanutti/skytorch). All other messages, and
	// chunks after the first one, are the same.
	From7
)

// firstDescribed is the number of the first field that describes the tensor in [From5], and from7Shift the difference
// in [From7].
const firstDescribed, from7Shift protowire.Number = 5, 2

// nextField returns the first field of an encoded message with its encoded value, and the encoding of all others. The
// number is 0 at the end, and for an invalid field, which generated code rejects.
func nextField(encoded []byte) (num protowire.Number, typ protowire.Type, value, rest []byte) {
	num, typ, n := protowire.ConsumeTag(encoded)
	if n < 0 {
		return 0, 0, nil, nil
	}
	size := protowire.ConsumeFieldValue(num, typ, encoded[n:])
	if size < 0 {
		return 0, 0, nil, nil
	}
	return num, typ, encoded[n : n+size], encoded[n+size:]
}

// renumber adds a difference to the numbers of the fields that describe the tensor. It removes fields whose number the
// other numbering does not have.
func renumber(encoded []byte, by protowire.Number) []byte {
	out := make([]byte, 0, cap(encoded))
	for len(encoded) > 0 {
		num, typ, value, rest := nextField(encoded)
		if num == 0 {
			return append(out, encoded...)
		}
		encoded = rest
		if num >= firstDescribed {
			if num += by; num < firstDescribed {
				continue
			}
		}
		out = append(protowire.AppendTag(out, num, typ), value...)
	}
	return out
}

// numberingOf detects the numbering by the position of the dtype name, or by fields
// that only one numbering has. A list of strides is never mistaken for a name, and
// neither is metadata, which starts with a tag.
func numberingOf(encoded []byte) Numbering {
	var text [13][]byte
	above10 := false
	for num := protowire.Number(-1); num != 0; {
		var typ protowire.Type
		var value []byte
		num, typ, value, encoded = nextField(encoded)
		above10 = above10 || num == 11 || num == 12
		if typ == protowire.BytesType && num < 13 {
			text[num], _ = protowire.ConsumeBytes(value)
		}
	}
	switch dtype := []byte("torch."); {
	case above10, bytes.HasPrefix(text[10], dtype):
		return From7
	case bytes.HasPrefix(text[8], dtype), len(text[7]) == 0:
		return From5
	default:
		return From7
	}
}
