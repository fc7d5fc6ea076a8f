package torchfile

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

const maxStack = 512

// Values of the pickle machine: int64, string, bool, nil, tuple, and these.
type (
	tuple  []any
	mark   struct{}
	dict   struct{} // always empty
	global string   // "module.name"
	// reference is an undecoded persistent ID.
	reference struct{ id tuple }
	// call is the call that rebuilds a tensor.
	call struct {
		function global
		args     tuple
	}
)

type unpickler struct {
	in    []byte
	stack []any
	memo  map[uint32]any
}

// unpickle interprets a pickle and returns its result. It resolves no names and
// calls nothing: calls are returned as values.
func unpickle(in []byte) (any, error) {
	u := &unpickler{in: in, memo: map[uint32]any{}}
	for {
		code, err := u.next(1)
		if err != nil {
			return nil, err
		}
		if code[0] == opStop {
			return u.pop()
		}
		if err := u.step(code[0]); err != nil {
			return nil, err
		}
		if len(u.stack) > maxStack || len(u.memo) > maxStack {
			return nil, fmt.Errorf("%w: the pickle is nested too deeply", ErrFormat)
		}
	}
}

func (u *unpickler) next(n int) ([]byte, error) {
	if n > len(u.in) {
		return nil, fmt.Errorf("%w: the pickle is truncated", ErrFormat)
	}
	out := u.in[:n]
	u.in = u.in[n:]
	return out, nil
}

// number reads an unsigned number of n bytes.
func (u *unpickler) number(n int) (uint64, error) {
	raw, err := u.next(n)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], raw)
	return binary.LittleEndian.Uint64(full[:]), nil
}

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, fmt.Errorf("%w: the pickle pops from an empty stack", ErrFormat)
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) step(code byte) error {
	switch code {
	case opProto:
		_, err := u.next(1)
		return err
	case opMark:
		u.push(mark{})
	case opNone:
		u.push(nil)
	case opNewTrue, opNewFalse:
		u.push(code == opNewTrue)
	case opEmptyTuple:
		u.push(tuple{})
	case opEmptyDict:
		u.push(dict{})
	case opPop:
		_, err := u.pop()
		return err
	case opBinInt, opBinInt1, opBinInt2, opLong1:
		return u.int(code)
	case opBinUnicode:
		return u.text()
	case opGlobal:
		return u.global()
	case opBinPut, opLongBinPut, opBinGet, opLongBinGet:
		return u.remember(code)
	case opTuple, opTuple1, opTuple2, opTuple3:
		return u.tuple(code)
	case opBinPersID:
		return u.reference()
	case opReduce:
		return u.reduce()
	default:
		return fmt.Errorf("%w: the pickle has the unsupported opcode 0x%02x", ErrFormat, code)
	}
	return nil
}

func (u *unpickler) int(code byte) error {
	size := map[byte]int{opBinInt: 4, opBinInt1: 1, opBinInt2: 2}[code]
	if code == opLong1 {
		n, err := u.number(1)
		if err != nil {
			return err
		}
		if size = int(n); size > 8 { //nolint:gosec // one byte
			return fmt.Errorf("%w: a number of %d bytes", ErrFormat, size)
		}
	}
	v, err := u.number(size)
	if err != nil {
		return err
	}
	if signed := code == opBinInt || code == opLong1; signed && size > 0 && size < 8 && v>>(8*size-1) == 1 {
		v |= ^uint64(0) << (8 * size)
	}
	u.push(int64(v)) //nolint:gosec // two's complement
	return nil
}

func (u *unpickler) text() error {
	n, err := u.number(4)
	if err != nil {
		return err
	}
	raw, err := u.next(int(min(n, maxPickle+1)))
	if err != nil {
		return err
	}
	if !utf8.Valid(raw) {
		return fmt.Errorf("%w: a text is not UTF-8", ErrFormat)
	}
	u.push(string(raw))
	return nil
}

func (u *unpickler) global() error {
	parts := strings.SplitN(string(u.in), "\n", 3)
	if len(parts) < 3 {
		return fmt.Errorf("%w: the pickle is truncated", ErrFormat)
	}
	u.in = u.in[len(parts[0])+len(parts[1])+2:]
	u.push(global(parts[0] + "." + parts[1]))
	return nil
}

func (u *unpickler) remember(code byte) error {
	size := 1
	if code == opLongBinPut || code == opLongBinGet {
		size = 4
	}
	key, err := u.number(size)
	if err != nil {
		return err
	}
	if code == opBinPut || code == opLongBinPut {
		v, err := u.pop()
		if err != nil {
			return err
		}
		u.memo[uint32(key)] = v //nolint:gosec // at most 4 bytes
		u.push(v)
		return nil
	}
	v, ok := u.memo[uint32(key)] //nolint:gosec // at most 4 bytes
	if !ok {
		return fmt.Errorf("%w: the pickle reads a missing memo entry", ErrFormat)
	}
	u.push(v)
	return nil
}

func (u *unpickler) tuple(code byte) error {
	start := len(u.stack)
	if code == opTuple {
		for start--; start >= 0; start-- {
			if _, ok := u.stack[start].(mark); ok {
				break
			}
		}
		if start < 0 {
			return fmt.Errorf("%w: a tuple without a mark", ErrFormat)
		}
		items := append(tuple{}, u.stack[start+1:]...)
		u.stack = append(u.stack[:start], items)
		return nil
	}
	if start -= int(code-opTuple1) + 1; start < 0 {
		return fmt.Errorf("%w: the pickle pops from an empty stack", ErrFormat)
	}
	items := append(tuple{}, u.stack[start:]...)
	u.stack = append(u.stack[:start], items)
	return nil
}

func (u *unpickler) reference() error {
	v, err := u.pop()
	if err != nil {
		return err
	}
	id, ok := v.(tuple)
	if !ok {
		return fmt.Errorf("%w: a persistent ID that is not a tuple", ErrFormat)
	}
	u.push(reference{id})
	return nil
}

func (u *unpickler) reduce() error {
	args, err := u.pop()
	if err != nil {
		return err
	}
	function, err := u.pop()
	if err != nil {
		return err
	}
	list, isTuple := args.(tuple)
	name, isGlobal := function.(global)
	if !isTuple || !isGlobal {
		return fmt.Errorf("%w: the pickle calls a value that is not a name", ErrFormat)
	}
	switch name {
	case "collections.OrderedDict":
		if len(list) != 0 {
			return fmt.Errorf("%w: the tensor has backward hooks", ErrFormat)
		}
		u.push(dict{})
	case rebuildV2, rebuildV3, rebuildParameter:
		u.push(call{name, list})
	default:
		return fmt.Errorf("%w: the pickle calls %.80q", ErrFormat, string(name))
	}
	return nil
}
