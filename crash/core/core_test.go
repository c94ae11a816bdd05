package core

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"logparser/symbols/unwind"
)

// testCore makes a core file of x86-64 with two threads, one mapped file, memory with the file's ELF header, and a part of a
// stack.
func testCore() []byte { return coreOf("/opt/app") }

// coreOf is testCore for a mapped file of another name.
func coreOf(path string) []byte {
	le := binary.LittleEndian
	note := func(kind uint32, desc []byte) []byte {
		b := le.AppendUint32(nil, 5)
		b = le.AppendUint32(b, uint32(len(desc)))
		b = le.AppendUint32(b, kind)
		b = append(b, "CORE\x00\x00\x00\x00"...)
		return append(b, append(desc, make([]byte, -len(desc)&3)...)...)
	}
	status := func(pid uint32, signal uint16, rip, rsp uint64) []byte {
		b := make([]byte, 336)
		le.PutUint16(b[12:], signal)
		le.PutUint32(b[32:], pid)
		le.PutUint64(b[112+16*8:], rip)
		le.PutUint64(b[112+19*8:], rsp)
		return note(noteStatus, b)
	}
	info := make([]byte, 128)
	le.PutUint32(info, 11)
	le.PutUint32(info[8:], 1)
	le.PutUint64(info[16:], 8)
	file := le.AppendUint64(nil, 1)
	file = le.AppendUint64(file, 4096)
	file = le.AppendUint64(le.AppendUint64(le.AppendUint64(file, 0x400000), 0x402000), 0)
	file = append(append(file, path...), 0)
	notes := append(status(10, 11, 0x401000, 0x7000), note(noteSigInfo, info)...)
	notes = append(append(notes, status(11, 0, 0x401100, 0x7100)...), note(noteFile, file)...)

	image := make([]byte, 4096)
	copy(image, "\x7fELF\x02\x01\x01")
	le.PutUint64(image[32:], 64)
	le.PutUint16(image[54:], 56)
	le.PutUint16(image[56:], 2)
	put := func(at int, kind uint32, vaddr, size uint64) {
		le.PutUint32(image[at:], kind)
		le.PutUint64(image[at+16:], vaddr)
		le.PutUint64(image[at+32:], size)
		le.PutUint64(image[at+40:], size)
	}
	put(64, 1, 0, 0x2000)
	put(120, 4, 0x200, 20)
	copy(image[0x200:], "\x04\x00\x00\x00\x04\x00\x00\x00\x03\x00\x00\x00GNU\x00abcd")

	segments := []segment{{kind: 4, filesz: uint64(len(notes))}, {kind: 1, flags: 5, vaddr: 0x400000, filesz: 4096, memsize: 0x2000}, {kind: 1, flags: 6, vaddr: 0x7000, filesz: 0x1000, memsize: 0x1000}}
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 4)
	le.PutUint16(b[18:], 62)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], uint16(len(segments)))
	at := uint64(64 + 56*len(segments))
	for _, s := range segments {
		h := make([]byte, 56)
		le.PutUint32(h, s.kind)
		le.PutUint32(h[4:], s.flags)
		le.PutUint64(h[8:], at)
		le.PutUint64(h[16:], s.vaddr)
		le.PutUint64(h[32:], s.filesz)
		le.PutUint64(h[40:], s.memsize)
		b = append(b, h...)
		at += s.filesz
	}
	b = append(append(b, notes...), image...)
	return append(b, make([]byte, 0x1000)...)
}

func TestRead(t *testing.T) {
	b := testCore()
	p, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Threads) != 2 || p.Threads[0].ID != 10 || !p.Threads[0].Crashed || p.Threads[1].ID != 11 || p.Threads[1].Crashed {
		t.Errorf("threads %+v", p.Threads)
	}
	if rip, ok := p.Threads[1].Registers.Get(unwind.X8664.PC()); !ok || rip != 0x401100 {
		t.Errorf("rip %#x, %v", rip, ok)
	}
	if c := p.Cause; c.Signal != 11 || c.Code != 1 || c.Address != 8 || !c.HasAddress() || c.Text().String() != "SIGSEGV: access to address 0x8, null pointer + 8" {
		t.Errorf("cause %+v: %s", c, c.Text())
	}
	if len(p.Modules) != 1 || p.Modules[0].Base != 0x400000 || p.Modules[0].Size != 0x2000 || p.Modules[0].Identity.BuildID != "abcd" || p.Modules[0].Path != "/opt/app" {
		t.Errorf("modules %+v", p.Modules)
	}
	if len(p.Notes) > 0 {
		t.Errorf("notes %v", p.Notes)
	}
	if err := p.Memory.ReadMemory(make([]byte, 8), 0x7ff8); err != nil {
		t.Error(err)
	}
	for _, address := range []uint64{0x7ff9, 0x401000, 0x6fff, 1<<64 - 4} {
		if err := p.Memory.ReadMemory(make([]byte, 8), address); err == nil {
			t.Errorf("read at %#x", address)
		}
	}
	if lo, hi, ok := p.Memory.Range(0x7123); lo != 0x7000 || hi != 0x8000 || !ok {
		t.Errorf("range %#x-%#x, %v", lo, hi, ok)
	}
}

// TestCut reads a file cut at each length. Threads that it still has must be found, and notes must tell what is missing.
func TestCut(t *testing.T) {
	whole := testCore()
	for n := range len(whole) {
		if n > 2000 && n%97 != 0 {
			continue
		}
		p, err := Read(bytes.NewReader(whole[:n]), int64(n))
		if err == nil && len(p.Notes) == 0 {
			t.Fatalf("%d of %d bytes were read without a note", n, len(whole))
		}
	}
}

// TestHostileCounts has counts that exceed the file.
func TestHostileCounts(t *testing.T) {
	le := binary.LittleEndian
	for name, damage := range map[string]func(b []byte){
		"program headers beyond the end": func(b []byte) { le.PutUint64(b[32:], 1<<63) },
		"65535 program headers":          func(b []byte) { le.PutUint16(b[56:], 0xffff) },
		"small program headers":          func(b []byte) { le.PutUint16(b[54:], 1) },
		"another machine":                func(b []byte) { le.PutUint16(b[18:], 8) },
	} {
		b := testCore()
		damage(b)
		if p, err := Read(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%s: %d threads", name, len(p.Threads))
		}
	}
	for name, damage := range map[string]func(b []byte){
		"2^64 mapped files":     func(b []byte) { le.PutUint64(b[bytes.Index(b, []byte("/opt/app"))-40:], 1<<64-1) },
		"memory beyond 2^64":    func(b []byte) { le.PutUint64(b[64+56+40:], 1<<64-1) },
		"memory behind the end": func(b []byte) { le.PutUint64(b[64+2*56+8:], 1<<62) },
	} {
		b := testCore()
		damage(b)
		p, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil || len(p.Threads) != 2 {
			t.Errorf("%s: %v", name, err)
		} else if name != "memory beyond 2^64" && len(p.Notes) == 0 {
			t.Errorf("%s: nothing is said", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(testCore())
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if len(p.Threads) == 0 || strings.Contains(p.Cause.Text().String(), "%!") {
			t.Errorf("%d threads, %s", len(p.Threads), p.Cause.Text())
		}
		var saved uint64
		for _, r := range p.Memory.Ranges() {
			saved += r.Saved
			if r.Saved > uint64(len(b)) {
				t.Errorf("a range has %d bytes of a file of %d", r.Saved, len(b))
			}
		}
		for _, m := range p.Modules {
			_, _, _ = p.Memory.Range(m.Base)
			_ = p.Memory.String(m.Base, 100)
		}
	})
}

// TestDeleted holds that a module whose file was removed has its real name if its build-id tells which file is the one, and
// else the name that leads to no file.
func TestDeleted(t *testing.T) {
	for _, tt := range []struct {
		note, want string
	}{{"GNU\x00abcd", "/opt/plug.so"}, {"XXX\x00abcd", "/opt/plug.so (deleted)"}} {
		b := coreOf("/opt/plug.so (deleted)")
		copy(b[bytes.Index(b, []byte("GNU\x00abcd")):], tt.note)
		p, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil || len(p.Modules) == 0 || p.Modules[0].Path != tt.want {
			t.Errorf("%v, %+v, want %s", err, p.Modules, tt.want)
		}
	}
}
