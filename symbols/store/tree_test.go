package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/dwarf"
	"logparser/symbols/symtest"
)

// A built is a program of package dwarf's whose debug information is kept as
// distributions do: the stripped image, its debug file, and the alternate file
// that the debug file names by an absolute path.
type built struct{ full, image, debug, alt, id string }

var (
	gccBuilt   = built{"gcc5.so", "gcc5-stripped.so", "gcc5-dbgsym.debug", "gcc5-dwz.alt", gcc5ID}
	clangBuilt = built{"clang4.so", "clang4-dbgsym.so", "clang4-dbgsym.debug", "clang4-dwz.alt", "74b4c7f204fb9922fe531940bcf9c8db631c5d50"}
)

// module returns the module as a log on another machine recorded it.
func (b built) module(t testing.TB) *modules.Module {
	return &modules.Module{Path: "/opt/app/bin/app.so", Identity: modules.Identity{BuildID: rawID(t, b.id)}}
}

// buildID returns the path of the debug file in a debug folder.
func (b built) buildID() string { return ".build-id/" + b.id[:2] + "/" + b.id[2:] + ".debug" }

// dwz returns the path of the alternate file in a debug folder.
func (b built) dwz() string { return ".dwz/x86_64-linux-gnu/" + b.alt }

// differences looks every byte of the program up and returns how often the
// answer is not that of the file with everything in it.
func (b built) differences(t testing.TB, table symbols.Table) (all, different int) {
	t.Helper()
	file, err := openFile(dwarfData + b.full)
	if err != nil {
		t.Fatal(err)
	}
	full, err := dwarf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for rva := uint64(0); rva < 0x4000; rva++ {
		want, err := full.Lookup(rva)
		if err != nil || want.Kind == symbols.PLT {
			continue // a debug file by itself has no stubs
		}
		all++
		if got, err := table.Lookup(rva); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			different++
		}
	}
	if all < 500 {
		t.Errorf("%s: only %d addresses", b.full, all)
	}
	return all, different
}

// link makes a symbolic link, or skips the test where that may not be.
func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.FromSlash(target), path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// TestUnpackedTree finds debug files and what they name in folders that have
// unpacked packages, and no names where the files are of another build.
func TestUnpackedTree(t *testing.T) {
	const debug = "tree/usr/lib/debug/"
	b, other := gccBuilt, clangBuilt
	for _, tt := range []struct {
		name   string
		files  []string
		links  []string // "path>target"
		path   []string
		module string // where the image was recorded
		want   symbols.Status
		file   string
	}{
		{"an unpacked package", []string{debug + b.buildID() + "=" + b.debug, debug + b.dwz() + "=" + b.alt}, nil,
			[]string{"$/tree"}, "", symbols.Matched, debug + b.buildID()},
		{"with the image", []string{debug + b.buildID() + "=" + b.debug, debug + b.dwz() + "=" + b.alt, "tree/opt/app/bin/app.so=" + b.image}, nil,
			[]string{"$/tree"}, "", symbols.Matched, debug + b.buildID()},
		{"its debug folder", []string{debug + b.buildID() + "=" + b.debug, debug + b.dwz() + "=" + b.alt}, nil,
			[]string{"$/tree/usr/lib/debug"}, "", symbols.Matched, debug + b.buildID()},
		{"a copy of its debug folder", []string{"tree/" + b.buildID() + "=" + b.debug, "tree/" + b.dwz() + "=" + b.alt}, nil,
			[]string{"$/tree"}, "", symbols.Matched, "tree/" + b.buildID()},
		{"two trees", []string{"a/usr/lib/debug/" + b.buildID() + "=" + b.debug, debug + b.dwz() + "=" + b.alt}, nil,
			[]string{"$/a", "$/tree"}, "", symbols.Matched, "a/usr/lib/debug/" + b.buildID()},
		{"another build's alternate file first", []string{debug + b.buildID() + "=" + b.debug, debug + b.dwz() + "=" + b.alt,
			"a/usr/lib/debug/" + b.dwz() + "=" + other.alt}, nil, []string{"$/a", "$/tree"}, "", symbols.Matched, debug + b.buildID()},
		{"by the module's path", []string{debug + "opt/app/bin/app.so.debug=" + b.debug, debug + b.dwz() + "=" + b.alt}, nil,
			[]string{"$/tree"}, "", symbols.Matched, debug + "opt/app/bin/app.so.debug"},
		{"without a suffix", []string{debug + "opt/app/bin/app.so=" + b.debug, debug + b.dwz() + "=" + b.alt}, nil,
			[]string{"$/tree"}, "", symbols.Matched, debug + "opt/app/bin/app.so"},
		{"by the image's debuglink", []string{debug + "opt/app/bin/gcc5.debug=" + b.debug, debug + b.dwz() + "=" + b.alt,
			"tree/opt/app/bin/app.so=" + b.image}, nil, []string{"$/tree"}, "", symbols.Matched, debug + "opt/app/bin/gcc5.debug"},
		{"in .debug", []string{"tree/opt/app/bin/.debug/app.so.debug=" + b.debug, debug + b.dwz() + "=" + b.alt}, nil,
			[]string{"$/tree"}, "", symbols.Matched, "tree/opt/app/bin/.debug/app.so.debug"},
		{"recorded in the tree", []string{debug + "opt/app/bin/app.so.debug=" + b.debug, debug + b.dwz() + "=" + b.alt}, nil,
			[]string{"$/tree"}, "$/tree/opt/app/bin/app.so", symbols.Matched, debug + "opt/app/bin/app.so.debug"},
		{"the image alone", []string{"tree/opt/app/bin/app.so=" + b.full}, nil,
			[]string{"$/tree"}, "", symbols.Embedded, "tree/opt/app/bin/app.so"},
		{"a relative link", []string{debug + "opt/app.debug=" + b.debug, debug + b.dwz() + "=" + b.alt},
			[]string{debug + b.buildID() + ">../../opt/app.debug"}, []string{"$/tree"}, "", symbols.Matched, ""},
		{"an absolute link", []string{debug + "opt/app.debug=" + b.debug, "tree/alt=" + b.alt},
			[]string{debug + b.buildID() + ">/usr/lib/debug/opt/app.debug", debug + ".dwz>/dwz", "tree/dwz/x86_64-linux-gnu/" + b.alt + ">/alt"},
			[]string{"$/tree"}, "", symbols.Matched, debug + "opt/app.debug"},
		{"a link to the image", []string{"tree/usr/bin/app=" + b.full},
			[]string{debug + strings.TrimSuffix(b.buildID(), ".debug") + ">../../../../bin/app"}, []string{"$/tree"}, "", symbols.Embedded, "tree/usr/bin/app"},
		{"clang", []string{debug + other.buildID() + "=" + other.debug, debug + other.dwz() + "=" + other.alt, "tree/opt/app/bin/app.so=" + other.image}, nil,
			[]string{"$/tree"}, "", symbols.Matched, debug + other.buildID()},

		{"a link that leads out", []string{"out/app.debug=" + b.debug}, []string{debug + b.buildID() + ">../../../../../../out/app.debug"},
			[]string{"$/tree"}, "", symbols.NotFound, ""},
		{"another build's debug file", []string{debug + b.buildID() + "=" + other.debug}, nil,
			[]string{"$/tree"}, "", symbols.Mismatched, debug + b.buildID()},
		{"another build at the module's path", []string{"tree/opt/app/bin/app.so=" + other.full}, nil,
			[]string{"$/tree"}, "", symbols.Mismatched, "tree/opt/app/bin/app.so"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			of := b
			if tt.name == "clang" {
				of = other
			}
			for _, f := range tt.files {
				target, source, _ := strings.Cut(f, "=")
				write(t, dir, target, read(t, dwarfData+source))
			}
			for _, l := range tt.links {
				path, target, _ := strings.Cut(l, ">")
				link(t, target, filepath.Join(dir, filepath.FromSlash(path)))
			}
			mod := of.module(t)
			if tt.module != "" {
				mod.Path = filepath.FromSlash(strings.ReplaceAll(tt.module, "$", dir))
			}
			found, file, attempts := find(t, dir, mod, tt.path...)
			if found.Status != tt.want || tt.file != "" && file != "$/"+tt.file {
				t.Fatalf("%s, %q (%s), want %s, %q\n%s", found.Status, file, found.Reason, tt.want, tt.file, strings.Join(attempts, "\n"))
			}
			if found.Table == nil {
				return
			}
			if all, bad := of.differences(t, found.Table); bad > 0 {
				t.Errorf("%d of %d answers differ", bad, all)
			}
		})
	}
}

// TestConformanceTrees gives a debug file in an unpacked package by itself, and
// an image of the tree: what they name is found in the tree.
func TestConformanceTrees(t *testing.T) {
	for _, b := range []built{gccBuilt, clangBuilt} {
		dir := t.TempDir()
		const debug = "tree/usr/lib/debug/"
		plant(t, dir, debug+b.buildID()+"="+dwarfData+b.debug, debug+b.dwz()+"="+dwarfData+b.alt, "tree/usr/lib/app.so="+dwarfData+b.image)
		for _, c := range []struct {
			by, file string
			path     []string
		}{
			{"debug file", debug + b.buildID(), nil},
			{"image", "tree/usr/lib/app.so", []string{filepath.Join(dir, "tree")}},
		} {
			found, _, err := NewFinder(formats, c.path, "", false).FindFor(context.Background(), filepath.Join(dir, filepath.FromSlash(c.file)))
			if err != nil || found.Table == nil {
				t.Fatalf("%s: %s, %v", c.file, found.Status, err)
			}
			all, bad := b.differences(t, found.Table)
			if bad > 0 {
				t.Errorf("%s: %d of %d answers differ", c.file, bad, all)
			}
			score := symtest.Comparison{Names: symtest.Score{All: all, Same: all - bad}}
			score.Report(t, "unpacked package by "+c.by+" and its twin "+b.full+", every byte of code", symtest.Bars{})
			found.Table.Close()
		}
	}
}

// TestInTree holds that no path and no link leads out of a tree.
func TestInTree(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "out/secret:x", "tree/usr/lib/a:x", "tree/out/secret:x")
	in := func(name string) string { return filepath.Join(dir, "tree", filepath.FromSlash(name)) }
	for path, target := range map[string]string{
		"lib": "usr/lib", "abs": "/usr/lib/a", "up": "../out/secret", "up2": "usr/../../out/secret", "host": filepath.Join(dir, "out/secret"),
		"loop": "loop", "chain": "abs", "usr/lib/up": "../../lib/a", "folder": "..",
	} {
		link(t, target, in(path))
	}
	for name, want := range map[string]string{
		"/usr/lib/a": "usr/lib/a", "usr/lib/a": "usr/lib/a", "/lib/a": "usr/lib/a", "/abs": "usr/lib/a", "/chain": "usr/lib/a",
		"/usr/lib/up": "usr/lib/a", "/usr//lib/./a": "usr/lib/a", "/lib/up": "usr/lib/a",
		"/up": "", "/up2": "", "/host": "", "/loop": "", "/folder/out/secret": "", "/usr/../usr/lib/a": "", "/../out/secret": "",
		"/usr/lib": "", "/": "", "": "", "/usr/lib/a/b": "", "/usr/lib/\x00": "",
	} {
		if want != "" {
			want = in(want)
		}
		if got := inTree(filepath.Join(dir, "tree"), name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestTreePath holds where in a tree a module has its place.
func TestTreePath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of Linux")
	}
	for _, c := range []struct{ root, module, want string }{
		{"/home/x/tree", "/usr/bin/app", "/usr/bin/app"},
		{"/home/x/tree", "/home/x/tree/usr/bin/app", "/usr/bin/app"},
		{"/home/x/tree", "/home/x/treeless/app", "/home/x/treeless/app"},
		{"/home/x/tree", "/usr/../etc/app", ""},
		{"/home/x/tree", "//host/share/app", ""},
		{"/home/x/tree", `C:\app.exe`, ""},
		{"/home/x/tree", "app", ""},
		{"/home/x/tree", "[vdso]", ""},
		{"/home/x/tree", "", ""},
	} {
		if got, _ := treePath(c.root, c.module); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.module, c.root, got, c.want)
		}
	}
	for file, want := range map[string]string{
		"/usr/lib/debug/.build-id/aa/bb.debug": "", "/t/usr/lib/debug/x": "/t", "usr/lib/debug/x": ".", "/t/usr/lib/debug": "", "/t/x": "",
		"/t/usr/lib/debug/u/usr/lib/debug/x": "/t/usr/lib/debug/u",
	} {
		if got, _ := treeOf(file); got != want {
			t.Errorf("%s is in the tree %q, want %q", file, got, want)
		}
	}
	if id, _ := buildIDPath("\xab\xcd\xef"); id != "/usr/lib/debug/.build-id/ab/"+hex.EncodeToString([]byte("\xcd\xef")) {
		t.Error(id)
	}
}
