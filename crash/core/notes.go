package core

import (
	"io"
	"strings"

	"logparser/crash"
	"logparser/symbols/unwind"
)

// Types of notes.
const (
	noteStatus  = 1
	noteInfo    = 3
	noteAuxv    = 6
	noteSigInfo = 0x53494749
	noteFile    = 0x46494c45
)

// notes reads the notes of a segment, up to one that is cut off.
func (r *reader) notes(s segment) {
	if s.offset > uint64(r.size) {
		r.p.Note("notes at offset %#x are outside the file (%d bytes)", s.offset, r.size)
		return
	}
	b := make([]byte, min(s.filesz, uint64(r.size)-s.offset))
	if n, err := r.file.ReadAt(b, int64(s.offset)); n < len(b) && err != io.EOF {
		r.p.Note("notes at offset %#x: %v", s.offset, err)
		b = b[:n]
	}
	for len(b) >= 12 {
		nameSize, size, kind := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint32(b[8:])
		begin := 12 + (nameSize+3)&^3
		if begin > uint64(len(b)) || size > uint64(len(b))-begin {
			r.p.Note("notes at offset %#x are cut", s.offset)
			return
		}
		name := strings.TrimRight(string(b[12:12+nameSize]), "\x00")
		if name == "CORE" {
			r.note(kind, b[begin:begin+size])
		}
		b = b[min(begin+(size+3)&^3, uint64(len(b))):]
	}
}

func (r *reader) note(kind uint32, b []byte) {
	switch kind {
	case noteStatus:
		r.status(b)
	case noteInfo:
		r.info(b)
	case noteAuxv:
		for size := r.word(); len(b) >= 2*size; b = b[2*size:] {
			if key := r.number(b); key != 0 {
				r.auxv[key] = r.number(b[size:])
			}
		}
	case noteSigInfo:
		r.sigInfo(b)
	case noteFile:
		r.mappings(b)
	}
}

// word returns the size of a long in bytes.
func (r *reader) word() int { return r.p.Machine.PointerSize() }

func (r *reader) number(b []byte) uint64 {
	if r.wide {
		return order.Uint64(b)
	}
	return uint64(order.Uint32(b))
}

// The order of registers in struct user_regs_struct, by their numbers in package unwind. -1 stands for registers that are not
// used.
var (
	amd64Order = []int{15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5, -1, 16, -1, -1, 7}
	x86Order   = []int{3, 1, 2, 6, 7, 5, 0, -1, -1, -1, -1, -1, 8, -1, -1, 4}
)

// status reads struct elf_prstatus.
func (r *reader) status(b []byte) {
	registers, pid, first := amd64Order, 32, 112
	switch r.p.Machine {
	case unwind.X86:
		registers, pid, first = x86Order, 24, 72
	case unwind.ARM64:
		registers = nil
		for n := range 33 {
			registers = append(registers, n)
		}
	}
	if size := r.word(); len(b) < first+size*len(registers) {
		r.p.Note("a thread's status has only %d bytes", len(b))
		return
	}
	if len(r.p.Threads) >= maxThreads {
		return
	}
	t := crash.Thread{ID: uint64(order.Uint32(b[pid:]))}
	for i, n := range registers {
		t.Registers.Set(n, r.number(b[first+i*r.word():]))
	}
	if signal := int(order.Uint16(b[12:])); signal != 0 {
		if r.signals++; r.p.Cause.Signal == 0 {
			r.p.Cause.Signal = signal
		}
	}
	r.p.Threads = append(r.p.Threads, t)
}

// info reads struct elf_prpsinfo.
func (r *reader) info(b []byte) {
	pid, name, args := 24, 40, 56
	if !r.wide {
		pid, name, args = 12, 28, 44
	}
	if len(b) < args+80 {
		return
	}
	text := func(b []byte) string {
		s, _, _ := strings.Cut(string(b), "\x00")
		return strings.TrimSpace(s)
	}
	r.p.PID = int64(order.Uint32(b[pid:]))
	r.p.Program, r.p.CommandLine = text(b[name:name+16]), text(b[args:args+80])
}

// sigInfo reads a siginfo_t.
func (r *reader) sigInfo(b []byte) {
	if len(b) < 24 {
		return
	}
	c := &r.p.Cause
	c.Signal, c.Code, c.HasCode = int(int32(order.Uint32(b))), int32(order.Uint32(b[8:])), true
	if c.Signal == 0 {
		return
	}
	r.signals++
	at := 16
	if !r.wide {
		at = 12
	}
	c.Address, c.Sender = r.number(b[at:]), int64(int32(order.Uint32(b[at:])))
}

// A mappedFile is a mapping of a file.
type mappedFile struct {
	start, end, offset uint64 // offset in bytes
	path               string
}

// mappings reads an NT_FILE note: count, page size, triples, names.
func (r *reader) mappings(b []byte) {
	size := r.word()
	if len(b) < 2*size {
		return
	}
	count, page := r.number(b), r.number(b[size:])
	b = b[2*size:]
	if count > uint64(len(b)/(3*size)) || count > maxFiles {
		r.p.Note("a list of %d mapped files in %d bytes", count, len(b))
		return
	}
	names := b[uint64(3*size)*count:]
	for i := range count {
		e := b[uint64(3*size)*i:]
		end := 0
		for end < len(names) && names[end] != 0 {
			end++
		}
		if end == len(names) {
			r.p.Note("the names of mapped files are cut")
			return
		}
		r.files = append(r.files, mappedFile{r.number(e), r.number(e[size:]), r.number(e[2*size:]) * page, string(names[:end])})
		names = names[end+1:]
	}
}
