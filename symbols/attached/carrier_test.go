package attached

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
)

// someParts returns the parts of a small container.
func someParts(t testing.TB) []Part {
	t.Helper()
	table := openFile(t, "../dwarf/testdata/gcc5.so")
	ranges, _ := codeOf(t, table, "../dwarf/testdata/gcc5.so")
	e, err := Encode(context.Background(), table, ranges, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.Parts(&Module{Name: "gcc5.so", Identity: table.Identity(), Carrier: true}, 0)
}

// programs are PE and ELF files of this project and of the system.
var programs = []string{
	"../dwarf/testdata/*.so", "../dwarf/testdata/*.dll", "../symtab/testdata/*.so", "../../testdata/logtest/*/*.exe", "../../testdata/logtest/*/*.dll",
	"../../testdata/logtest/*/*.so", "../../testdata/logtest/linux-gcc-O2/logtest", "../../../shared/data/elf/basic.*", "../../../shared/data/p*/*.dll",
	"../../../shared/data/pdb/*.node", "/usr/bin/[a-d]*", "/usr/lib/gcc/*-w64-mingw32/*/lib*.dll", "/usr/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/[ab]*.dll", "/usr/lib/i386-linux-gnu/wine/i386-windows/[ab]*.dll",
}

// TestDetachGivesTheOriginal attaches to many programs, twice, and takes it off.
func TestDetachGivesTheOriginal(t *testing.T) {
	parts := someParts(t)
	pe, elfs, refused := 0, 0, 0
	for _, pattern := range programs {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil || !image.Detect(data[:min(4, len(data))]) || len(data) > 32<<20 || elfs > 120 && data[0] != 'M' {
				continue
			}
			want := sha256.Sum256(data)
			var once, twice, back bytes.Buffer
			if err := Attach(&once, bytes.NewReader(data), int64(len(data)), parts); err != nil {
				if !errors.Is(err, ErrNotCarrier) && !errors.Is(err, ErrOverlay) && !errors.Is(err, ErrSigned) {
					t.Errorf("%s: %v", path, err)
				}
				t.Logf("%s: refused: %v", path, err)
				refused++
				continue
			}
			if err := Attach(&twice, bytes.NewReader(once.Bytes()), int64(once.Len()), parts); err != nil {
				t.Errorf("%s, a second time: %v", path, err)
			}
			if !bytes.Equal(once.Bytes(), twice.Bytes()) {
				t.Errorf("%s: attached a second time it is another file", path)
			}
			c, err := Find(bytes.NewReader(once.Bytes()), int64(once.Len()))
			if err != nil || len(c.Modules()) != 1 || c.Modules()[0].Name != "gcc5.so" {
				t.Errorf("%s: what is attached: %v, %v", path, c, err)
			}
			sameImage(t, path, data, once.Bytes())
			if err := Detach(&back, bytes.NewReader(once.Bytes()), int64(once.Len())); err != nil {
				t.Errorf("%s: detach: %v", path, err)
			}
			if got := sha256.Sum256(back.Bytes()); got != want {
				t.Errorf("%s: detached it is another file", path)
			}
			if data[0] == 'M' {
				pe++
			} else {
				elfs++
			}
		}
	}
	t.Logf("%d PE and %d ELF files, %d refused", pe, elfs, refused)
	if pe < 5 || elfs < 20 {
		t.Errorf("only %d PE and %d ELF files", pe, elfs)
	}
}

// sameImage holds what an image says with symbols attached against what it said before.
func sameImage(t *testing.T, path string, before, after []byte) {
	t.Helper()
	open := func(data []byte) *image.Image {
		im, err := image.Open(&symbols.File{Path: path, ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return im
	}
	a, b := open(before), open(after)
	if a.Identity != b.Identity || a.Base != b.Base || a.Size != b.Size || len(a.Code()) != len(b.Code()) {
		t.Errorf("%s: identity %v, size %#x became %v, %#x", path, a.Identity, a.Size, b.Identity, b.Size)
	}
	if a.Kind == image.ELF {
		f, err := elf.NewFile(bytes.NewReader(after))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if s := f.Section(sectionName); s == nil || s.Flags != 0 || s.Type != elf.SHT_PROGBITS {
			t.Errorf("%s: section %v", path, s)
		}
	}
}

// testPE is a PE file of one section, followed by what is given.
func testPE(behind string) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0x400)
	copy(b, "MZ")
	le.PutUint32(b[0x3c:], 0x40)
	copy(b[0x40:], "PE\x00\x00")
	le.PutUint16(b[0x44:], 0x8664)
	le.PutUint16(b[0x46:], 1)
	le.PutUint16(b[0x54:], 240)
	optional := b[0x58:]
	le.PutUint16(optional, 0x20b)
	le.PutUint32(optional[56:], 0x3000)
	le.PutUint32(optional[60:], 0x200)
	le.PutUint32(optional[64:], 0x1234)
	le.PutUint32(optional[108:], 16)
	section := optional[240:]
	copy(section, ".text")
	le.PutUint32(section[8:], 0x200)
	le.PutUint32(section[12:], 0x1000)
	le.PutUint32(section[16:], 0x200)
	le.PutUint32(section[20:], 0x200)
	le.PutUint32(section[36:], 0x60000020)
	return append(b, behind...)
}

// sign makes a PE file as it is when it was signed: a certificate table behind it, and another
// CheckSum.
func sign(data []byte) []byte {
	le := binary.LittleEndian
	b := append(bytes.Clone(data), make([]byte, -len(data)&7)...)
	optional := b[0x58:]
	le.PutUint32(optional[112+8*4:], uint32(len(b)))
	le.PutUint32(optional[112+8*4+4:], 24)
	le.PutUint32(optional[64:], 0x9999)
	return append(b, "\x18\x00\x00\x00\x00\x02\x02\x00certificate....."...)
}

// unsign takes the signature off as signing tools do, which leave CheckSum.
func unsign(data []byte) []byte {
	le := binary.LittleEndian
	at := le.Uint32(data[0x58+112+8*4:])
	b := bytes.Clone(data[:at])
	copy(b[0x58+112+8*4:], make([]byte, 8))
	return b
}

func TestSigned(t *testing.T) {
	parts, plain := someParts(t), testPE("")
	attach := func(data []byte) ([]byte, error) {
		var b bytes.Buffer
		err := Attach(&b, bytes.NewReader(data), int64(len(data)), parts)
		return b.Bytes(), err
	}
	if _, err := attach(sign(plain)); !errors.Is(err, ErrSigned) {
		t.Errorf("attached to a signed file: %v", err)
	}
	with, err := attach(plain)
	if err != nil {
		t.Fatal(err)
	}
	signed := sign(with)
	if c, err := Find(bytes.NewReader(signed), int64(len(signed))); err != nil || len(c.Modules()) != 1 {
		t.Errorf("nothing found in a file that was signed: %v", err)
	}
	if err := Detach(io.Discard, bytes.NewReader(signed), int64(len(signed))); !errors.Is(err, ErrSigned) {
		t.Errorf("detached from a signed file: %v", err)
	}
	var back bytes.Buffer
	again := unsign(signed)
	if err := Detach(&back, bytes.NewReader(again), int64(len(again))); err != nil || !bytes.Equal(back.Bytes(), plain) {
		t.Errorf("after the signature was removed: %v", err)
	}
}

func TestRefused(t *testing.T) {
	parts := someParts(t)
	gcc, err := os.ReadFile("../dwarf/testdata/gcc5.so")
	if err != nil {
		t.Fatal(err)
	}
	overlapping := testPE("")
	binary.LittleEndian.PutUint16(overlapping[0x46:], 2)
	copy(overlapping[0x58+280:], overlapping[0x58+240:0x58+280])
	none := bytes.Clone(gcc)
	binary.LittleEndian.PutUint64(none[40:], 0)
	tests := []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"zip behind a PE", testPE("PK\x03\x04more"), ErrOverlay, "an archive"},
		{"NSIS", testPE("\x00\x00\x00\x00\xef\xbe\xad\xdeNullsoftInst"), ErrOverlay, "installer"},
		{"something behind a PE", testPE("something"), ErrOverlay, "9 bytes at 0x400"},
		{"something behind an ELF file", append(bytes.Clone(gcc), "AppImage"...), ErrOverlay, "8 bytes"},
		{"sections over each other", overlapping, ErrNotCarrier, "over each other"},
		{"a PE that was cut", testPE("")[:0x300], ErrNotCarrier, "cut"},
		{"no sections", none, ErrNotCarrier, "no table of sections"},
		{"a text", []byte(strings.Repeat("text ", 20)), ErrNotCarrier, "neither"},
	}
	for _, tt := range tests {
		err := Attach(io.Discard, bytes.NewReader(tt.data), int64(len(tt.data)), parts)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := Detach(io.Discard, bytes.NewReader(tt.data), int64(len(tt.data))); err == nil {
			t.Errorf("%s: detached", tt.name)
		}
	}
}

// TestChanged takes symbols off files that were changed after they were attached.
func TestChanged(t *testing.T) {
	parts := someParts(t)
	gcc, err := os.ReadFile("../dwarf/testdata/gcc5.so")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"PE": testPE(""), "ELF": gcc} {
		var b bytes.Buffer
		if err := Attach(&b, bytes.NewReader(data), int64(len(data)), parts); err != nil {
			t.Fatal(err)
		}
		changed := b.Bytes()
		changed[0x210]++
		if err := Detach(io.Discard, bytes.NewReader(changed), int64(len(changed))); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStrip strips an ELF file with symbols attached.
func TestStrip(t *testing.T) {
	if _, err := exec.LookPath("strip"); err != nil {
		t.Skip("no strip")
	}
	data, err := os.ReadFile("../../testdata/logtest/linux-gcc-O2/logtest")
	if err != nil {
		t.Skip(err)
	}
	var b bytes.Buffer
	if err := Attach(&b, bytes.NewReader(data), int64(len(data)), someParts(t)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "stripped")
	if err := os.WriteFile(path, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("strip", "--strip-all", path).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v: %s", err, out)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(after, b.Bytes()) {
		t.Error("strip has changed nothing")
	}
	c, err := Find(bytes.NewReader(after), int64(len(after)))
	if err != nil {
		t.Fatal(err)
	}
	table, err := c.Modules()[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := table.Procedures(func(uint64, string) bool { n++; return true }); err != nil || n == 0 {
		t.Errorf("%d functions, %v", n, err)
	}
	if err := Detach(io.Discard, bytes.NewReader(after), int64(len(after))); !errors.Is(err, ErrChanged) {
		t.Errorf("detached from a stripped file: %v", err)
	}
}

// TestSeveralModules finds each of several modules in one container.
func TestSeveralModules(t *testing.T) {
	files := []string{"../dwarf/testdata/gcc5.so", "../dwarf/testdata/x86_64.dll", "../pdb/testdata/shapes-x86_64.pdb"}
	var parts []Part
	for i, path := range files {
		table := openFile(t, path)
		ranges, _ := codeOf(t, table, path)
		e, err := Encode(context.Background(), table, ranges, nil)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, e.Parts(&Module{Name: filepath.Base(path), Identity: table.Identity()}, uint32(i))...)
	}
	// A part of a kind that is not known stands in between.
	parts = append(parts[:4], append([]Part{bytesPart(99, 0, []byte("later"))}, parts[4:]...)...)
	var b bytes.Buffer
	if err := Attach(&b, bytes.NewReader(testPE("")), 0x400, parts); err != nil {
		t.Fatal(err)
	}
	c, err := Find(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(c.Modules()) != len(files) {
		t.Fatalf("%v, %v", c, err)
	}
	for i, m := range c.Modules() {
		want := openFile(t, files[i])
		ranges, _ := codeOf(t, want, files[i])
		got, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		if got.Identity() != want.Identity() || got.Identity() == (modules.Identity{}) {
			t.Errorf("%s: identity %v", m.Name, got.Identity())
		}
		for _, r := range ranges {
			for rva := r.Lo; rva < r.Hi; rva += 7 {
				a, e1 := want.Lookup(rva)
				b, e2 := got.Lookup(rva)
				if (e1 == nil) != (e2 == nil) || e1 == nil && !sameSymbol(&a, &b) {
					t.Fatalf("%s %#x: %v, %v; want %v, %v", m.Name, rva, b, e2, a, e1)
				}
			}
		}
	}
}
