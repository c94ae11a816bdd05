package image

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	saferwall "github.com/saferwall/pe"

	"logparser/symbols"
	"logparser/symbols/symtest"
)

// dwarfData is the folder of the files that package dwarf builds.
const dwarfData = "../dwarf/testdata"

func openPath(t testing.TB, path string) *Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	im, err := Open(&symbols.File{Path: path, ReaderAt: f, Size: info.Size(), Closer: f})
	if err != nil {
		f.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

func openBytes(name string, data []byte) (*Image, error) {
	return Open(&symbols.File{Path: name, ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
}

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		file string
		want string
	}{
		{"elf/basic.full", "ELF x86-64 8 base 0x0 size 0x4030 build-id:b060ad20c6b47781552708aa192e7739fac7c84a dwarf"},
		{"elf/basic.dbg", "ELF x86-64 8 base 0x0 size 0x4030 build-id:b060ad20c6b47781552708aa192e7739fac7c84a dwarf"},
		{"elf/basic.stripped", "ELF x86-64 8 base 0x0 size 0x4030 build-id:b060ad20c6b47781552708aa192e7739fac7c84a"},
		{"elf/basic.dwz", "ELF x86-64 8 base 0x0 size 0x4030 build-id:b060ad20c6b47781552708aa192e7739fac7c84a dwarf alt basic.dwz 120a913182e97f0470822b07e562b760a07fd5f2"},
		{"elf/debuglink/main", "ELF arm64 8 base 0x0 size 0x12018 build-id:581d3e0c369f230c1bc06257ad3d38274392ec85 link main.dbg 25664292"},
		{"pdb/dump_syms_regtest64.exe", `PE x86-64 8 base 0x140000000 size 0x1a000 pdb:72E103A8-5CB2-4907-8B76-B2E7C06257B1:3 C:\cygwin64\wip\breakpad-depot\src\src\tools\windows\dump_syms\testdata\dump_syms_regtest64.pdb`},
		{"pdb/basic32-min.dll", `PE x86 4 base 0x10000000 size 0x6c000 pdb:878E82E5-E282-481B-88FC-BBA2CFF8C7F1:2 C:\Users\Calixte\dump_syms\test_data\basic32-min.pdb`},
		{"pdb/conpty.node", `PE x86-64 8 base 0x180000000 size 0x53000 pdb:FB9FB7D5-8AE2-47B9-9889-73DAF157F7AB:1 D:\a\_work\1\s\build\Release\conpty.pdb`},
		{"pdb/registry.node", `PE x86-64 8 base 0x180000000 size 0x8a000 pdb:CFE6D5A0-D9FD-4016-95C7-619D47CDB656:1 C:\Users\markus\Documents\GitHub\registry-js\build\Release\registry.pdb`},
		{"pe-dwarf/basic32-dwarf.dll", "PE x86 4 base 0x68fc0000 size 0x1f000 pe:63CF13F2:1f000 dwarf"},
	} {
		t.Run(c.file, func(t *testing.T) {
			im := openPath(t, symtest.Path(t, strings.Split(c.file, "/")...))
			got := fmt.Sprintf("%s %s %d base %#x size %#x %s", im.Kind, im.Machine, im.PointerSize, im.Base, im.Size, im.Identity)
			if im.HasDWARF() {
				got += " dwarf"
			}
			if im.DebugLink != "" {
				got += fmt.Sprintf(" link %s %08x", im.DebugLink, im.DebugLinkCRC)
			}
			if im.AltLink != "" {
				got += fmt.Sprintf(" alt %s %x", im.AltLink, im.AltBuildID)
			}
			if im.PDBPath != "" {
				got += " " + im.PDBPath
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestBuildIDOfPE opens what MinGW's ld writes for --build-id: a CodeView
// record with an empty path.
func TestBuildIDOfPE(t *testing.T) {
	for _, name := range []string{"x86_64.dll", "i686.dll"} {
		im := openPath(t, filepath.Join(dwarfData, name))
		if im.Identity.PDB.IsZero() || im.Identity.Age != 1 || im.PDBPath != "" {
			t.Errorf("%s: identity %v, path %q", name, im.Identity, im.PDBPath)
		}
	}
}

// TestIdentityStays holds the files that were made from one program against
// each other.
func TestIdentityStays(t *testing.T) {
	want := openPath(t, filepath.Join(dwarfData, "gcc5.so"))
	for _, name := range []string{"gcc5.debug", "gcc5-stripped.so", "gcc5-mini.so", "gcc5-zlib.so"} {
		im := openPath(t, filepath.Join(dwarfData, name))
		if im.Identity != want.Identity || im.Base != want.Base || im.Size != want.Size {
			t.Errorf("%s: %v at %#x, %#x bytes, want %v at %#x, %#x bytes", name,
				im.Identity, im.Base, im.Size, want.Identity, want.Base, want.Size)
		}
	}
}

// TestCompressed holds compressed sections against the same ones stored.
func TestCompressed(t *testing.T) {
	want := openPath(t, filepath.Join(dwarfData, "gcc5.so"))
	for _, name := range []string{"gcc5-zlib.so", "gcc5-zlib-gnu.so", "gcc5-zstd.so"} {
		im := openPath(t, filepath.Join(dwarfData, name))
		compressed := 0
		for _, debug := range []string{"info", "abbrev", "line", "str", "line_str", "rnglists", "aranges"} {
			got, want := im.Debug(debug), want.Debug(debug)
			if got.Compressed() {
				compressed++
			}
			a, err := contents(got)
			b, err2 := contents(want)
			if err != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: .debug_%s: %d bytes, %v, want %d bytes", name, debug, len(a), err, len(b))
			}
			head, err := got.Head(4)
			if err != nil || !bytes.Equal(head, b[:4]) {
				t.Errorf("%s: .debug_%s begins with %x, %v, want %x", name, debug, head, err, b[:4])
			}
		}
		if compressed == 0 {
			t.Errorf("%s: no section is compressed", name)
		}
	}
}

func contents(s *Section) ([]byte, error) {
	c, err := s.Content()
	if err != nil {
		return nil, err
	}
	return c.Bytes(0, c.Size())
}

// TestInflateLimits changes what a compressed section claims to hold.
func TestInflateLimits(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(dwarfData, "gcc5-zlib.so"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	info := f.Section(".debug_info")
	for _, c := range []struct {
		size uint64
		want string
	}{
		{info.Size, ""},
		{info.Size + 1, "unexpected EOF"},
		{info.FileSize*maxRatio + maxRatio, "claims to hold"},
		{1 << 40, "claims to hold"},
		{1<<64 - 1, "claims to hold"},
	} {
		changed := bytes.Clone(data)
		binary.LittleEndian.PutUint64(changed[info.Offset+8:], c.size)
		im, err := openBytes("changed", changed)
		if err != nil {
			t.Fatal(err)
		}
		_, err = im.Section(".debug_info").Content()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("size %d: %v, want %q", c.size, err, c.want)
		}
		im.FreeScratch()
	}
}

// TestScratch inflates a section that is too big to keep in memory.
func TestScratch(t *testing.T) {
	old := bigSection(t)
	im, err := openBytes("big", old)
	if err != nil {
		t.Fatal(err)
	}
	s := im.Section(".debug_info")
	c, err := s.Content()
	if err != nil {
		t.Fatal(err)
	}
	if c.mem != nil || c.Size() != 3<<20 {
		t.Errorf("%d bytes, in memory: %v", c.Size(), c.mem != nil)
	}
	b, err := c.Bytes(2<<20, 16)
	if err != nil || string(b) != strings.Repeat("\x07", 16) {
		t.Errorf("%x, %v", b, err)
	}
	files := im.scratch.files
	if err := im.FreeScratch(); err != nil || len(files) != 1 {
		t.Errorf("%d temporary files, %v", len(files), err)
	}
	if _, err := os.Stat(files[0].Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("temporary file left: %v", err)
	}
}

// TestAgainstSaferwall holds headers, exports and the CodeView record of PEs
// against another reader.
func TestAgainstSaferwall(t *testing.T) {
	for _, path := range []string{
		"pdb/dump_syms_regtest64.exe", "pdb/basic32-min.dll", "pdb/conpty.node", "pdb/registry.node",
		"pe-dwarf/basic32-dwarf.dll", "x86_64.dll", "i686.dll",
	} {
		t.Run(path, func(t *testing.T) {
			file := filepath.Join(dwarfData, path)
			if strings.Contains(path, "/") {
				file = symtest.Path(t, strings.Split(path, "/")...)
			}
			im := openPath(t, file)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := saferwall.NewBytes(data, &saferwall.Options{
				DisableCertValidation: true, DisableSignatureValidation: true,
				OmitImportDirectory: true, OmitExceptionDirectory: true, OmitResourceDirectory: true,
				OmitSecurityDirectory: true, OmitRelocDirectory: true, OmitTLSDirectory: true,
				OmitLoadConfigDirectory: true, OmitBoundImportDirectory: true, OmitIATDirectory: true,
				OmitDelayImportDirectory: true, OmitCLRHeaderDirectory: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := want.Parse(); err != nil {
				t.Fatal(err)
			}
			if len(im.Sections) != len(want.Sections) {
				t.Fatalf("%d sections, want %d", len(im.Sections), len(want.Sections))
			}
			for i, s := range want.Sections {
				got := im.Sections[i]
				if got.Addr-im.Base != uint64(s.Header.VirtualAddress) || got.MemSize != uint64(s.Header.VirtualSize) {
					t.Errorf("section %d: %#x, %#x bytes, want %#x, %#x bytes", i, got.Addr-im.Base, got.MemSize, s.Header.VirtualAddress, s.Header.VirtualSize)
				}
			}
			exports, err := im.Exports()
			if err != nil {
				t.Fatal(err)
			}
			var named []Export
			for _, e := range want.Export.Functions {
				if e.Name != "" && e.Forwarder == "" {
					named = append(named, Export{e.Name, uint64(e.FunctionRVA)})
				}
			}
			if fmt.Sprint(exports) != fmt.Sprint(named) {
				t.Errorf("exports %v\nwant %v", exports, named)
			}
			for _, d := range want.Debugs {
				info, ok := d.Info.(saferwall.CVInfoPDB70)
				if !ok {
					continue
				}
				if im.PDBPath != info.PDBFileName || im.Identity.Age != info.Age {
					t.Errorf("PDB %q age %d, want %q age %d", im.PDBPath, im.Identity.Age, info.PDBFileName, info.Age)
				}
			}
		})
	}
}

func TestNotAnImage(t *testing.T) {
	for _, c := range []struct {
		name, data string
	}{
		{"empty", ""},
		{"short", "MZ"},
		{"text", strings.Repeat("hello\n", 20)},
		{"DOS program", "MZ" + strings.Repeat("\x00", 200)},
	} {
		if _, err := openBytes(c.name, []byte(c.data)); !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), c.name+": ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestSectionNames opens headers by which few bytes would make many: section
// names that overlap in a long one, and counts beyond the file.
func TestSectionNames(t *testing.T) {
	const sections, names = 1 << 16, 1 << 20
	shoff := 64
	data := make([]byte, shoff+sections*64+names)
	copy(data, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(data[16:], uint16(elf.ET_DYN))
	le.PutUint16(data[18:], uint16(elf.EM_X86_64))
	le.PutUint32(data[20:], 1)
	le.PutUint64(data[40:], uint64(shoff))
	le.PutUint16(data[54:], 56)
	le.PutUint16(data[58:], 64)
	le.PutUint16(data[62:], 1)
	le.PutUint64(data[shoff+32:], sections)
	table := data[shoff+64:]
	le.PutUint32(table[4:], uint32(elf.SHT_STRTAB))
	le.PutUint64(table[24:], uint64(shoff+sections*64))
	le.PutUint64(table[32:], names)
	for i := range data[shoff+sections*64 : len(data)-1] {
		data[shoff+sections*64+i] = 'a'
	}
	if _, err := openBytes("names", data); err == nil || !strings.Contains(err.Error(), "section names of up to") {
		t.Errorf("overlapping names: %v", err)
	}
	le.PutUint64(data[shoff+32:], 1<<40)
	if _, err := openBytes("count", data); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("too many sections: %v", err)
	}
	le.PutUint64(data[shoff+32:], 1<<17)
	if _, err := openBytes("beyond", data); err == nil || !strings.Contains(err.Error(), "outside the file") {
		t.Errorf("sections beyond the file: %v", err)
	}
}

// exercise reads all that an image offers.
func exercise(data []byte) {
	im, err := openBytes("input", data)
	if err != nil {
		return
	}
	defer im.FreeScratch()
	for i, s := range im.Sections {
		if i > 100 {
			break
		}
		s.Head(16)
		if c, err := s.Content(); err == nil {
			c.Upto(0, 1<<10)
			c.String(c.Size() / 2)
		}
	}
	im.Exports()
	im.Imports()
	im.BaseRelocations()
	im.FunctionTable()
	im.COFF()
	im.Executable(im.Base + 0x1000)
	im.ReadRVA(0x1000, 16)
}

// samples are small images of every kind.
func samples(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	for _, name := range []string{"gcc5-zlib.so", "gcc5-zstd.so", "gcc5-zlib-gnu.so", "gcc5-stripped.so", "gcc5-dwz.so", "mips.so", "i686.dll", "x86_64.dll", "gcc5-zlib.o", "i386.o"} {
		data, err := os.ReadFile(filepath.Join(dwarfData, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = data
	}
	return out
}

func TestDamage(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for _, data := range samples(t) {
		for n := range min(len(data), 1024) {
			exercise(data[:n])
		}
		rng := rand.New(rand.NewSource(1))
		for range rounds {
			changed := bytes.Clone(data)
			for range 16 {
				// Most of the headers lie at the ends.
				at := rng.Intn(len(changed))
				switch rng.Intn(3) {
				case 0:
					at = rng.Intn(min(1024, len(changed)))
				case 1:
					at = len(changed) - 1 - rng.Intn(min(3000, len(changed)))
				}
				changed[at] = byte(rng.Intn(256))
			}
			exercise(changed)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 57)))
	f.Add([]byte("MZ" + strings.Repeat("\x00", 62)))
	f.Add(object(64, append(rela(8, 2, elf.R_X86_64_64, 4), rela(0, 1, elf.R_X86_64_32, 0)...)))
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { exercise(data) })
}

// bigSection makes an ELF file with a compressed section of 3 MB.
func bigSection(t *testing.T) []byte {
	t.Helper()
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if _, err := io.Copy(w, io.LimitReader(repeat(7), 3<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	body := append(make([]byte, 24), z.Bytes()...)
	le.PutUint32(body, uint32(elf.COMPRESS_ZLIB))
	le.PutUint64(body[8:], 3<<20)
	return debugFile(body, elf.SHF_COMPRESSED)
}

// storedSection is an ELF file with a .debug_info of 3 MiB of sevens.
func storedSection(t *testing.T) []byte {
	t.Helper()
	return debugFile(bytes.Repeat([]byte{7}, 3<<20), 0)
}

// debugFile is an ELF file with a build-id and a .debug_info.
func debugFile(body []byte, flags elf.SectionFlag) []byte {
	le := binary.LittleEndian
	names := "\x00.shstrtab\x00.debug_info\x00.note\x00"
	data := make([]byte, 64)
	copy(data, "\x7fELF\x02\x01\x01")
	le.PutUint16(data[16:], uint16(elf.ET_DYN))
	le.PutUint16(data[18:], uint16(elf.EM_X86_64))
	le.PutUint32(data[20:], 1)
	le.PutUint16(data[54:], 56)
	le.PutUint16(data[58:], 64)
	le.PutUint16(data[60:], 4)
	le.PutUint16(data[62:], 1)
	section := func(name, typ uint32, flags uint64, off, size int) []byte {
		b := make([]byte, 64)
		le.PutUint32(b, name)
		le.PutUint32(b[4:], typ)
		le.PutUint64(b[8:], flags)
		le.PutUint64(b[24:], uint64(off))
		le.PutUint64(b[32:], uint64(size))
		return b
	}
	namesAt := len(data)
	data = append(data, names...)
	bodyAt := len(data)
	data = append(data, body...)
	noteAt := len(data)
	data = append(data, "\x04\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00GNU\x00thebuild"...)
	noteSize := len(data) - noteAt
	le.PutUint64(data[40:], uint64(len(data)))
	data = append(data, make([]byte, 64)...)
	data = append(data, section(1, uint32(elf.SHT_STRTAB), 0, namesAt, len(names))...)
	data = append(data, section(11, uint32(elf.SHT_PROGBITS), uint64(flags), bodyAt, len(body))...)
	data = append(data, section(23, uint32(elf.SHT_NOTE), 0, noteAt, noteSize)...)
	return data
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}
