// Package uprobe records the calls of programs that are not rebuilt, by probes of the kernel. A hit of a
// probe runs a small eBPF program in the kernel.
//
// Its input is the probes of package probe and, where values are wanted, a plan of package values. Its
// output is one trace for each process ([Traces]). Each hit becomes one entry of a ring buffer: time,
// thread, number of the probe, and the values of the plan, which the kernel reads without faulting. The
// eBPF programs are assembled here, so that no compiler is needed: one for each [shape] of values.
//
// The recorded program is not changed, except for the breakpoints in its memory. The kernel removes
// them when this process ends, even if it is killed.
package uprobe

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"logparser/calls/values"
	"logparser/symbols/types"
)

// An entry of the ring buffer has a head and then slots. In the head are the time (ns, CLOCK_MONOTONIC),
// process and thread, the number of the probe, the instruction pointer, the register that points to
// the goroutine in programs of Go, and the stack pointer.
const (
	headTime   = 0
	headThread = 8 // tid, pid
	headProbe  = 16
	headIP     = 24
	headStack  = 32
	headSP     = 40
	headSize   = 48
)

// maxEntry bounds an entry, bytes.
const maxEntry = 2048

// A slotKind is how a slot of an entry is filled.
type slotKind uint8

const (
	// registerSlot is a register: 8 bytes.
	registerSlot slotKind = iota
	// stackSlot and memorySlot are memory at the stack pointer, or where a register plus offset points
	// to. Before the memory come an int64, which is not 0 if reading failed, and the pointer.
	stackSlot
	memorySlot
	// textSlot is the text that a register, or a pointer on the stack, points to. Before it come an
	// int64, which is its length with the 0 or an error, and the pointer.
	textSlot
	// stringSlot and viewSlot are the characters of a std::string and a std::string_view of libstdc++ that a register,
	// or a pointer on the stack, points to; pairSlot are those that one register points to and another one counts.
	// Before them come five int64: not 0 if the object could not be read, the pointer to the characters, how many they are,
	// the pointer to the object, and not 0 if the characters could not be read.
	stringSlot
	viewSlot
	pairSlot
)

// Offsets in the slots of counted characters.
const (
	countedPointer = 8
	countedLength  = 16
	countedObject  = 24
	countedResult  = 32
	countedText    = 40
)

// A slot is one thing that a probe takes: a register, memory or a text.
type slot struct {
	kind     slotKind
	register string
	count    string // the register that counts, of pairSlot
	// onStack says that the pointer lies on the stack: in a shape stack bytes above the stack pointer, before that above the
	// return address.
	onStack bool
	stack   int
	offset  int // added to the pointer
	// inside says that the pointer leads to memory that has the text, the string or the view at the offset; itself that there
	// is no pointer, but the view itself on the stack.
	inside, itself bool
	size           int // bytes of memory or text
	at             int // offset in the entry
}

func (s *slot) length() int {
	n := (s.size + 7) &^ 7
	switch s.kind {
	case registerSlot:
		return 8
	case stringSlot, viewSlot, pairSlot:
		return countedText + n
	}
	return 16 + n
}

// A shape is the list of slots that a probe fills. Probes of one shape share one eBPF program.
type shape struct {
	leave bool
	slots []slot
	size  int // of an entry, bytes
}

// key returns a text that only equal shapes have.
func (s *shape) key() string {
	var b strings.Builder
	b.WriteString(strconv.FormatBool(s.leave))
	for i := range s.slots {
		t := &s.slots[i]
		b.WriteString(" " + strconv.Itoa(int(t.kind)) + t.register + "," + t.count + "," + strconv.FormatBool(t.onStack) + strconv.FormatBool(t.inside) + strconv.FormatBool(t.itself))
		for _, n := range []int{t.stack, t.offset, t.size} {
			b.WriteString("," + strconv.Itoa(n))
		}
	}
	return b.String()
}

// reads reports whether probes of the shape read memory.
func (s *shape) reads() bool {
	return slices.ContainsFunc(s.slots, func(t slot) bool { return t.kind != registerSlot })
}

func (s *shape) add(t slot) {
	t.at = s.size
	s.slots = append(s.slots, t)
	s.size += t.length()
}

// Kernel returns a plan without what the kernel cannot read: values in vector registers keep their
// names, but are not taken.
func Kernel(p *values.Plan) *values.Plan {
	k := *p
	k.Modules = slices.Clone(p.Modules)
	for i := range k.Modules {
		m := &k.Modules[i]
		m.Functions = slices.Clone(m.Functions)
		for j := range m.Functions {
			f := &m.Functions[j]
			size := headSize
			take := func(list []values.Value) []values.Value {
				list = slices.Clone(list)
				for n := range list {
					v := &list[n]
					need := slotsOf(v)
					length := 0
					for s := range need {
						length += need[s].length()
					}
					if need == nil || size+length > maxEntry {
						v.Place, v.Op = "-", values.Op{}
						continue
					}
					size += length
				}
				return list
			}
			f.Enter = take(f.Enter)
			size = headSize
			f.Leave = take(f.Leave)
		}
	}
	return &k
}

// slotsOf returns the slots for a value, nil where the kernel cannot take it.
func slotsOf(v *values.Value) []slot {
	if v.Op.Kind == values.Unknown || strings.Contains(v.Place, "xmm") || strings.HasPrefix(v.Place, "st") && !strings.HasPrefix(v.Place, "stack+") {
		return nil
	}
	s := slot{size: v.Op.Size, offset: v.Op.Offset, inside: v.Op.At}
	parts := strings.Split(v.Place, "+")
	if off, ok := strings.CutPrefix(v.Place, "stack+"); ok {
		n, err := strconv.Atoi(off)
		if err != nil {
			return nil
		}
		s.onStack, s.stack, parts = true, n, []string{""}
	}
	for _, r := range parts {
		if _, known := registers[r]; !known && r != "" {
			return nil
		}
	}
	s.register = parts[0]
	switch v.Op.Kind {
	case values.Direct:
		if s.onStack {
			s.kind = stackSlot
			return []slot{s}
		}
		var list []slot
		for _, r := range parts {
			list = append(list, slot{kind: registerSlot, register: r})
		}
		return list
	case values.Memory:
		s.kind = memorySlot
	case values.Text:
		s.kind, s.size = textSlot, v.Op.Max+1
	case values.String:
		if v.Op.Library != types.Libstdcxx {
			return nil
		}
		s.kind, s.size = stringSlot, v.Op.Max
	case values.View:
		switch {
		case v.Op.Library != types.Libstdcxx:
			return nil
		case s.onStack && !s.inside:
			s.itself = true
		case len(parts) == 2:
			return []slot{{kind: pairSlot, register: parts[1], count: parts[0], size: v.Op.Max}}
		}
		s.kind, s.size = viewSlot, v.Op.Max
	default:
		return nil
	}
	return []slot{s}
}

// shapeOf returns the shape for the values of a function. returnAddress is how many bytes of the stack the return address takes.
func shapeOf(list []values.Value, leave bool, returnAddress int) shape {
	s := shape{leave: leave, size: headSize}
	for i := range list {
		for _, t := range slotsOf(&list[i]) {
			if t.onStack {
				t.stack += returnAddress
			}
			s.add(t)
		}
	}
	return s
}

// Values in the place of a text's length in the log that are no lengths.
const (
	textLonger      = 0xfffd
	textNotReadable = 0xfffe
	textNull        = 0xffff
)

// payload returns the values whose slots begin at some place in an entry in the form of the log's records.
func payload(list []values.Value, entry []byte, at int) []byte {
	var out []byte
	le := binary.LittleEndian
	for i := range list {
		v := &list[i]
		slots := slotsOf(v)
		var taken []byte
		for k := range slots {
			n := slots[k].length()
			if at+n > len(entry) {
				return out
			}
			taken = append(taken, entry[at:at+n]...)
			at += n
		}
		if slots == nil {
			continue
		}
		switch slots[0].kind {
		case registerSlot:
			out = append(out, taken[:min(v.Op.Size, len(taken))]...)
		case stackSlot:
			if le.Uint64(taken) != 0 {
				return out // nobody can tell where the next value begins
			}
			out = append(out, taken[16:16+v.Op.Size]...)
		case memorySlot:
			switch {
			case le.Uint64(taken[8:]) == 0:
				out = append(out, 1)
			case le.Uint64(taken) != 0:
				out = append(out, 2)
			default:
				out = append(append(out, 0), taken[16:16+v.Op.Size]...)
			}
		case textSlot:
			out = appendText(out, taken, v.Op.Max)
		case stringSlot, viewSlot, pairSlot:
			out = appendCounted(out, taken, v.Op.Max)
		}
	}
	return out
}

// appendText appends the text of a slot, which a 0 ends, in the form of the log.
func appendText(out, taken []byte, most int) []byte {
	le := binary.LittleEndian
	got, pointer, text := int64(le.Uint64(taken)), le.Uint64(taken[8:]), taken[16:]
	switch {
	case pointer == 0:
		return le.AppendUint16(out, textNull)
	case got <= 0:
		return le.AppendUint16(out, textNotReadable)
	}
	n := min(int(got)-1, most)
	if n == most && int(got) == most+1 {
		// The text may be longer than the slot.
		return append(le.AppendUint16(out, textLonger), text[:most]...)
	}
	return append(le.AppendUint16(out, uint16(n)), text[:n]...)
}

// appendCounted appends the counted characters of a slot in the form of the log.
func appendCounted(out, taken []byte, most int) []byte {
	le := binary.LittleEndian
	length := le.Uint64(taken[countedLength:])
	switch {
	case le.Uint64(taken[countedObject:]) == 0:
		return le.AppendUint16(out, textNull)
	case le.Uint64(taken) != 0, length > 0 && le.Uint64(taken[countedResult:]) != 0:
		return le.AppendUint16(out, textNotReadable)
	}
	n := min(length, uint64(most))
	return append(le.AppendUint16(out, uint16(min(length, textLonger))), taken[countedText:countedText+n]...)
}
