package store

import (
	"path/filepath"
	"strings"
	"testing"

	"logparser/modules"
)

// below reports whether a path lies below one of the folders.
func below(path string, folders ...string) bool {
	for _, dir := range folders {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// FuzzNames gives names out of files to all that makes paths of them. None
// may lead out of the folders that may be looked in.
func FuzzNames(f *testing.F) {
	for _, name := range append(hostilePaths("/a/secret"), "app.pdb", "a/b.dwo", `a\..\b`, "app.exe", "x.sym", "\x00", ". .", "nul", "a//b", "...pdb",
		"/usr/lib/debug/.dwz/x86_64-linux-gnu/app.debug", "../../../../.dwz/app", "/usr/lib/debug/../../x") {
		f.Add(name, "build-id-of-20-bytes")
	}
	f.Fuzz(func(t *testing.T, name, build string) {
		finder := NewFinder(nil, []string{"/user/folder"}, "", false)
		paths, err := finder.siblingPaths("/images/app", name)
		if err == nil && len(paths) == 0 {
			t.Errorf("%q: neither a path nor an error", name)
		}
		for _, path := range paths {
			if !below(path, "/images", systemDebugFolder, "/user/folder") {
				t.Errorf("%q leads to %q", name, path)
			}
			for _, part := range strings.Split(filepath.ToSlash(path), "/") {
				if part == ".." {
					t.Errorf("%q leads to %q", name, path)
				}
			}
		}
		id := modules.Identity{PDB: modules.GUID{1}, Age: 1, BuildID: build, Timestamp: 1, ImageSize: 1}
		base := modules.BaseName(name)
		keys := append(imageKeys(base, id), symbolKeys([]string{base, base + ".pdb", base + ".sym"}, id)...)
		for _, srv := range []*server{{place: place{kind: placeSymSrv}}, {place: place{kind: placeDebuginfod}}} {
			for _, r := range append(srv.imageRequests(base, id), srv.symbolRequests([]string{base, base + ".pdb", base + ".sym"}, id)...) {
				keys = append(keys, r.key)
				if strings.Contains("/"+r.path+"/", "/../") || strings.HasPrefix(r.path, "/") {
					t.Errorf("%q asks for %q", name, r.path)
				}
			}
		}
		for _, key := range keys {
			for _, k := range []string{key, twoTier(key), compressed(key)} {
				if path := filepath.Join("/store", filepath.FromSlash(k)); !below(path, "/store") || path == "/store" {
					t.Errorf("%q has the key %q", name, k)
				}
			}
		}
	})
}
