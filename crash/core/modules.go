package core

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"

	"logparser/crash"
	"logparser/modules"
)

// Entries of the auxiliary vector and of the dynamic section.
const (
	auxPhdr       = 3
	auxPhent      = 4
	auxPhnum      = 5
	auxSysinfo    = 33 // the kernel's image (vdso)
	auxExecName   = 31
	maxPath       = 4096
	maxLinked     = 1 << 14
	maxHeaders    = 256
	maxDynamic    = 4096
	maxImageNotes = 16 << 10
	page          = 4096
)

// deletedMark is what the kernel adds to the path of a mapped file that was removed or replaced.
const deletedMark = " (deleted)"

// A header is the content of an image's ELF header in memory.
type header struct {
	segments []segment
	lowest   uint64 // address of the first mapped page, as the image was linked
	span     uint64 // bytes from there on
}

func (r *reader) findModules() {
	if len(r.files) > 0 {
		r.fromFiles()
	} else {
		r.fromLinker()
	}
	if at := r.auxv[auxSysinfo]; at != 0 {
		if h, ok := r.header(at); ok {
			r.add(at, h, "[vdso]")
		}
	}
	slices.SortStableFunc(r.p.Modules, func(a, b modules.Module) int { return cmp.Compare(a.Base, b.Base) })
}

// fromFiles makes modules of the mapped files. An image begins where the beginning of a file is mapped. All mappings of that
// file within the image's span belong to it.
func (r *reader) fromFiles() {
	slices.SortStableFunc(r.files, func(a, b mappedFile) int { return cmp.Compare(a.start, b.start) })
	for i := 0; i < len(r.files); {
		f := r.files[i]
		end, code := f.end, r.p.Memory.Executable(f.start)
		h, ok := r.header(f.start)
		next := i + 1
		for ; next < len(r.files) && r.files[next].path == f.path; next++ {
			g := r.files[next]
			if ok && g.start >= f.start+h.span || !ok && g.offset == 0 {
				break
			}
			end, code = max(end, g.end), code || r.p.Memory.Executable(g.start)
		}
		i = next
		switch {
		case f.offset != 0:
		case ok:
			r.add(f.start, h, f.path)
		case code:
			// The header was not saved. A file that is mapped as code is an image.
			r.p.Modules = append(r.p.Modules, r.module(f.start, end-f.start, f.path))
		}
	}
}

func (r *reader) module(base, size uint64, path string) modules.Module {
	return modules.Module{Base: base, Size: size, Path: path, PointerSize: r.word(), Loaded: -1 << 63, Unloaded: modules.Always}
}

func (r *reader) add(base uint64, h header, path string) {
	m := r.module(base, h.span, path)
	if m.Identity.BuildID = r.buildID(base, &h); m.Identity.BuildID != "" {
		// What was said of a file that is no longer there is no part of its name; the build-id tells whether another has taken its place.
		m.Path = strings.TrimSuffix(m.Path, deletedMark)
	}
	r.p.Modules = append(r.p.Modules, m)
}

// read reads memory of an image, within the room that there is for all of them.
func (r *reader) read(b []byte, at uint64) error {
	if r.room < 0 {
		return crash.ErrMemory
	}
	if r.room -= int64(len(b)); r.room < 0 {
		r.p.Note("its images lie over each other: what those from %#x on say of themselves is left out", at)
		return crash.ErrMemory
	}
	return r.p.Memory.ReadMemory(b, at)
}

// header reads the ELF header and the program headers of an image in memory.
func (r *reader) header(base uint64) (h header, ok bool) {
	var b [64]byte
	size := 52
	if r.wide {
		size = 64
	}
	if r.read(b[:size], base) != nil || string(b[:4]) != elf.ELFMAG {
		return h, false
	}
	var at uint64
	var entry, count uint64
	if r.wide {
		at, entry, count = order.Uint64(b[32:]), uint64(order.Uint16(b[54:])), uint64(order.Uint16(b[56:]))
	} else {
		at, entry, count = uint64(order.Uint32(b[28:])), uint64(order.Uint16(b[42:])), uint64(order.Uint16(b[44:]))
	}
	return r.programs(base+at, entry, count)
}

// programs reads program headers from memory.
func (r *reader) programs(at, entry, count uint64) (h header, ok bool) {
	least := uint64(32)
	if r.wide {
		least = 56
	}
	if entry < least || entry > 1024 || count == 0 || count > maxHeaders {
		return h, false
	}
	b := make([]byte, entry*count)
	if r.read(b, at) != nil {
		return h, false
	}
	lo, hi := uint64(1<<64-1), uint64(0)
	for ; len(b) > 0; b = b[entry:] {
		s := segment{kind: order.Uint32(b)}
		if r.wide {
			s.offset, s.vaddr, s.filesz, s.memsize = order.Uint64(b[8:]), order.Uint64(b[16:]), order.Uint64(b[32:]), order.Uint64(b[40:])
		} else {
			s.offset, s.vaddr, s.filesz, s.memsize = uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:])), uint64(order.Uint32(b[16:])), uint64(order.Uint32(b[20:]))
		}
		h.segments = append(h.segments, s)
		if elf.ProgType(s.kind) == elf.PT_LOAD && s.vaddr+s.memsize > s.vaddr {
			lo, hi = min(lo, s.vaddr), max(hi, s.vaddr+s.memsize)
		}
	}
	if hi == 0 {
		return h, false
	}
	h.lowest = lo &^ (page - 1)
	h.span = hi - h.lowest
	return h, true
}

// buildID reads the build-id of an image from memory. It returns "" if it was not saved.
func (r *reader) buildID(base uint64, h *header) string {
	for _, s := range h.segments {
		if elf.ProgType(s.kind) != elf.PT_NOTE {
			continue
		}
		b := make([]byte, min(s.filesz, maxImageNotes))
		if r.read(b, base+s.vaddr-h.lowest) != nil {
			continue
		}
		for len(b) >= 12 {
			nameSize, size, kind := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint32(b[8:])
			begin := 12 + (nameSize+3)&^3
			if begin > uint64(len(b)) || size > uint64(len(b))-begin {
				break
			}
			if kind == 3 && string(b[12:12+nameSize]) == "GNU\x00" && size > 0 && size <= modules.MaxBuildID {
				return string(b[begin : begin+size])
			}
			b = b[min(begin+(size+3)&^3, uint64(len(b))):]
		}
	}
	return ""
}

// fromLinker makes modules of the program's own headers, and of the list that its dynamic linker keeps for debuggers.
func (r *reader) fromLinker() {
	at := r.auxv[auxPhdr]
	h, ok := r.programs(at, r.auxv[auxPhent], r.auxv[auxPhnum])
	if !ok {
		r.fromHeaders(at)
		return
	}
	// The image contains its own program headers.
	base := at &^ (page - 1)
	bias, dynamic := base-h.lowest, uint64(0)
	for _, s := range h.segments {
		switch elf.ProgType(s.kind) {
		case elf.PT_PHDR:
			bias = at - s.vaddr
			base = bias + h.lowest
		case elf.PT_DYNAMIC:
			dynamic = s.vaddr
		}
	}
	r.add(base, h, r.programName())
	if dynamic != 0 {
		r.linked(r.debugStruct(bias + dynamic))
	}
}

// programName returns the path of the program as it was passed to the kernel.
func (r *reader) programName() string {
	if name := r.p.Memory.String(r.auxv[auxExecName], maxPath); name != "" {
		return name
	}
	return r.p.Program
}

// fromHeaders makes a module of the program if its headers were not saved. The module begins with the page of its program
// headers and ends at the next gap of the memory.
func (r *reader) fromHeaders(at uint64) {
	const gap = 64 << 10
	base := at &^ (page - 1)
	end := base
	for _, m := range r.p.Memory.Ranges() {
		if m.End > base && m.Start <= end+gap {
			end = max(end, m.End)
		}
	}
	if at != 0 && end > base {
		r.p.Modules = append(r.p.Modules, r.module(base, end-base, r.programName()))
	}
}

// debugStruct returns the address of the dynamic linker's list from the program's dynamic section (DT_DEBUG).
func (r *reader) debugStruct(dynamic uint64) uint64 {
	size := uint64(r.word())
	b := make([]byte, 2*size)
	for i := range uint64(maxDynamic) {
		if r.p.Memory.ReadMemory(b, dynamic+i*2*size) != nil || r.number(b) == 0 {
			break
		}
		if r.number(b) == uint64(elf.DT_DEBUG) {
			return r.number(b[size:])
		}
	}
	return 0
}

// linked follows struct r_debug and its list of struct link_map. The first entry of the list is the program.
func (r *reader) linked(debug uint64) {
	size := uint64(r.word())
	b := make([]byte, 5*size)
	if debug == 0 || r.p.Memory.ReadMemory(b[:2*size], debug) != nil {
		return
	}
	at := r.number(b[size:])
	for i := 0; at != 0 && i < maxLinked; i++ {
		if r.p.Memory.ReadMemory(b, at) != nil {
			return
		}
		// The bias equals the base if the image is linked to 0.
		base, name := r.number(b), r.p.Memory.String(r.number(b[size:]), maxPath)
		if h, ok := r.header(base); ok && i > 0 && base != r.auxv[auxSysinfo] {
			r.add(base, h, name)
		}
		at = r.number(b[3*size:])
	}
}
