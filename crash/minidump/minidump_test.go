package minidump

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/crash"
	"logparser/modules"
	"logparser/symbols/unwind"
)

const dumps = "../../../shared/data/dumps"

// testDump makes a minidump of x64 with a thread and its stack, a module and an exception.
func testDump() []byte {
	le := binary.LittleEndian
	const system, threads, list, exception, context, name, record, stack, size = 200, 300, 400, 600, 1000, 2300, 2400, 2500, 2600
	b := make([]byte, size)
	copy(b, "MDMP")
	le.PutUint32(b[8:], 4)
	le.PutUint32(b[12:], headerSize)
	for i, s := range [][3]uint32{{streamSystem, 56, system}, {streamThreads, 52, threads}, {streamModules, 112, list}, {streamException, 168, exception}} {
		for k, v := range s {
			le.PutUint32(b[headerSize+12*i+4*k:], v)
		}
	}
	le.PutUint16(b[system:], architectureX64)
	le.PutUint32(b[system+20:], platformWindows)
	le.PutUint32(b[threads:], 1)
	t := b[threads+4:]
	le.PutUint32(t, 7)
	le.PutUint64(t[24:], 0x5000)
	le.PutUint32(t[32:], 100)
	le.PutUint32(t[36:], stack)
	le.PutUint32(t[40:], 1232)
	le.PutUint32(t[44:], context)
	le.PutUint64(b[context+120+16*8:], 0x401234)
	le.PutUint64(b[context+120+4*8:], 0x5010)
	le.PutUint32(b[list:], 1)
	m := b[list+4:]
	le.PutUint64(m, 0x400000)
	le.PutUint32(m[8:], 0x10000)
	le.PutUint32(m[16:], 0x12345678)
	le.PutUint32(m[20:], name)
	le.PutUint32(m[76:], 32)
	le.PutUint32(m[80:], record)
	le.PutUint32(b[name:], 10)
	copy(b[name+4:], "a\x00.\x00e\x00x\x00e\x00")
	copy(b[record:], "RSDS0123456789abcdef\x02\x00\x00\x00a.pdb\x00")
	e := b[exception:]
	le.PutUint32(e, 7)
	le.PutUint32(e[8:], 0xc0000005)
	le.PutUint32(e[32:], 2)
	le.PutUint64(e[40:], 1)
	le.PutUint64(e[48:], 0x10)
	le.PutUint32(e[160:], 1232)
	le.PutUint32(e[164:], context)
	return b
}

func TestRead(t *testing.T) {
	b := testDump()
	p, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Cause.Text().String(); got != "EXCEPTION_ACCESS_VIOLATION: write to address 0x10, null pointer + 16" {
		t.Errorf("the cause is %q", got)
	}
	pc, _ := p.Threads[0].Registers.Get(unwind.X8664.PC())
	sp, _ := p.Threads[0].Registers.Get(unwind.X8664.SP())
	if pc != 0x401234 || sp != 0x5010 || !p.Threads[0].Crashed {
		t.Errorf("thread %+v: %#x %#x", p.Threads[0], pc, sp)
	}
	want := modules.Identity{Age: 2, Timestamp: 0x12345678, ImageSize: 0x10000}
	copy(want.PDB[:], "0123456789abcdef")
	if len(p.Modules) != 1 || p.Modules[0].Path != "a.exe" || p.Modules[0].Identity != want || p.Program != "a.exe" {
		t.Errorf("modules %+v", p.Modules)
	}
	if lo, hi, ok := p.Memory.Range(0x5010); lo != 0x5000 || hi != 0x5064 || !ok {
		t.Errorf("stack %#x-%#x, %v", lo, hi, ok)
	}
}

// withUnloaded adds two modules that were unloaded to a dump, of which the second has longer entries behind a longer head.
func withUnloaded(b []byte) []byte {
	le := binary.LittleEndian
	const entry, head = 28, 16
	at := len(b)
	b = append(b, make([]byte, head+2*entry+64)...)
	for i, v := range []uint32{5, streamUnloaded, head + 2*entry, uint32(at)} {
		if i == 0 {
			le.PutUint32(b[8:], v)
			continue
		}
		le.PutUint32(b[headerSize+12*4+4*(i-1):], v)
	}
	le.PutUint32(b[at:], head)
	le.PutUint32(b[at+4:], entry)
	le.PutUint32(b[at+8:], 2)
	for i, base := range []uint64{0x7000000, 0x7001000} {
		e, name := b[at+head+i*entry:], at+head+2*entry+32*i
		le.PutUint64(e, base)
		le.PutUint32(e[8:], 0x3000)
		le.PutUint32(e[20:], uint32(name))
		le.PutUint32(b[name:], 10)
		copy(b[name+4:], string(rune('x'+i))+"\x00.\x00d\x00l\x00l\x00")
	}
	return b
}

// TestUnloaded reads the modules that were unloaded, whose addresses may overlap.
func TestUnloaded(t *testing.T) {
	b := withUnloaded(testDump())
	p, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil || len(p.Unloaded) != 2 {
		t.Fatalf("%v, %+v", err, p)
	}
	for i, want := range []string{"x.dll", "y.dll"} {
		if m := p.Unloaded[i]; m.Path != want || !m.Contains(0x7002345) {
			t.Errorf("%+v", m)
		}
	}
	// Numbers beyond the file are noted.
	binary.LittleEndian.PutUint32(b[len(testDump())+8:], 1<<12)
	if p, err := Read(bytes.NewReader(b), int64(len(b))); err != nil || len(p.Unloaded) != 0 || len(p.Notes) == 0 {
		t.Errorf("%v, %+v", err, p)
	}
}

// TestFaultsWithoutCode reads the dumps of Breakpad that do not tell the si_code: each tells its address.
func TestFaultsWithoutCode(t *testing.T) {
	for file, want := range map[string]uint64{"linux_write_to_under_4k.dmp": 0xf93, "linux_write_to_outside_module.dmp": 0x390000, "linux_jmp_to_module_not_exe_region.dmp": 0x616500} {
		b, err := os.ReadFile(filepath.Join(dumps, file))
		if err != nil {
			t.Skip("no conformance data here")
		}
		p, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil || !p.Cause.HasAddress() || p.Cause.Address != want {
			t.Errorf("%s: %v, %+v", file, err, p.Cause)
		}
	}
}

// TestHostile damages each number of a dump. Reading must return an error, a note or the intact parts, and must not trust a
// size that exceeds the file.
func TestHostile(t *testing.T) {
	whole := withUnloaded(testDump())
	for at := 0; at+4 <= len(whole); at += 2 {
		for _, v := range []uint32{1 << 31, 0xffffffff, 0x10000000, uint32(len(whole))} {
			b := bytes.Clone(whole)
			binary.LittleEndian.PutUint32(b[at:], v)
			p, err := Read(bytes.NewReader(b), int64(len(b)))
			if err == nil {
				check(t, p, len(b))
			}
		}
	}
	for n := range len(whole) {
		if p, err := Read(bytes.NewReader(whole[:n]), int64(n)); err == nil {
			check(t, p, n)
		}
	}
}

func check(t *testing.T, p *crash.Process, size int) {
	t.Helper()
	if len(p.Threads) == 0 || len(p.Threads) > size || len(p.Modules) > size || strings.Contains(p.Cause.Text().String(), "%!") {
		t.Fatalf("%d threads, %d modules, %s", len(p.Threads), len(p.Modules), p.Cause.Text())
	}
	for _, r := range p.Memory.Ranges() {
		if r.Saved > uint64(size) {
			t.Fatalf("a range has %d bytes of a file of %d", r.Saved, size)
		}
	}
}

// TestIdentities reads the identities of modules in dumps of both systems.
func TestIdentities(t *testing.T) {
	for file, want := range map[string]string{
		"minidump2.dmp":               "test_app.exe pdb:5A9832E5-2872-41C1-838E-D98914E9B7FF:1",
		"linux_null_read_av.dmp":      "null_read_av build-id:6819",
		"linux_null_dereference.dmp":  "driver build-id:",
		"tiny-exe-with-cet-xsave.dmp": "tiny.exe pdb:",
	} {
		b, err := os.ReadFile(filepath.Join(dumps, file))
		if err != nil {
			t.Skip("no conformance data here")
		}
		p, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		found := false
		var all []string
		for _, m := range p.Modules {
			text := m.Name() + " " + m.Identity.String()
			all = append(all, text)
			found = found || strings.HasPrefix(text, want)
		}
		if !found {
			t.Errorf("%s: no %s in %q", file, want, all)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(testDump())
	f.Add(withUnloaded(testDump()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := Read(bytes.NewReader(b), int64(len(b))); err == nil {
			check(t, p, len(b))
		}
	})
}
