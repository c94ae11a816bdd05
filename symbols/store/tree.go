package store

import (
	"encoding/hex"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// A tree is a folder with files laid out as below the root of a Linux system:
// an unpacked package of debug files, or the root of another machine. A path
// out of a file may be looked for in it as if the folder were the root: the
// path stays in the folder whatever its elements and symbolic links are.

// inTree returns the path of the regular file that a slashed path names in the
// tree below a folder, or "". Absolute links count from the folder on; what
// leads out of it is not there.
func inTree(root, name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	var done []string
	at := func(more ...string) string {
		return filepath.Join(append(append([]string{root}, done...), more...)...)
	}
	links := 0
	for len(parts) > 0 {
		part := parts[0]
		parts = parts[1:]
		switch {
		case part == ".":
			continue
		case part == "..": // only out of a link's target
			if links == 0 || len(done) == 0 {
				return ""
			}
			done = done[:len(done)-1]
			continue
		case !treeName(part):
			return ""
		}
		info, err := lstatPath(at(part))
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeIrregular != 0 {
			return "" // a junction of Windows, or whatever else leads elsewhere
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, part)
			continue
		}
		target, err := readLink(at(part))
		if links++; err != nil || links > maxLinks {
			return ""
		}
		target = filepath.ToSlash(target)
		if strings.HasPrefix(target, "/") {
			done = done[:0]
		}
		parts = append(strings.FieldsFunc(target, func(r rune) bool { return r == '/' }), parts...)
	}
	info, err := lstatPath(at())
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return at()
}

// treeName reports whether a name can be an element of a path in a tree.
func treeName(name string) bool {
	if runtime.GOOS == "windows" {
		return plainName(name)
	}
	return name != "" && !strings.ContainsRune(name, 0)
}

// absoluteInTree returns an absolute path of Linux without "..".
func absoluteInTree(name string) (slashed string, ok bool) {
	if !strings.HasPrefix(name, "/") || strings.HasPrefix(name, "//") || strings.ContainsRune(name, 0) {
		return "", false
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", false
		}
	}
	return path.Clean(name), true
}

// treePath returns where in the tree below a folder a module has its place:
// where it lies, if that is in the folder, otherwise where it was recorded.
func treePath(root, module string) (slashed string, ok bool) {
	if filepath.IsAbs(module) {
		if abs, err := filepath.Abs(root); err == nil {
			if rel, err := filepath.Rel(abs, module); err == nil && rel != "." && filepath.IsLocal(rel) {
				return "/" + filepath.ToSlash(rel), true
			}
		}
	}
	return absoluteInTree(module)
}

// treeOf returns the tree whose debug folder a file lies in.
func treeOf(file string) (root string, ok bool) {
	slashed := filepath.ToSlash(filepath.Clean(file))
	i := strings.LastIndex(slashed, systemDebugFolder+"/")
	switch {
	case i > 0:
		return filepath.FromSlash(slashed[:i]), true
	case i < 0 && strings.HasPrefix(slashed, systemDebugFolder[1:]+"/"):
		return ".", true
	}
	return "", false // the system's own has a rule of its own
}

// buildIDPath returns where a debug folder has the link to an image with a
// build-id; that to its debug file has ".debug" behind it.
func buildIDPath(id string) (slashed string, ok bool) {
	digits := hex.EncodeToString([]byte(id))
	if len(digits) <= 2 {
		return "", false
	}
	return path.Join(systemDebugFolder, ".build-id", digits[:2], digits[2:]), true
}

// treeImages returns the places that a module's image may have in a tree.
func (s *search) treeImages(root string) (paths []string) {
	if at, ok := treePath(root, s.module.Path); ok {
		paths = append(paths, at)
	}
	if at, ok := buildIDPath(s.expected.BuildID); ok {
		paths = append(paths, at)
	}
	return paths
}

// treeSymbols returns the places that a module's symbol files, which may have
// these base names, may have in a tree.
func (s *search) treeSymbols(names []string) func(root string) []string {
	return func(root string) (paths []string) {
		if at, ok := buildIDPath(s.expected.BuildID); ok {
			paths = append(paths, at+".debug")
		}
		at, ok := treePath(root, s.module.Path)
		if !ok {
			return paths
		}
		dir, image := path.Dir(at), path.Base(at)
		for _, name := range names {
			paths = append(paths, path.Join(systemDebugFolder, dir, name), path.Join(dir, ".debug", name), path.Join(dir, name))
		}
		return append(paths, path.Join(systemDebugFolder, at), path.Join(dir, ".debug", image))
	}
}

// treeSiblings returns the files of the given name in the trees that a file at
// path may belong to: the user's folders, and the one whose debug folder the
// file lies in. The user may also have named a debug folder itself.
func (f *Finder) treeSiblings(file, name string) (paths []string) {
	name = strings.ReplaceAll(name, `\`, "/")
	var places []string
	if at, ok := absoluteInTree(name); ok {
		places = append(places, at)
		if rest, ok := strings.CutPrefix(at, systemDebugFolder+"/"); ok {
			places = append(places, rest)
		}
	} else if local := filepath.FromSlash(name); filepath.IsLocal(local) && !hasParent(local) {
		places = append(places, path.Join(systemDebugFolder, name))
	}
	roots := f.userFolders()
	if root, ok := treeOf(file); ok {
		roots = append(roots, root)
	}
	for _, root := range roots {
		for _, place := range places {
			if found := inTree(root, place); found != "" {
				paths = append(paths, found)
			}
		}
	}
	return paths
}
