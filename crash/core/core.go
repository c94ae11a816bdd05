// Package core reads ELF core files of x86-64, x86 and arm64: those that Linux writes of a dying process, and those that
// debuggers write of a running one.
//
// A core file is an ELF file without sections. Its PT_NOTE segments describe the threads: NT_PRSTATUS has the registers of a
// thread, beginning with the one that died; NT_PRPSINFO has the program's name; NT_SIGINFO the signal; NT_AUXV the address of
// the kernel's own image; NT_FILE the mapped files. The PT_LOAD segments are the memory. Parts that a mapped file contains are
// mostly left out, except the page with the ELF header of an image, from which its build-id is read. If NT_FILE is missing
// (emulators leave it out), the modules come from the dynamic linker's list of images in memory.
package core

import (
	"debug/elf"
	"encoding/binary"
	"io"

	"logparser/crash"
	"logparser/message"
	"logparser/symbols/unwind"
)

// ErrFormat says that a file is no core file of a supported machine.
var ErrFormat = message.New("not an ELF core file of x86-64, x86 or arm64")

// Limits of a core file.
const (
	// maxSegments bounds the program headers. The kernel allows 65,530 mappings unless its limit is raised.
	maxSegments = 1 << 20
	// maxNotes bounds the size of all notes together, in bytes. A thread takes about 4 KiB.
	maxNotes = 128 << 20
	// maxThreads and maxFiles bound the threads and mapped files that are kept.
	maxThreads = 1 << 17
	maxFiles   = 1 << 17
	// leastRoom is how many bytes of images are read of the smallest file. The images of a larger one have as many more as the
	// file: many may be one.
	leastRoom = 4 << 20
)

// Detect reports whether a file that begins with head may be a core file.
func Detect(head []byte) bool {
	return len(head) >= 20 && string(head[:4]) == elf.ELFMAG && head[elf.EI_DATA] == byte(elf.ELFDATA2LSB) &&
		elf.Type(binary.LittleEndian.Uint16(head[16:])) == elf.ET_CORE
}

// A reader reads one core file.
type reader struct {
	file    io.ReaderAt
	size    int64
	wide    bool
	p       *crash.Process
	files   []mappedFile
	auxv    map[uint64]uint64
	signals int
	// room is how many bytes more of images may be read from memory.
	room int64
}

// A segment is a program header.
type segment struct {
	kind, flags                    uint32
	offset, vaddr, filesz, memsize uint64
}

var order = binary.LittleEndian

// Read reads a core file of size bytes. The process keeps reading file while it is used. Closing the process does not close
// file.
func Read(file io.ReaderAt, size int64) (*crash.Process, error) {
	var head [64]byte
	if n, err := file.ReadAt(head[:], 0); n < 52 {
		return nil, message.Errorf("%w: %w", ErrFormat, err)
	}
	if !Detect(head[:]) {
		return nil, ErrFormat
	}
	r := &reader{file: file, size: size, auxv: make(map[uint64]uint64), room: leastRoom + size}
	r.p = &crash.Process{Format: "ELF core", System: "Linux"}
	class, machine := elf.Class(head[elf.EI_CLASS]), elf.Machine(order.Uint16(head[18:]))
	switch {
	case machine == elf.EM_X86_64 && class == elf.ELFCLASS64:
		r.p.Machine, r.wide = unwind.X8664, true
	case machine == elf.EM_AARCH64 && class == elf.ELFCLASS64:
		r.p.Machine, r.wide = unwind.ARM64, true
	case machine == elf.EM_386 && class == elf.ELFCLASS32:
		r.p.Machine = unwind.X86
	default:
		return nil, message.Errorf("%w: %v", ErrFormat, machine)
	}
	segments, err := r.segments(head[:])
	if err != nil {
		return nil, err
	}
	r.memory(segments)
	notes := uint64(0)
	for _, s := range segments {
		if elf.ProgType(s.kind) != elf.PT_NOTE {
			continue
		}
		saved := min(s.filesz, uint64(size)-min(s.offset, uint64(size)))
		if most := min(maxNotes, uint64(size)); saved > most-notes {
			r.p.Note("more than %d bytes of notes: the rest was passed over", most)
			break
		}
		notes += saved
		r.notes(s)
	}
	if len(r.p.Threads) == 0 {
		return nil, message.Errorf("%w: it has no threads", ErrFormat)
	}
	r.arrange()
	return r.p, nil
}

// segments reads the program headers.
func (r *reader) segments(head []byte) (list []segment, err error) {
	var at, sections uint64
	var entry, count int
	entrySize := 32
	if r.wide {
		entrySize = 56
		at, sections = order.Uint64(head[32:]), order.Uint64(head[40:])
		entry, count = int(order.Uint16(head[54:])), int(order.Uint16(head[56:]))
	} else {
		at, sections = uint64(order.Uint32(head[28:])), uint64(order.Uint32(head[32:]))
		entry, count = int(order.Uint16(head[42:])), int(order.Uint16(head[44:]))
	}
	if count == 0xffff && sections != 0 { // PN_XNUM: the first section header has the number
		info := 28
		if r.wide {
			info = 44
		}
		var b [64]byte
		if n, _ := r.file.ReadAt(b[:info+4], int64(min(sections, 1<<62))); n == info+4 {
			count = int(order.Uint32(b[info:]))
		}
	}
	if entry < entrySize || count <= 0 || count > maxSegments || at > uint64(r.size) || uint64(count) > (uint64(r.size)-at)/uint64(entry) {
		return nil, message.Errorf("%d program headers of %d bytes at offset %#x: %w", count, entry, at, io.ErrUnexpectedEOF)
	}
	in := io.NewSectionReader(r.file, int64(at), int64(count)*int64(entry))
	b := make([]byte, entry)
	for range count {
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, message.Errorf("program headers at offset %#x: %w", at, err)
		}
		s := segment{kind: order.Uint32(b)}
		if r.wide {
			s.flags, s.offset, s.vaddr = order.Uint32(b[4:]), order.Uint64(b[8:]), order.Uint64(b[16:])
			s.filesz, s.memsize = order.Uint64(b[32:]), order.Uint64(b[40:])
		} else {
			s.offset, s.vaddr = uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:]))
			s.filesz, s.memsize, s.flags = uint64(order.Uint32(b[16:])), uint64(order.Uint32(b[20:])), order.Uint32(b[24:])
		}
		list = append(list, s)
	}
	return list, nil
}

// memory makes the memory of the segments.
func (r *reader) memory(segments []segment) {
	var ranges []crash.Range
	for _, s := range segments {
		if elf.ProgType(s.kind) != elf.PT_LOAD || s.vaddr+max(s.memsize, s.filesz) < s.vaddr {
			continue
		}
		flags := elf.ProgFlag(s.flags)
		ranges = append(ranges, crash.Range{
			Start: s.vaddr, End: s.vaddr + max(s.memsize, s.filesz), Saved: s.filesz, Offset: int64(min(s.offset, 1<<62)),
			Executable: flags&elf.PF_X != 0, Writable: flags&elf.PF_W != 0, Readable: flags&elf.PF_R != 0, Rights: true,
		})
	}
	var cut uint64
	if r.p.Memory, cut = crash.NewMemory(r.file, r.size, ranges); cut > 0 {
		r.p.Note("the file was cut: %d bytes of memory are missing", cut)
	}
}

// arrange puts the thread that died first, and finds the modules.
func (r *reader) arrange() {
	threads := r.p.Threads
	if r.signals > 0 {
		// The kernel and debuggers write first the thread that received the signal.
		threads[0].Crashed = true
		r.p.Cause.Refine(r.p)
	}
	r.findModules()
}
