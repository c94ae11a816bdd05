package uprobe

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"logparser/parser"
)

// openCalls are the open calls of a thread, by where their return addresses lie. A function that ends by a jump to another one, an exception
// or a longjmp has no hit at its end; the stack pointer at a later hit says that it has ended.
//
// Two calls at one place cannot be open together. A call further in has ended as well, if both are on one
// stack. That is known of the thread's own stack; on others, of coroutines and of signal handlers, nobody knows where one ends.
type openCalls struct {
	list []openCall
	own  stackRange
	// ended are calls that were taken to have ended because they lay further in. The return of one shows that own is not one stack.
	ended map[openCall]bool
}

// An openCall is a call by where its return address lies, and its function.
type openCall struct{ sp, rva uint64 }

// A stackRange is the memory of a stack, empty where it is not known.
type stackRange struct{ low, high uint64 }

func (r stackRange) has(sp uint64) bool { return sp >= r.low && sp < r.high }

// Bounds of what is kept of a thread.
const (
	maxOpenCalls  = 1 << 20
	maxEndedCalls = 1 << 12
)

// hit follows a hit, and returns how many of the innermost calls have ended before it without a hit at their end.
func (c *openCalls) hit(h *Hit) (left int) {
	call := openCall{h.SP, h.Probe.Function.RVA}
	if h.Probe.Kind == parser.Leave {
		return c.leave(call, h.Probe.AtReturn)
	}
	if h.SP != 0 {
		left = c.drop(h.SP, true)
	}
	if len(c.list) == maxOpenCalls {
		c.list = append(c.list[:0], c.list[maxOpenCalls/2:]...)
	}
	c.list = append(c.list, call)
	return left
}

// leave follows the end of a call. At a return instruction the stack pointer is what it was at the beginning.
func (c *openCalls) leave(call openCall, atReturn bool) (left int) {
	at := lastIndex(c.list, func(o openCall) bool { return o == call })
	if at < 0 && !atReturn {
		at = lastIndex(c.list, func(o openCall) bool { return o.rva == call.rva })
	}
	if at >= 0 {
		// The calls inside have ended wherever they lay.
		left = len(c.list) - 1 - at
		c.list = c.list[:at]
		return left
	}
	if !atReturn {
		return 0
	}
	if c.ended[call] {
		c.own, c.ended = stackRange{}, nil
	}
	// Its enter was not seen. Those around it are open.
	return c.drop(call.sp, false)
}

// lastIndex returns the index of the last element that is so, -1 for none.
func lastIndex(list []openCall, is func(openCall) bool) int {
	for i := len(list) - 1; i >= 0; i-- {
		if is(list[i]) {
			return i
		}
	}
	return -1
}

// drop removes the innermost calls that have ended when the stack pointer is sp: those further in, and with same those at the same place.
func (c *openCalls) drop(sp uint64, same bool) (n int) {
	for i := len(c.list) - 1; i >= 0; i-- {
		last := c.list[i]
		inside := last.sp < sp && c.own.has(last.sp) && c.own.has(sp)
		if !inside && !(same && last.sp == sp) {
			break
		}
		if inside {
			if c.ended == nil || len(c.ended) == maxEndedCalls {
				c.ended = make(map[openCall]bool)
			}
			c.ended[last] = true
		}
		c.list = c.list[:i]
		n++
	}
	return n
}

// Where the first thread of a program has its stack, if the process cannot be asked any more: nothing else lies so close to the
// end of memory. What the kernel maps elsewhere is at least 128 MiB away.
const (
	mainStackFrom = 0x7ff0_0000_0000
	mainStackSize = 64 << 20
)

// ownStack returns the stack that a thread's first hit is on.
func ownStack(h *Hit) stackRange {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", h.PID))
	main := h.TID == h.PID
	for line := range bytes.Lines(text) {
		low, rest, _ := bytes.Cut(line, []byte("-"))
		high, _, _ := bytes.Cut(rest, []byte(" "))
		r := stackRange{hexadecimal(low), hexadecimal(high)}
		if !r.has(h.SP) {
			continue
		}
		fields := bytes.Fields(line) // addresses, rights, offset, device, inode, and a name where there is one
		switch {
		case main && len(fields) == 6 && string(fields[5]) == "[stack]":
			r.low = r.high - min(r.high, mainStackSize) // it grows
			return r
		case !main && len(fields) == 5:
			return r
		}
		return stackRange{}
	}
	if main && len(text) == 0 && h.SP >= mainStackFrom {
		return stackRange{h.SP - mainStackSize/2, h.SP + mainStackSize/2}
	}
	return stackRange{}
}

// hexadecimal returns a number, 0 for what is none.
func hexadecimal(digits []byte) uint64 {
	n, _ := strconv.ParseUint(string(digits), 16, 64)
	return n
}
