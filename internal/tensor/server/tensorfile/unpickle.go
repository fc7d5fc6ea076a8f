package tensorfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
)

const (
	// maxStack is the maximum number of values of a pickle at the same time.
	maxStack = 512
	// mark is on the stack before the items of a tuple.
	mark = "mark"
)

// dotted matches the names of modules and what is in them.
var dotted = regexp.MustCompile(`^[\w.]+$`)

// unpickler interprets a pickle. Each value is represented by its Python expression.
type unpickler struct {
	in    []byte
	stack []string
	memo  map[int64]string
	err   error // the first one
}

// unpickle returns the Python expression that a pickle evaluates, in which persistent(…) is a persistent ID. A tuple of
// one value has no comma. unpickle resolves no names and calls nothing.
func unpickle(in []byte) (string, error) {
	u := &unpickler{in: in, memo: map[int64]string{}}
	for u.err == nil {
		code := byte(u.number(1)) //nolint:gosec // one byte
		if code == opStop {
			return u.pop(1)[0], u.err
		}
		u.step(code)
		if len(u.stack) > maxStack {
			u.fail("is nested too deeply")
		}
	}
	return "", u.err
}

func (u *unpickler) fail(format string, args ...any) {
	if u.err == nil {
		u.err = fmt.Errorf("%w: the pickle "+format, append([]any{torchfile.ErrFormat}, args...)...)
	}
}

// next returns the next n bytes, or nil if there are fewer.
func (u *unpickler) next(n int) []byte {
	if n > len(u.in) {
		u.fail("is truncated")
		return nil
	}
	out := u.in[:n]
	u.in = u.in[n:]
	return out
}

// number reads a number of at most 8 bytes, which is unsigned unless it has 8.
func (u *unpickler) number(n int) int64 {
	var full [8]byte
	copy(full[:], u.next(n))
	return int64(binary.LittleEndian.Uint64(full[:])) //nolint:gosec // two's complement
}

// push adds a value, whose text may contain others many times.
func (u *unpickler) push(text string) {
	if len(text) > torchfile.MaxPickle {
		u.fail("is nested too deeply")
	}
	u.stack = append(u.stack, text)
}

func (u *unpickler) pushInt(n int64) { u.push(strconv.FormatInt(n, 10)) }

func (u *unpickler) pop(n int) []string {
	at := len(u.stack) - n
	if at < 0 {
		u.fail("pops from an empty stack")
		return make([]string, n)
	}
	out := u.stack[at:]
	u.stack = u.stack[:at:at]
	return out
}

func (u *unpickler) step(code byte) {
	switch code {
	case opProto:
		u.next(1)
	case opMark:
		u.push(mark)
	case opNewTrue:
		u.push("True")
	case opNewFalse:
		u.push("False")
	case opBinInt1:
		u.pushInt(u.number(1))
	case opBinInt2:
		u.pushInt(u.number(2))
	case opBinInt:
		u.long(4)
	case opLong1:
		u.long(int(u.number(1)))
	case opBinUnicode:
		u.push(strconv.Quote(string(u.next(int(min(u.number(4), torchfile.MaxPickle+1))))))
	case opGlobal:
		u.global()
	case opBinPut:
		key := u.number(1)
		u.memo[key] = u.pop(1)[0]
		u.push(u.memo[key])
	case opBinGet:
		text, ok := u.memo[u.number(1)]
		if !ok {
			u.fail("reads a missing memo entry")
		}
		u.push(text)
	case opEmptyTuple, opTuple, opTuple1, opTuple2, opTuple3:
		u.tuple(code)
	case opBinPersID:
		u.push("persistent" + u.pop(1)[0])
	case opReduce:
		call := u.pop(2)
		u.push(call[0] + call[1])
	default:
		u.fail("has the unsupported opcode 0x%02x", code)
	}
}

// long reads a number in two's complement.
func (u *unpickler) long(size int) {
	if size > 8 {
		u.fail("has a number of %d bytes", size)
		return
	}
	unused := 64 - 8*size
	u.pushInt(u.number(size) << unused >> unused)
}

func (u *unpickler) global() {
	module, rest, _ := bytes.Cut(u.in, []byte("\n"))
	name, rest, complete := bytes.Cut(rest, []byte("\n"))
	if full := string(module) + "." + string(name); !complete || !dotted.MatchString(full) {
		u.fail("has the invalid name %.80q", full)
	} else {
		u.in = rest
		u.push(full)
	}
}

func (u *unpickler) tuple(code byte) {
	n := map[byte]int{opTuple1: 1, opTuple2: 2, opTuple3: 3}[code]
	if code == opTuple {
		backward := slices.Clone(u.stack)
		slices.Reverse(backward)
		if n = slices.Index(backward, mark); n < 0 {
			u.fail("has a tuple without a mark")
			return
		}
	}
	items := strings.Join(u.pop(n), ", ")
	if code == opTuple {
		u.pop(1)
	}
	u.push("(" + items + ")")
}
