package symtab

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logparser/symbols"
	"logparser/symbols/demangle"
)

// TestObjects holds the data that an image names against what Go's own reader finds.
func TestObjects(t *testing.T) {
	const path = "../../testdata/logtest/linux-gcc-O2/logtest"
	im := openImage(t, path)
	defer im.Close()
	list, err := Objects(im)
	if err != nil {
		t.Fatal(err)
	}
	_, all := openELF(t, path)
	names := map[uint64][]string{}
	for _, s := range all {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Size > 0 {
			_, name := demangle.Forms(s.Name)
			names[s.Value-im.Base] = append(names[s.Value-im.Base], name)
		}
	}
	if len(list) != len(names) || len(list) == 0 {
		t.Errorf("%d objects, want %d", len(list), len(names))
	}
	for i, o := range list {
		if i > 0 && o.RVA <= list[i-1].RVA {
			t.Errorf("%+v after %+v", o, list[i-1])
		}
		if !slices.Contains(names[o.RVA], o.Name) {
			t.Errorf("%+v, want %q", o, names[o.RVA])
		}
	}
}

// TestClones renames a function of an image as the compiler names those that it made of others.
func TestClones(t *testing.T) {
	const path = "../../testdata/logtest/linux-gcc-O2/logtest"
	f, all := openELF(t, path)
	i := slices.IndexFunc(all, func(s elf.Symbol) bool {
		return s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC && len(s.Name) > 16
	})
	if i < 0 {
		t.Fatal("no function with a long name")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := data[f.Section(".strtab").Offset:]
	at := bytes.Index(table, append([]byte(all[i].Name), 0))
	for _, c := range []struct {
		end string
		is  bool
	}{{"", false}, {".isra.0", true}, {".part.12", true}, {".constprop.3", true}, {".cold", false}} {
		copy(table[at+len(all[i].Name)-len(c.end):], c.end)
		name := filepath.Join(t.TempDir(), "renamed")
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		im := openImage(t, name)
		got, err := Clones(im)
		if err != nil || got[all[i].Value-im.Base] != c.is || len(got) > 1 {
			t.Errorf("%q: %v, %v", c.end, got, err)
		}
		im.Close()
	}
}

// TestCompleteBatch asks for several addresses at once, and for all procedures: the image fills the
// debug file's gaps there, too.
func TestCompleteBatch(t *testing.T) {
	const path = "../../testdata/logtest/linux-gcc-O2/logtest"
	im := openImage(t, path)
	own, err := New(im)
	if err != nil {
		t.Fatal(err)
	}
	var rvas []uint64
	var known []string
	if err := own.Procedures(func(rva uint64, name string) bool {
		rvas, known = append(rvas, rva), append(known, name)
		return true
	}); err != nil || len(rvas) < 3 {
		t.Fatalf("%d procedures: %v", len(rvas), err)
	}
	file := &debugFile{procedures: []symbols.Symbol{procedureAt("of the file", rvas[1], 1)}}
	c := Complete(file, openImage(t, path))
	defer c.Close()
	asked := append([]uint64{1 << 40}, rvas...)
	got := make([]string, len(asked))
	if err := symbols.LookupAll(t.Context(), c, asked, func(i int, sym symbols.Symbol, err error) {
		if one, oneErr := c.Lookup(asked[i]); (err == nil) != (oneErr == nil) || one.Start != sym.Start {
			t.Errorf("%x: %+v, %v; alone %+v, %v", asked[i], sym, err, one, oneErr)
		}
		if err == nil {
			got[i] = sym.Frames[0].Function
		}
	}); err != nil {
		t.Fatal(err)
	}
	if got[0] != "" || got[1] == "" || got[2] != "of the file" {
		t.Errorf("names %q", got[:3])
	}
	seen := map[uint64]string{}
	if err := c.Procedures(func(rva uint64, name string) bool {
		if before, ok := seen[rva]; ok && before == "of the file" {
			t.Errorf("%x: %s, and %s", rva, before, name)
		}
		seen[rva] = name
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if seen[rvas[1]] != "of the file" || len(seen) < len(rvas)-1 {
		t.Errorf("%d procedures of %d, %q", len(seen), len(rvas), seen[rvas[1]])
	}
	n := 0
	if err := c.Procedures(func(uint64, string) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("%d procedures after the third was enough: %v", n, err)
	}
}
