package about

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/saferwall/pe"

	"logparser/symbols"
	"logparser/symbols/image"
)

func open(t testing.TB, data []byte) *image.Image {
	t.Helper()
	im, err := image.Open(&symbols.File{Path: "x.exe", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { im.FreeScratch() })
	return im
}

// aBlock makes a block of a version resource.
func aBlock(name, text string, value []byte, children ...[]byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, 6)
	pad := func() {
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	wide := func(s string) {
		for _, v := range append(utf16.Encode([]rune(s)), 0) {
			b = le.AppendUint16(b, v)
		}
	}
	wide(name)
	if text != "" {
		pad()
		le.PutUint16(b[2:], uint16(len(utf16.Encode([]rune(text)))+1))
		le.PutUint16(b[4:], 1)
		wide(text)
	} else if value != nil {
		pad()
		le.PutUint16(b[2:], uint16(len(value)))
		b = append(b, value...)
	}
	for _, c := range children {
		pad()
		b = append(b, c...)
	}
	le.PutUint16(b, uint16(len(b)))
	return b
}

// aVersion makes a version resource.
func aVersion() []byte {
	le := binary.LittleEndian
	fixed := make([]byte, 52)
	le.PutUint32(fixed, 0xfeef04bd)
	le.PutUint32(fixed[8:], 3<<16|14)
	le.PutUint32(fixed[12:], 15<<16|9)
	table := aBlock("040904b0", "", nil, aBlock("CompanyName", "Acme \u6d4b\u8bd5", nil), aBlock("FileVersion", "3.14 (beta)", nil), aBlock("ProductName", "Anvil\tsharp\x1b[31m", nil),
		aBlock("ProductVersion", "3", nil), aBlock("FileDescription", strings.Repeat("long ", 100), nil))
	return aBlock("VS_VERSION_INFO", "", fixed, aBlock("StringFileInfo", "", nil, table), aBlock("VarFileInfo", "", nil, aBlock("Translation", "", []byte{9, 4, 0xb0, 4})))
}

// withVersion makes a PE of one section with a version resource, followed by certificates.
func withVersion(version, certificates []byte) []byte {
	le := binary.LittleEndian
	const (
		ntAt, optionalSize = 0x80, 240
		sectionAt          = 0x400 // in the file and in memory
		dataAt             = sectionAt + 3*24 + 16
	)
	size := uint32(len(version)+(dataAt-sectionAt)+0x3ff) &^ 0x1ff
	b := make([]byte, sectionAt+size, sectionAt+int(size)+len(certificates))
	copy(b, "MZ")
	le.PutUint32(b[0x3c:], ntAt)
	nt := b[ntAt:]
	copy(nt, "PE\x00\x00")
	le.PutUint16(nt[4:], 0x8664)
	le.PutUint16(nt[6:], 1)
	le.PutUint16(nt[20:], optionalSize)
	le.PutUint16(nt[22:], 0x22)
	optional := nt[24:]
	le.PutUint16(optional, 0x20b)
	le.PutUint64(optional[24:], 0x140000000)
	le.PutUint32(optional[32:], 0x200)
	le.PutUint32(optional[36:], 0x200)
	le.PutUint32(optional[56:], sectionAt+size)
	le.PutUint32(optional[60:], sectionAt)
	le.PutUint32(optional[108:], 16)
	directory := func(i int, at, size uint32) {
		le.PutUint32(optional[112+8*i:], at)
		le.PutUint32(optional[116+8*i:], size)
	}
	section := optional[optionalSize:]
	copy(section, ".rsrc")
	for i, v := range []uint32{size, sectionAt, size, sectionAt} {
		le.PutUint32(section[8+4*i:], v)
	}
	le.PutUint32(section[36:], 0x40000040)
	if version != nil {
		directory(2, sectionAt, size)
		for level := range uint32(3) {
			folder := b[sectionAt+24*level:]
			le.PutUint16(folder[14:], 1)
			id, next := uint32(1), 24*(level+1)
			if level == 0 {
				id = versionType
			}
			if level < 2 {
				next |= 1 << 31
			}
			le.PutUint32(folder[16:], id)
			le.PutUint32(folder[20:], next)
		}
		le.PutUint32(b[sectionAt+72:], dataAt)
		le.PutUint32(b[sectionAt+76:], uint32(len(version)))
		copy(b[dataAt:], version)
	}
	if certificates != nil {
		directory(4, uint32(len(b)), uint32(len(certificates)))
		b = append(b, certificates...)
	}
	return b
}

// TestVersion reads a version resource.
func TestVersion(t *testing.T) {
	got := Of(open(t, withVersion(aVersion(), nil)))
	if got.FileVersion != "3.14 (beta)" || got.Company != "Acme \u6d4b\u8bd5" || got.Product != "Anvil sharp[31m" || got.ProductVersion != "3" || got.Signer != "" ||
		len([]rune(got.Description)) != maxText+1 {
		t.Errorf("%+v", got)
	}
	// Without texts the numbers count.
	le := binary.LittleEndian
	fixed := make([]byte, 52)
	le.PutUint32(fixed, 0xfeef04bd)
	le.PutUint32(fixed[8:], 1<<16|2)
	le.PutUint32(fixed[12:], 3<<16|4)
	if got := Of(open(t, withVersion(aBlock("VS_VERSION_INFO", "", fixed), nil))); got != (symbols.About{FileVersion: "1.2.3.4"}) {
		t.Errorf("%+v", got)
	}
	if got := Of(open(t, withVersion(nil, nil))); got != (symbols.About{}) {
		t.Errorf("%+v", got)
	}
}

// TestSigner reads whom a signature names, from a file that osslsigncode has signed.
func TestSigner(t *testing.T) {
	for _, tool := range []string{"osslsigncode", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("in.exe"), withVersion(aVersion(), nil), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/C=XX/O=Acme/CN=Acme Anvils", "-keyout", at("key.pem"), "-out", at("cert.pem")},
		{"osslsigncode", "sign", "-certs", at("cert.pem"), "-key", at("key.pem"), "-in", at("in.exe"), "-out", at("out.exe")},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	data, err := os.ReadFile(at("out.exe"))
	if err != nil {
		t.Fatal(err)
	}
	if got := Of(open(t, data)); got.Signer != "Acme Anvils" || got.ProductVersion != "3" {
		t.Errorf("%+v", got)
	}
	// Damaged in any byte of its table it names somebody or nobody, at once.
	im := open(t, data)
	table := im.Certificates(maxCertificates)
	where := bytes.LastIndex(data, table)
	begin := time.Now()
	for i := 0; i < len(table); i += 7 {
		bad := bytes.Clone(data)
		bad[where+i] ^= 0x84
		Of(open(t, bad))
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// TestHostile: what makes the library run without end, or deep, is not handed to it.
func TestHostile(t *testing.T) {
	le := binary.LittleEndian
	good := aVersion()
	begin := time.Now()
	for i := 0; i+2 <= len(good); i += 2 {
		for _, v := range []uint16{0, 1, 7, 8, 0x7fff, 0xffff} {
			bad := bytes.Clone(good)
			le.PutUint16(bad[i:], v)
			Of(open(t, withVersion(bad, nil)))
		}
	}
	nested := func(n int, head ...byte) []byte {
		b := append(make([]byte, 8), bytes.Repeat(head, n)...)
		le.PutUint32(b, uint32(len(b)))
		le.PutUint16(b[4:], 0x200)
		le.PutUint16(b[6:], 2)
		return b
	}
	for _, b := range [][]byte{nested(60_000, 0x30, 0x80), nested(50, 0x30, 0x80), nested(10, 0x30, 0x80), nested(1, 0x30, 0x84, 0x7f, 0xff, 0xff, 0xff), nested(1, 0x3f), nested(3), nested(4, 0x30, 0x84, 0xff, 0xff, 0xff, 0xff)} {
		if got := Of(open(t, withVersion(nil, b))); got != (symbols.About{}) {
			t.Errorf("%+v", got)
		}
	}
	if checkNesting(nested(60_000, 0x30, 0x80)) {
		t.Error("60,000 levels are taken")
	}
	// Objects of which the first ends right behind the head of the second, which reaches to the end of all: each level is read twice.
	twice := func(levels int) []byte {
		b := nested(levels, 0x30, 0x05, 0x30, 0x83, 0, 0, 0)
		for at := 8; at < len(b); at += 7 {
			left := len(b) - at - 7
			b[at+4], b[at+5], b[at+6] = byte(left>>16), byte(left>>8), byte(left)
		}
		return b
	}
	for name, b := range map[string][]byte{
		"read twice": twice(20),
		"an indefinite one that ends beyond its parent": append(nested(1, 0x30, 0x07), 0x30, 0x80, 0x04, 0x01, 1, 0x04, 0x02, 1, 2, 0, 0),
		"a length beyond the parent":                    append(nested(1, 0x30, 0x03), 0x04, 0x82, 0, 1, 1),
		"an end as the first part":                      append(nested(1, 0x30, 0x80), 0x30, 0x80, 0, 0, 0, 0),
	} {
		if checkNesting(b) {
			t.Errorf("%s is taken", name)
		}
	}
	if !checkNesting(append(nested(1, 0x30, 0x80), 0x30, 0x03, 0x04, 0x01, 1, 0, 0)) {
		t.Error("an object of definite length in one of indefinite length is not taken")
	}
	// Folders of resources that lead to themselves, and beyond the file.
	loop := withVersion(aVersion(), nil)
	le.PutUint32(loop[0x400+20:], 1<<31)
	Of(open(t, loop))
	le.PutUint32(loop[0x400+20:], 1<<31|0x7ffffff0)
	if got := Of(open(t, loop)); got != (symbols.About{}) {
		t.Errorf("%+v", got)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// TestRealFiles reads what the libraries of wine say of themselves.
func TestRealFiles(t *testing.T) {
	list, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/[a-c]*.dll")
	said := 0
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := Of(open(t, data)); got.Product == "Wine" && got.FileVersion != "" && got.Signer == "" {
			said++
		}
	}
	if len(list) == 0 {
		t.Skip("wine is not installed")
	}
	t.Logf("%d of %d say that they are wine's", said, len(list))
	if said == 0 {
		t.Error("none says that it is wine's")
	}
}

// TestVersionAgainstSaferwall holds what is read against the library, on files that it can read.
func TestVersionAgainstSaferwall(t *testing.T) {
	list, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/[a-c]*.dll")
	if len(list) == 0 {
		t.Skip("wine is not installed")
	}
	same := 0
	for _, path := range list[:min(len(list), 40)] {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := Of(open(t, data))
		f, err := pe.NewBytes(data, &pe.Options{DisableCertValidation: true, Logger: silent{}, OmitExportDirectory: true, OmitDebugDirectory: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Parse(); err != nil {
			continue
		}
		texts, _ := f.ParseVersionResources()
		want := symbols.About{FileVersion: texts["FileVersion"], ProductVersion: texts["ProductVersion"], Product: texts["ProductName"], Company: texts["CompanyName"], Description: texts["FileDescription"]}
		if want.FileVersion == "" {
			continue
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
		same++
	}
	if same == 0 {
		t.Error("the library reads none")
	}
}

// FuzzOf reads damaged version resources and certificates.
func FuzzOf(f *testing.F) {
	f.Add(aVersion(), []byte("\x20\x00\x00\x00\x00\x02\x02\x00\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x80\x00\x00\x00\x00"))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, version, certificates []byte) {
		if len(version) > 4096 || len(certificates) > 4096 {
			return
		}
		begin := time.Now()
		a := Of(open(t, withVersion(version, certificates)))
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		for _, text := range []string{a.FileVersion, a.ProductVersion, a.Product, a.Company, a.Description, a.Signer} {
			if strings.ContainsAny(text, "\n\r\x1b\x00") || len([]rune(text)) > maxText+1 {
				t.Errorf("%q", text)
			}
		}
	})
}
