package attached

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/image"
	"logparser/symbols/unwind"
)

func openImage(t testing.TB, path string) *image.Image {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	im, err := image.Open(&symbols.File{Path: path, ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Skipf("%s: %v", path, err)
	}
	t.Cleanup(func() { im.FreeScratch() })
	return im
}

// withUnwind returns a container with the unwind rules of an image, and its module.
func withUnwind(t testing.TB, e *EncodedUnwind) ([]byte, *Module) {
	t.Helper()
	return containerOf(t, append((*Encoded)(nil).Parts(&Module{Name: "x"}, 0), e.Parts(0)...))
}

// TestUnwindRules: what is read back of an image's unwind rules is what was collected, at every byte of code.
func TestUnwindRules(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../dwarf/testdata/*", "../pdb/testdata/*", "/lib/x86_64-linux-gnu/libc.so.6"} {
		list, _ := filepath.Glob(pattern)
		files = append(files, list...)
	}
	images := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil || !image.Detect(data) {
			continue
		}
		im := openImage(t, path)
		e, err := EncodeUnwind(context.Background(), im, []CodePiece{{0x10, []byte("code")}, {0x2000, []byte{1, 2, 3}}})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if e == nil {
			continue // it has no rules
		}
		images++
		t.Run(filepath.Base(path), func(t *testing.T) {
			_, m := withUnwind(t, e)
			u, err := m.OpenUnwind()
			if err != nil {
				t.Fatal(err)
			}
			entries, at := 0, uint64(0)
			nothing := func(lo, hi uint64) {
				for _, rva := range []uint64{lo, (lo + hi) / 2, hi - 1} {
					if k, err := u.Rule(rva); lo < hi && (err != nil || k.Start != k.End) {
						t.Fatalf("%#x: %+v, %v", rva, k, err)
					}
				}
			}
			err = unwind.Collect(unwind.RulesOf(im), func(want *unwind.Entry) error {
				entries++
				nothing(at, want.Start)
				at = want.Start
				for _, s := range want.Spans {
					for _, rva := range []uint64{at, at + s.Length/2, at + s.Length - 1} {
						k, err := u.Rule(rva)
						if err != nil || k.Start != want.Start || k.End != want.End || k.Function != want.Function || k.Exact != s.Exact || k.Return != s.Return {
							t.Fatalf("%#x: %+v, %v; want %+v", rva, k, err, want)
						}
					}
					at += s.Length
				}
				return nil
			})
			nothing(at, im.Size)
			if err != nil || entries != e.Entries {
				t.Fatalf("%v, %d entries of %d", err, entries, e.Entries)
			}
			if b, err := u.Read(0x11, 3); err != nil || string(b) != "ode" {
				t.Errorf("code: %q, %v", b, err)
			}
			if b, err := u.Read(0x11, 4); err == nil {
				t.Errorf("code that was not kept: %q", b)
			}
			for rva := uint64(0); rva < im.Size; rva += 1 + im.Size/5000 {
				if _, _, want := im.Executable(im.Base + rva); u.Executable(rva) != want {
					t.Fatalf("%#x: executable %v", rva, !want)
				}
				index, start, ok := u.Section(rva)
				if s := im.SectionAt(im.Base + rva); s != nil && s.MemSize > 0 && (!ok || index != s.Index || start != s.Addr-im.Base) {
					t.Fatalf("%#x: section %d at %#x, %v; want %d at %#x", rva, index, start, ok, s.Index, s.Addr-im.Base)
				}
			}
			code := uint64(0)
			for _, r := range CodeOf(im) {
				code += r.Hi - r.Lo
			}
			t.Logf("%d entries, %d rules, %d bytes: %.1f %% of %d bytes of code", e.Entries, e.Rules, e.Size(), 100*float64(e.Size())/float64(code), code)
		})
	}
	if images < 5 {
		t.Errorf("%d images", images)
	}
}

// TestNoUnwindRules: an image without rules has none, and a container without them says so.
func TestNoUnwindRules(t *testing.T) {
	_, m := withUnwind(t, nil)
	if u, err := m.OpenUnwind(); err == nil || !strings.Contains(err.Error(), "no unwind rules") {
		t.Errorf("%v, %v", u, err)
	}
}

// TestManyRules: rules beyond what an image may have are not kept, and those that have a number keep it.
func TestManyRules(t *testing.T) {
	r := newRowRecords()
	rule := func(i int) unwind.KeptRow { return unwind.KeptRow(fmt.Sprintf("%04096d", i)) }
	const many = maxRuleRecords/4096 + 200
	known := 0
	for i := range many {
		n, err := r.number(rule(i))
		if err != nil {
			t.Fatal(err)
		}
		if n != noRule {
			known++
		}
	}
	if first, err := r.number(rule(0)); first != 1 || err != nil || known != r.n || known < many*9/10 || known == many {
		t.Errorf("the first rule is %d, %v; %d of %d are known, %d kept", first, err, known, many, r.n)
	}
}
