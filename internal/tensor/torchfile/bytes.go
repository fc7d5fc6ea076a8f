package torchfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// cpu is the device of a tensor, as a text in a pickle.
const cpu = "X\x03\x00\x00\x00cpu"

// pickleOfBytes returns the pickle of a tensor of n bytes in storage "0", in parts. Python's pickler writes a memo
// entry after each of them except the last one.
func pickleOfBytes(n int64) []string {
	size := string(AppendInt(nil, n))
	return []string{
		"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n", "((X\x07\x00\x00\x00storage", "ctorch\nByteStorage\n",
		"X\x01\x00\x00\x000", cpu, size + "t", "QK\x00" + size + "\x85", "K\x01\x85",
		"\x89ccollections\nOrderedDict\n", ")R", "t", "R", ".",
	}
}

// PickleOfBytes returns the pickle of a tensor of n bytes. Its bytes are those of Python's pickler without memo
// entries, which nothing refers to, as by pickletools.optimize.
func PickleOfBytes(n int64) []byte { return []byte(strings.Join(pickleOfBytes(n), "")) }

// IsPickleOfBytes reports whether a pickle is that of a tensor of n bytes in storage "0", with or without memo entries
// and on any device.
func IsPickleOfBytes(pickle []byte, n int64) bool {
	for _, part := range pickleOfBytes(n) {
		rest, ok := bytes.CutPrefix(pickle, []byte(part))
		if part == cpu {
			rest, ok = cutText(pickle)
		}
		if !ok {
			return false
		}
		if len(rest) >= 2 && rest[0] == 'q' {
			rest = rest[2:]
		}
		pickle = rest
	}
	return len(pickle) == 0
}

// cutText returns what follows the text at the start of a pickle.
func cutText(pickle []byte) (rest []byte, ok bool) {
	const header = 5 // opcode and length
	if len(pickle) < header || pickle[0] != 'X' {
		return nil, false
	}
	size := int64(binary.LittleEndian.Uint32(pickle[1:]))
	if size > int64(len(pickle)-header) {
		return nil, false
	}
	return pickle[header+size:], true
}

// AppendInt appends a non-negative number to a pickle in as few bytes as possible.
func AppendInt(out []byte, n int64) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(out, 'K', byte(n)) //nolint:gosec // below 2^8
	case n <= math.MaxUint16:
		return binary.LittleEndian.AppendUint16(append(out, 'M'), uint16(n))
	case n <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(append(out, 'J'), uint32(n))
	default: // the shortest two's complement, with a leading 0 bit
		raw := binary.LittleEndian.AppendUint64(nil, uint64(n))
		size := 8
		for size > 1 && raw[size-1] == 0 && raw[size-2] < 0x80 {
			size--
		}
		return slices.Concat(out, []byte{0x8a, byte(size)}, raw[:size]) //nolint:gosec // at most 8
	}
}
