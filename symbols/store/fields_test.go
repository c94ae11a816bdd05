package store

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"logparser/modules"
	"logparser/symbols"
)

// watchSystem records the paths that the system is asked about.
func watchSystem(t *testing.T) func() []string {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	note := func(path string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, path)
	}
	stat, lstat, link, open := statPath, lstatPath, readLink, openPath
	statPath = func(path string) (fs.FileInfo, error) { note(path); return stat(path) }
	lstatPath = func(path string) (fs.FileInfo, error) { note(path); return lstat(path) }
	readLink = func(path string) (string, error) { note(path); return link(path) }
	openPath = func(path string) (*os.File, error) { note(path); return open(path) }
	t.Cleanup(func() { statPath, lstatPath, readLink, openPath = stat, lstat, link, open })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		list := asked
		asked = nil
		return list
	}
}

// hostilePaths must not be touched as they stand, whatever field holds them:
// paths of shares, of devices, and such that lead up to o/s beside the folder.
// The first are short enough for every field.
func hostilePaths(secret string) []string {
	return []string{`\\s\h\x`, "//s/h/x", `\\.\nul`, "../o/s", `..\o\s`, "/dev/nul", "..", ".", "NUL", "C:x",
		`\\server\share\secret`, `//server/share/secret`, `\\?\UNC\server\share\secret`, `\\.\pipe\secret`, `\/server/share/secret`,
		"/dev/zero", "/proc/self/mem", "file://server/secret", "../outside/secret", `..\outside\secret`, "./../outside/secret",
		filepath.Dir(secret) + "/../outside/secret", "outside/../../outside/secret"}
}

// named returns a file in which a name is replaced by one that is not longer.
// after is what follows the name in the file.
func named(t *testing.T, file, old, name, after string) []byte {
	t.Helper()
	data := read(t, file)
	at := bytes.Index(data, []byte(old+"\x00"+after))
	if at < 0 || len(name) > len(old) {
		t.Fatalf("%s has no name %s with room for %s", file, old, name)
	}
	copy(data[at:], name+strings.Repeat("\x00", len(old)-len(name)))
	return data
}

// lookUp opens an image and looks at all of it, so that every file it names is
// wanted.
func lookUp(t *testing.T, f *Finder, dir string, data []byte) {
	t.Helper()
	write(t, dir, "named.so", data)
	b, _, err := f.FindFor(context.Background(), filepath.Join(dir, "named.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Table.Close()
	for rva := uint64(0x800); rva < 0xC00; rva += 8 {
		b.Table.Lookup(rva)
	}
}

// TestPathRule puts hostile paths into every field of every format that holds
// one, and holds that the system is asked about nothing outside the folders
// that the user named, not even whether it is there.
func TestPathRule(t *testing.T) {
	asked := watchSystem(t)
	exe := recorded(t, clang, "logtest.exe")
	// find looks for the symbols of logtest.exe and returns no names.
	find := func(t *testing.T, f *Finder, mod *modules.Module) symbols.Binding {
		t.Helper()
		b := f.Find(context.Background(), mod)
		if b.Table != nil {
			b.Table.Close()
		}
		return b
	}
	fields := []struct {
		name string
		// path is the finder's search path below the folder, room how many
		// bytes the field has in the file that is changed; 0 for any number.
		path []string
		room int
		look func(t *testing.T, f *Finder, dir, hostile string)
	}{
		{"module path in a log", []string{"."}, 0, func(t *testing.T, f *Finder, dir, hostile string) {
			mod := *exe
			mod.Path = hostile
			if b := find(t, f, &mod); b.Status != symbols.NotFound {
				t.Errorf("%s, %s", b.Status, b.File)
			}
		}},
		{"module path's base name as a key", []string{"store"}, 0, func(t *testing.T, f *Finder, dir, hostile string) {
			mod := *exe
			mod.Path = `C:\build\` + hostile
			mod.Identity = modules.Identity{Timestamp: 1, ImageSize: 0x1000}
			write(t, dir, "store/index2.txt", nil)
			find(t, f, &mod)
		}},
		{"PDB path in an image", nil, 11, func(t *testing.T, f *Finder, dir, hostile string) {
			write(t, dir, "rsds.exe", named(t, clang+"logtest.exe", "logtest.pdb", hostile, ""))
			b, _, err := f.FindFor(context.Background(), filepath.Join(dir, "rsds.exe"))
			if err == nil && b.Table != nil {
				b.Table.Close()
				t.Errorf("%s, %s", b.Status, b.File)
			}
		}},
		{"PDB path in an image, as a key", []string{"store"}, 11, func(t *testing.T, f *Finder, dir, hostile string) {
			write(t, dir, "store/logtest.exe", named(t, clang+"logtest.exe", "logtest.pdb", hostile, ""))
			find(t, f, exe)
		}},
		{"debuglink", nil, 10, func(t *testing.T, f *Finder, dir, hostile string) {
			write(t, dir, "link.so", named(t, dwarfData+"gcc5-stripped.so", "gcc5.debug", hostile, ""))
			b, _, err := f.FindFor(context.Background(), filepath.Join(dir, "link.so"))
			if err == nil && b.Table != nil {
				b.Table.Close()
				if b.Status == symbols.Matched {
					t.Errorf("%s, %s", b.Status, b.File)
				}
			}
		}},
		{"altlink", nil, 12, func(t *testing.T, f *Finder, dir, hostile string) {
			lookUp(t, f, dir, named(t, dwarfData+"gcc5-dwz.so", "gcc5-dwz.alt", hostile, ""))
		}},
		{"dwo name, DWARF 5", nil, 19, func(t *testing.T, f *Finder, dir, hostile string) {
			lookUp(t, f, dir, named(t, dwarfData+"gcc5-split.so", "gcc5-split-main.dwo", hostile, ""))
		}},
		{"dwo name, GNU's of DWARF 4", nil, 19, func(t *testing.T, f *Finder, dir, hostile string) {
			lookUp(t, f, dir, named(t, dwarfData+"gcc4-split.so", "gcc4-split-main.dwo", hostile, ""))
		}},
		{"folder of the compiler", nil, 4, func(t *testing.T, f *Finder, dir, hostile string) {
			lookUp(t, f, dir, named(t, dwarfData+"gcc5-split.so", "/src", hostile, "gcc5-split-count.dwo"))
		}},
		{"package of dwo files", nil, 4, func(t *testing.T, f *Finder, dir, hostile string) {
			// Its name is the image's own, the names in it are not used.
			data := named(t, dwarfData+"gcc5-dwp.so", "/src", hostile, "")
			write(t, dir, "named.so.dwp", read(t, dwarfData+"gcc5-dwp.so.dwp"))
			lookUp(t, f, dir, data)
		}},
		{"file.ptr in a folder", []string{"store"}, 0, func(t *testing.T, f *Finder, dir, hostile string) {
			plant(t, dir, "store/logtest.pdb/"+clangKey+"/file.ptr:PATH:"+hostile)
			b := find(t, f, exe)
			if b.Status != symbols.NotFound || !strings.Contains(outcomes(b), "of which only the last element counts") {
				t.Errorf("%s\n%s", b.Status, outcomes(b))
			}
		}},
		{"file.ptr of a server", nil, 0, func(t *testing.T, f *Finder, dir, hostile string) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/file.ptr") {
					fmt.Fprint(w, "PATH:"+hostile)
					return
				}
				if strings.Contains(r.URL.Path, "..") || strings.Contains(r.URL.Path, `\`) || strings.HasPrefix(r.URL.Path, "//") {
					t.Errorf("asked for %s", r.URL.Path)
				}
				http.NotFound(w, r)
			}))
			defer server.Close()
			f.Path, f.Network = []string{server.URL}, true
			b := find(t, f, exe)
			if b.Status != symbols.NotFound || !strings.Contains(outcomes(b), "of which only the last element counts") {
				t.Errorf("%s\n%s", b.Status, outcomes(b))
			}
		}},
		{"names in a cabinet", []string{"store"}, 11, func(t *testing.T, f *Finder, dir, hostile string) {
			packed := filepath.Join(filepath.Dir(dir), "packed")
			if !isRegular(packed) {
				write(t, filepath.Dir(packed), "packed", cabinet("logtest.pdb", read(t, clang+"logtest.pdb")))
			}
			write(t, dir, "store/logtest.pdb/"+clangKey+"/logtest.pd_", named(t, packed, "logtest.pdb", hostile, ""))
			asked() // the test's own
			if b := find(t, f, exe); b.Status != symbols.Matched {
				t.Errorf("%s, %s", b.Status, b.Reason)
			}
		}},
		{"MODULE name and FILE paths of Breakpad's symbols", []string{"store"}, 0, func(t *testing.T, f *Finder, dir, hostile string) {
			plant(t, dir, "store/logtest.sym:MODULE windows x86_64 "+clangKey+" "+hostile+"\nFILE 0 "+hostile+"\nFUNC 1000 10 0 f\n1000 10 1 0\n")
			b := f.Find(context.Background(), exe)
			if b.Status != symbols.Matched {
				t.Fatalf("%s, %s", b.Status, b.Reason)
			}
			defer b.Table.Close()
			b.Table.Lookup(0x1000)
		}},
		{"source paths in a map", []string{"store"}, 0, func(t *testing.T, f *Finder, dir, hostile string) {
			plant(t, dir, "store/logtest.map:"+fmt.Sprintf(mapWithLines, hostile))
			b := f.Find(context.Background(), &modules.Module{Path: "logtest.exe"})
			if b.Status != symbols.Unverified {
				t.Fatalf("%s, %s", b.Status, b.Reason)
			}
			defer b.Table.Close()
			if sym, err := b.Table.Lookup(0x1004); err != nil || sym.Frames[0].Function != "main" {
				t.Errorf("%+v, %v", sym, err)
			}
		}},
		{"source paths in a PDB", []string{"store"}, 42, func(t *testing.T, f *Finder, dir, hostile string) {
			write(t, dir, "store/logtest.pdb", named(t, clang+"logtest.pdb", `/logtest/recorder/samples/logtest\main.cpp`, hostile, ""))
			b := f.Find(context.Background(), exe)
			if b.Status != symbols.Matched {
				t.Fatalf("%s, %s", b.Status, b.Reason)
			}
			defer b.Table.Close()
			for rva := uint64(0x1000); rva < 0x2000; rva += 16 {
				b.Table.Lookup(rva)
			}
		}},
		{"any name of a file beside another", []string{"."}, 0, func(t *testing.T, f *Finder, dir, hostile string) {
			write(t, dir, "app", nil)
			f.prepare()
			file, err := f.siblings(filepath.Join(dir, "app"))(hostile, anyFile)
			if err == nil {
				t.Errorf("opened %s", file.Path)
				file.Close()
			}
		}},
		{"the rule itself", nil, 0, func(t *testing.T, f *Finder, dir, hostile string) {
			if path, err := CheckRecorded(hostile); err == nil {
				t.Errorf("permitted as %s", path)
			}
		}},
	}
	for _, field := range fields {
		t.Run(field.name, func(t *testing.T) {
			top := t.TempDir()
			// What a path that leads up would find.
			plant(t, top, "outside/secret="+clang+"logtest.pdb", "o/s="+clang+"logtest.pdb", "o/gcc5-split-main.dwo="+dwarfData+"gcc5-split-main.dwo")
			for i, hostile := range hostilePaths(filepath.Join(top, "outside", "secret")) {
				if field.room > 0 && len(hostile) > field.room {
					hostile = hostile[:field.room]
				}
				if checkSpelling(hostile, runtime.GOOS) == nil {
					continue // what is left of it is a path like any other
				}
				for _, allowed := range []bool{true, false}[:1+(i+1)%2] {
					dir := filepath.Join(top, fmt.Sprint("in", i, allowed))
					if err := os.MkdirAll(dir, 0o777); err != nil {
						t.Fatal(err)
					}
					var path []string
					for _, p := range field.path {
						path = append(path, filepath.Join(dir, p))
					}
					f := NewFinder(formats, path, "", allowed)
					f.Cache = filepath.Join(dir, "cache")
					asked()
					field.look(t, f, dir, hostile)
					for _, path := range outside(asked(), dir) {
						if path == "/src" && allowed || below(dir, path) {
							continue // the folder of the compiler, where that is as it was; those on the way
						}
						t.Errorf("%q: the system was asked about %q", hostile, path)
					}
				}
			}
		})
	}
}

// mapWithLines is a map of link.exe's with a source path to be filled in.
const mapWithLines = ` logtest

 Timestamp is 00000000 (Thu Jan  1 00:00:00 1970)

 Preferred load address is 00400000

 Start         Length     Name                   Class
 0001:00000000 00001000H .text                   CODE

  Address         Publics by Value              Rva+Base     Lib:Object

 0001:00000000       _main                      00401000 f   main.obj

Line numbers for .\Release\main.obj(%s) segment .text

    10 0001:00000000    11 0001:00000004
`
