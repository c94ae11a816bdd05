package unwind

import (
	"bytes"
	"encoding/binary"
	"slices"

	"logparser/message"
)

// A KeptRow is how a frame at some code leads to its caller, in the form in which it is kept
// without the image: docs/formats.md describes it. "" says that nothing is known.
type KeptRow string

// The first byte of a rule: its kind, and flags.
const (
	ruleCFI        = 1 // from call frame information
	ruleUnwindInfo = 2 // from a PE's exception directory
	ruleLeaf       = 3 // nothing is saved, and the stack pointer is as it was
	ruleKind       = 7

	ruleSignal        = 1 << 3 // the code that a signal handler returns to
	ruleInterrupt     = 1 << 4 // entered by an interrupt
	ruleCFAExpression = 1 << 5
	ruleFrameRegister = 1 << 6 // what the function's epilogue may take the stack pointer from follows
)

// maxRule bounds a rule, in bytes: real ones have some tens.
const maxRule = 4096

// leafRule is the whole rule of a function that saves nothing.
const leafRule = KeptRow("\x03")

var errRule = message.New("damaged unwind rule")

// rule returns the rules of an address as they are kept, and "" for those that are longer than any
// compiler writes.
func (r *row) rule() KeptRow {
	kind := byte(ruleCFI)
	if r.info {
		kind = ruleUnwindInfo
	}
	if r.signal {
		kind |= ruleSignal
	}
	if r.interrupt {
		kind |= ruleInterrupt
	}
	switch r.cfa.kind {
	case ruleRegister:
	case ruleValueOfExpression:
		kind |= ruleCFAExpression
	default:
		return ""
	}
	if r.frame > 0 {
		kind |= ruleFrameRegister
	}
	b := binary.AppendUvarint([]byte{kind}, r.ra)
	if r.frame > 0 {
		b = binary.AppendUvarint(b, uint64(r.frame-1))
	}
	b = appendLocation(b, &r.cfa)
	for n := range r.registers {
		if l := &r.registers[n]; l.kind != ruleNone {
			b = binary.AppendUvarint(b, uint64(n)<<3|uint64(l.kind))
			b = appendLocation(b, l)
		}
	}
	if len(b) > maxRule {
		return ""
	}
	return KeptRow(b)
}

func appendLocation(b []byte, l *unwindLocation) []byte {
	switch l.kind {
	case ruleOffset, ruleValueOffset:
		b = binary.AppendVarint(b, l.offset)
	case ruleRegister:
		b = binary.AppendVarint(binary.AppendUvarint(b, l.register), l.offset)
	case ruleExpression, ruleValueOfExpression:
		b = append(binary.AppendUvarint(b, uint64(len(l.expression))), l.expression...)
	}
	return b
}

// row returns what a kept rule says.
func (k KeptRow) row() (*row, error) {
	if k == "" {
		return nil, errNoRule
	}
	if len(k) > maxRule {
		return nil, errRule
	}
	in := buffer{b: []byte(k), order: binary.LittleEndian}
	kind := in.u8()
	r := &row{info: kind&ruleKind == ruleUnwindInfo, signal: kind&ruleSignal != 0, interrupt: kind&ruleInterrupt != 0}
	if kind&ruleKind != ruleCFI && kind&ruleKind != ruleUnwindInfo || kind&^(ruleKind|ruleSignal|ruleInterrupt|ruleCFAExpression|ruleFrameRegister) != 0 {
		return nil, message.Errorf("%w: kind %#x", errRule, kind)
	}
	r.ra = in.uleb()
	if kind&ruleFrameRegister != 0 {
		r.frame = int(min(in.uleb(), maxRegisters)) + 1
	}
	r.cfa.kind = ruleRegister
	if kind&ruleCFAExpression != 0 {
		r.cfa.kind = ruleValueOfExpression
	}
	in.location(&r.cfa)
	for in.left() > 0 && !in.bad {
		v := in.uleb()
		if v>>3 >= maxRegisters || v&7 == ruleNone {
			return nil, message.Errorf("%w: register %d", errRule, v>>3)
		}
		l := &r.registers[v>>3]
		*l = unwindLocation{kind: uint8(v & 7)}
		in.location(l)
	}
	if in.bad {
		return nil, errRule
	}
	return r, nil
}

// location reads what follows the kind of a location.
func (r *buffer) location(l *unwindLocation) {
	switch l.kind {
	case ruleOffset, ruleValueOffset:
		l.offset = r.varint()
	case ruleRegister:
		l.register, l.offset = r.uleb(), r.varint()
	case ruleExpression, ruleValueOfExpression:
		l.expression = r.take(r.uleb())
	}
}

// varint reads a signed number as encoding/binary writes it.
func (r *buffer) varint() int64 {
	v := r.uleb()
	return int64(v>>1) ^ -int64(v&1)
}

// equal reports whether two locations say the same.
func (l *unwindLocation) equal(o *unwindLocation) bool {
	return l.kind == o.kind && l.register == o.register && l.offset == o.offset && bytes.Equal(l.expression, o.expression)
}

// equal reports whether two rows say the same.
func (r *row) equal(o *row) bool {
	return r.ra == o.ra && r.signal == o.signal && r.cfa.equal(&o.cfa) &&
		slices.EqualFunc(r.registers[:], o.registers[:], func(a, b unwindLocation) bool { return a.equal(&b) })
}
