package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/breakpad"
	"logparser/symbols/dwarf"
	"logparser/symbols/mapfile"
	"logparser/symbols/pdb"
	"logparser/symbols/symtab"
)

var formats = []symbols.Format{pdb.Format, dwarf.Format, breakpad.Format, symtab.Format, mapfile.Format}

const (
	logs      = "../../testdata/logtest/"
	clang     = logs + "windows-x64-clang/"
	clangCL   = logs + "windows-x64-clangcl/"
	mingw     = logs + "windows-x64-mingw/"
	dwarfData = "../dwarf/testdata/"
	linux     = logs + "linux-gcc-O2/"
)

// clangKey and clangCLKey are the keys of the two builds' logtest.pdb.
const (
	clangKey   = "8EAC50EB47A137D14C4C44205044422E1"
	clangCLKey = "117D8B4D71EB55114C4C44205044422E1"
)

// recorded returns a module as a log's modules file has it.
func recorded(t testing.TB, folder, name string) *modules.Module {
	t.Helper()
	f, err := modules.ReadFile(folder+"LogDetails.bin", modules.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Modules {
		if f.Modules[i].Name() == name {
			return &f.Modules[i]
		}
	}
	t.Fatalf("%s has no module %s", folder, name)
	return nil
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// plant writes files: "target=source", or "target:text".
func plant(t testing.TB, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		target, source, copied := strings.Cut(f, "=")
		var data []byte
		if copied {
			data = read(t, source)
		} else {
			var text string
			target, text, _ = strings.Cut(f, ":")
			data = []byte(text)
		}
		write(t, dir, target, data)
	}
}

// write writes one file below dir.
func write(t testing.TB, dir, target string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(target))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// find looks for a module's symbols in folders below dir, which is written as
// $ in what is answered.
func find(t testing.TB, dir string, mod *modules.Module, path ...string) (b symbols.Binding, file string, attempts []string) {
	t.Helper()
	for i := range path {
		path[i] = strings.ReplaceAll(path[i], "$", dir)
	}
	return run(t, dir, NewFinder(formats, path, "", false), mod)
}

func run(t testing.TB, dir string, f *Finder, mod *modules.Module) (b symbols.Binding, file string, attempts []string) {
	t.Helper()
	b = f.Find(context.Background(), mod)
	if b.Table != nil {
		t.Cleanup(func() { b.Table.Close() })
	}
	short := func(s string) string { return filepath.ToSlash(strings.ReplaceAll(s, dir, "$")) }
	for _, a := range b.Attempts {
		attempts = append(attempts, short(a.Path)+": "+short(a.Outcome.String()))
	}
	return b, short(b.File), attempts
}

func TestStores(t *testing.T) {
	exe, so := recorded(t, clang, "logtest.exe"), recorded(t, linux, "logtest")
	build := hex.EncodeToString([]byte(so.Identity.BuildID))
	pe := *exe
	pe.Identity = modules.Identity{Timestamp: 0x6B018F19, ImageSize: 0x26000}
	mingwExe := recorded(t, mingw, "logtest.exe")
	stamp := fmt.Sprintf("%08X%x", mingwExe.Identity.Timestamp, mingwExe.Size)
	byStamp := *mingwExe
	byStamp.Identity = modules.Identity{Timestamp: mingwExe.Identity.Timestamp, ImageSize: uint32(mingwExe.Size)}
	sym := "MODULE windows x86_64 " + clangKey + " logtest.pdb\nFUNC 1000 10 0 f\n"
	var guid modules.GUID
	copy(guid[:], so.Identity.BuildID)
	elfID := guid.Key() + "0"
	elfSym := "MODULE Linux x86_64 " + elfID + " logtest\nFUNC 1000 10 0 f\n"

	tests := []struct {
		name  string
		mod   *modules.Module
		files []string
		path  []string
		want  symbols.Status
		file  string
	}{
		{"flat", exe, []string{"s/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/s"}, symbols.Matched, "$/s/logtest.pdb"},
		{"the file itself", exe, []string{"s/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/s/logtest.pdb"}, symbols.Matched, "$/s/logtest.pdb"},
		{"one tier", exe, []string{"s/logtest.pdb/" + clangKey + "/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/s"},
			symbols.Matched, "$/s/logtest.pdb/" + clangKey + "/logtest.pdb"},
		{"two tiers", exe, []string{"s/index2.txt:", "s/lo/logtest.pdb/" + clangKey + "/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/s"},
			symbols.Matched, "$/s/lo/logtest.pdb/" + clangKey + "/logtest.pdb"},
		{"any case", exe, []string{"s/LogTest.pdb/" + strings.ToLower(clangKey) + "/LOGTEST.PDB=" + clang + "logtest.pdb"}, []string{"$/s"},
			symbols.Matched, "$/s/LogTest.pdb/" + strings.ToLower(clangKey) + "/LOGTEST.PDB"},
		{"two of one name", exe, []string{
			"s/logtest.pdb/" + clangCLKey + "/logtest.pdb=" + clangCL + "logtest.pdb",
			"s/logtest.pdb/" + clangKey + "/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/s"},
			symbols.Matched, "$/s/logtest.pdb/" + clangKey + "/logtest.pdb"},
		{"stale beside the store", exe, []string{"s/logtest.pdb=" + clangCL + "logtest.pdb",
			"t/logtest.pdb/" + clangKey + "/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/s", "$/t"},
			symbols.Matched, "$/t/logtest.pdb/" + clangKey + "/logtest.pdb"},
		{"stale under the right key", exe, []string{"s/logtest.pdb/" + clangKey + "/logtest.pdb=" + clangCL + "logtest.pdb"}, []string{"$/s"},
			symbols.Mismatched, "$/s/logtest.pdb/" + clangKey + "/logtest.pdb"},
		{"srv*", exe, []string{"s/logtest.pdb/" + clangKey + "/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/none;srv*$/empty*$/s"},
			symbols.Matched, "$/s/logtest.pdb/" + clangKey + "/logtest.pdb"},
		{"folder with a semicolon", exe, []string{"a;b/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/a;b"}, symbols.Matched, "$/a;b/logtest.pdb"},
		{"Breakpad", exe, []string{"s/logtest.pdb/" + clangKey + "/logtest.sym:" + sym}, []string{"$/s"},
			symbols.Matched, "$/s/logtest.pdb/" + clangKey + "/logtest.sym"},
		{"Breakpad flat, of another build", exe, []string{"s/logtest.sym:" + strings.Replace(sym, clangKey, clangCLKey, 1)}, []string{"$/s"},
			symbols.Mismatched, "$/s/logtest.sym"},
		{"Breakpad of an ELF", so, []string{"s/logtest/" + elfID + "/logtest.sym:" + elfSym}, []string{"$/s"},
			symbols.Matched, "$/s/logtest/" + elfID + "/logtest.sym"},
		{"Breakpad of another ELF", so, []string{"s/logtest.sym:" + strings.Replace(elfSym, elfID, "1"+elfID[1:], 1)}, []string{"$/s"},
			symbols.Mismatched, "$/s/logtest.sym"},
		{"build-id", so, []string{"s/.build-id/" + build[:2] + "/" + build[2:] + ".debug=" + linux + "logtest"}, []string{"$/s"},
			symbols.Matched, "$/s/.build-id/" + build[:2] + "/" + build[2:] + ".debug"},
		{"build-id, a file of another build", so, []string{"s/.build-id/" + build[:2] + "/" + build[2:] + ".debug=" + linux + "liblogtest_shapes.so"}, []string{"$/s"},
			symbols.Mismatched, "$/s/.build-id/" + build[:2] + "/" + build[2:] + ".debug"},
		{"image by timestamp and size", &byStamp, []string{"s/logtest.exe/" + stamp + "/logtest.exe=" + mingw + "logtest.exe"}, []string{"$/s"},
			symbols.Embedded, "$/s/logtest.exe/" + stamp + "/logtest.exe"},
		{"image and its PDB by timestamp", &pe, []string{
			"s/logtest.exe/6B018F1926000/logtest.exe=" + clang + "logtest.exe",
			"s/logtest.pdb/" + clangKey + "/logtest.pdb=" + clang + "logtest.pdb"}, []string{"$/s"},
			symbols.Matched, "$/s/logtest.pdb/" + clangKey + "/logtest.pdb"},
		{"file.ptr to a file of the store", exe, []string{"s/logtest.pdb/" + clangKey + `/file.ptr:PATH:\\server\share\renamed.pdb`,
			"s/logtest.pdb/" + clangKey + "/renamed.pdb=" + clang + "logtest.pdb"}, []string{"$/s"},
			symbols.Matched, "$/s/logtest.pdb/" + clangKey + "/renamed.pdb"},
		{"file.ptr to a flat file", exe, []string{"s/logtest.pdb/" + clangKey + "/file.ptr:PATH:/elsewhere/renamed.pdb",
			"t/renamed.pdb=" + clang + "logtest.pdb"}, []string{"$/s", "$/t"}, symbols.Matched, "$/t/renamed.pdb"},
		{"nothing", exe, nil, []string{"$/none"}, symbols.NotFound, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, tt.files...)
			b, file, attempts := find(t, dir, tt.mod, tt.path...)
			if b.Status != tt.want || file != tt.file {
				t.Errorf("%s, %q (%s), want %s, %q\n%s", b.Status, file, b.Reason, tt.want, tt.file, strings.Join(attempts, "\n"))
			}
			if (b.Table != nil) != (tt.want != symbols.Mismatched && tt.want != symbols.NotFound) {
				t.Errorf("status %s, table %v", b.Status, b.Table)
			}
			if tt.want == symbols.Mismatched && !strings.Contains(b.Reason.String(), "recorded is") {
				t.Errorf("the reason does not name both builds: %s", b.Reason)
			}
		})
	}
}

// TestAttempts holds that every place is listed, in order.
func TestAttempts(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "stale/logtest.pdb="+clangCL+"logtest.pdb", "empty/readme:", "broken/logtest.pdb:no PDB",
		"ptr/logtest.pdb/"+clangKey+`/file.ptr:PATH:\\server\share\logtest.pdb`)
	mod := *recorded(t, clang, "logtest.exe")
	_, _, got := find(t, dir, &mod, "$/none", "$/stale", "cache*$/empty;ftp://host/path;https://user:secret@symbols.example", "$/broken", "$/ptr",
		"debuginfod:https://debug.example")
	const names = "logtest.pdb, logtest.exe.pdb, logtest.exe.debug, logtest.debug, logtest.exe.dbg, logtest.exe.sym, logtest.sym, logtest.exe.map, logtest.map"
	const scheme = "ftp://host/path: not a symbol server of the kind that is known here: ftp"
	want := []string{
		"$/none: cannot be read: no such file or directory",
		"$/stale: no logtest.exe, flat or in a store's folders",
		"$/empty: no logtest.exe, flat or in a store's folders",
		scheme,
		"$/broken: no logtest.exe, flat or in a store's folders",
		"$/ptr: no logtest.exe, flat or in a store's folders",
		`C:\logtest\logtest.exe: the recorded module path, not looked at: recorded paths are switched off`,
		"$/none: cannot be read: no such file or directory",
		"$/stale/logtest.pdb: PDB 7.00 of another build: it is 117D8B4D-71EB-5511-4C4C-44205044422E age 1, recorded is 8EAC50EB-47A1-37D1-4C4C-44205044422E age 1",
		"$/empty: no " + names + ", flat or in a store's folders",
		scheme,
		"$/broken/logtest.pdb: not a symbol file or image that is known here",
		"$/ptr/logtest.pdb/" + clangKey + `/file.ptr: names "\\\\server\\share\\logtest.pdb", of which only the last element counts`,
		`C:\logtest\logtest.pdb: beside the recorded module, not looked at: recorded paths are switched off`,
		`C:\logtest\logtest.exe.pdb: beside the recorded module, not looked at: recorded paths are switched off`,
		"https://symbols.example: a symbol server, not asked: the network is switched off",
		"debuginfod:https://debug.example: a symbol server, not asked: the network is switched off",
	}
	if runtime.GOOS == "windows" {
		t.Skip("the words of the system differ")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// unnamed cuts the build-id out of an ELF file, so that only checksums are
// left.
func unnamed(t *testing.T, data []byte) []byte {
	t.Helper()
	i := bytes.Index(data, []byte("\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00"))
	if i < 0 {
		t.Fatal("no build-id")
	}
	data = bytes.Clone(data)
	copy(data[i+12:], "XXX")
	return data
}

func TestDebugLink(t *testing.T) {
	image, debug := unnamed(t, read(t, dwarfData+"gcc5-stripped.so")), unnamed(t, read(t, dwarfData+"gcc5.debug"))
	const link = "gcc5.debug\x00\x00"
	i := bytes.Index(image, []byte(link))
	binary.LittleEndian.PutUint32(image[i+len(link):], crc32.ChecksumIEEE(debug))
	stale := append(bytes.Clone(debug), 0)

	tests := []struct {
		name  string
		files map[string][]byte
		path  string
		want  symbols.Status
		file  string
	}{
		{"beside the image", map[string][]byte{"gcc5.debug": debug}, "", symbols.Matched, "gcc5.debug"},
		{"in .debug", map[string][]byte{".debug/gcc5.debug": debug}, "", symbols.Matched, ".debug/gcc5.debug"},
		{"in the user's folder", map[string][]byte{"s/gcc5.debug": debug}, "s", symbols.Matched, "s/gcc5.debug"},
		{"stale beside it, right in .debug", map[string][]byte{"gcc5.debug": stale, ".debug/gcc5.debug": debug}, "", symbols.Matched, ".debug/gcc5.debug"},
		{"stale in the user's folder, right beside it", map[string][]byte{"s/gcc5.debug": stale, "gcc5.debug": debug}, "s", symbols.Matched, "gcc5.debug"},
		{"stale", map[string][]byte{"gcc5.debug": stale}, "", symbols.Embedded, "app.so"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "app.so", image)
			for name, data := range tt.files {
				write(t, dir, name, data)
			}
			f := NewFinder(formats, nil, "", false)
			if tt.path != "" {
				f.Path = []string{filepath.Join(dir, tt.path)}
			}
			b, _, err := f.FindFor(context.Background(), filepath.Join(dir, "app.so"))
			if err != nil {
				t.Fatal(err)
			}
			defer b.Table.Close()
			status := b.Status
			if status == symbols.ExportsOnly {
				status = symbols.Embedded
			}
			if status != tt.want || b.File != filepath.Join(dir, filepath.FromSlash(tt.file)) {
				t.Errorf("%s, %s (%s), want %s, %s\n%v", b.Status, b.File, b.Reason, tt.want, tt.file, b.Attempts)
			}
			if tt.want == symbols.Embedded && !strings.Contains(b.Reason.String(), "recorded is an image that names") {
				t.Errorf("the stale file is not told of: %s", b.Reason)
			}
		})
	}
}

// watch records what a finder opens; outside lists what lies not below dir.
func watch(f *Finder) (opened *[]string) {
	opened = new([]string)
	f.open = func(path string) (*symbols.File, error) {
		*opened = append(*opened, path)
		return openFile(path)
	}
	return opened
}

func outside(opened []string, dir string) (list []string) {
	for _, path := range opened {
		if rel, err := filepath.Rel(dir, path); (err != nil || !filepath.IsLocal(rel)) && !strings.HasPrefix(path, systemDebugFolder+"/") {
			list = append(list, path)
		}
	}
	return list
}

// TestRecordedPaths holds that the switch for recorded paths is obeyed, and
// with it that what the tests of the rule watch is what is opened.
func TestRecordedPaths(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plant(t, dir, "build/logtest.exe="+clang+"logtest.exe", "build/logtest.pdb="+clang+"logtest.pdb")
	for _, allowed := range []bool{true, false} {
		f := NewFinder(formats, nil, "", allowed)
		opened := watch(f)
		mod := *recorded(t, clang, "logtest.exe")
		mod.Path = filepath.Join(dir, "build", "logtest.exe")
		b, _, attempts := run(t, dir, f, &mod)
		want := symbols.NotFound
		if allowed {
			want = symbols.Matched
		}
		if b.Status != want || (len(outside(*opened, t.TempDir())) > 0) != allowed {
			t.Errorf("recorded paths %v: %s, opened %q\n%s", allowed, b.Status, *opened, strings.Join(attempts, "\n"))
		}
	}
}

// anyFile is what fits whoever asks for a sibling.
func anyFile(*symbols.File) bool { return true }

// TestSiblings holds that what the rule permits is found.
func TestSiblings(t *testing.T) {
	top := t.TempDir()
	plant(t, top, "bin/app:x", "bin/a.dwo:x", "bin/obj/b.dwo:x", "bin/.debug/c.debug:x", "user/d.alt:x", "abs/e.alt:x", "up.dwo:x")
	in := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	tests := []struct {
		name    string
		allowed bool
		want    string
	}{
		{"a.dwo", false, "bin/a.dwo"},
		{"obj/b.dwo", false, "bin/obj/b.dwo"},
		{`obj\b.dwo`, false, "bin/obj/b.dwo"},
		{"elsewhere/a.dwo", false, "bin/a.dwo"},
		{"c.debug", false, "bin/.debug/c.debug"},
		{"d.alt", false, "user/d.alt"},
		{in("abs/e.alt"), true, "abs/e.alt"},
		{in("abs/e.alt"), false, ""},
		{in("abs/a.dwo"), false, "bin/a.dwo"},
		{`\\server\share\a.dwo`, true, "bin/a.dwo"},
		{"../up.dwo", true, ""},
		{"obj/../../up.dwo", true, ""},
		{"../a.dwo", true, "bin/a.dwo"},
		{"obj/../obj/b.dwo", true, ""},
		{in("bin/../up.dwo"), true, "up.dwo"}, // cleaned by in
		{top + "/bin/../up.dwo", true, ""},
		{"", true, ""},
		{".", true, ""},
		{"obj", true, ""},
	}
	for _, tt := range tests {
		f := NewFinder(nil, []string{in("user")}, "", tt.allowed)
		f.prepare()
		file, err := f.siblings(in("bin/app"))(tt.name, anyFile)
		got := ""
		if err == nil {
			got = file.Path
			file.Close()
		}
		want := ""
		if tt.want != "" {
			want = in(tt.want)
		}
		if got != want {
			t.Errorf("%q, absolute ones allowed %v: got %q, %v; want %q", tt.name, tt.allowed, got, err, want)
		}
	}
}
