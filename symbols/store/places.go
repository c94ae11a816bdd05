package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"logparser/message"
	"logparser/modules"
)

// places calls visit with every existing file of one of these base names, of
// one of these keys of a symbol store, or at one of the places that tree says
// a folder has as a tree (see [inTree]), in the user's places and beside the
// log, until visit returns false. Servers are not asked.
func (s *search) places(names, keys []string, tree func(root string) []string, visit func(path string) bool) {
	for _, p := range s.local {
		if s.ctx.Err() != nil {
			return
		}
		switch p.kind {
		case placeFile:
			for _, name := range names {
				if strings.EqualFold(filepath.Base(p.path), name) && !visit(p.path) {
					return
				}
			}
			continue
		case placeUnknown:
			s.noted(p.path, p.why)
			continue
		}
		found := false
		inTree := tree(p.folder.path)
		for i := range len(keys) + len(inTree) + len(names) {
			var paths []string
			path := ""
			switch k := i - len(keys); {
			case k < 0:
				paths = s.byKey(p.folder, keys[i])
			case k < len(inTree):
				path = p.folder.findInTree(inTree[k])
			default:
				name := names[k-len(inTree)]
				if path = p.folder.find(name); path == "" && s.LooseNames {
					path = p.folder.findLoose(name)
				}
			}
			if path != "" {
				paths = []string{path}
			}
			for _, path := range paths {
				found = true
				if !visit(path) {
					return
				}
			}
		}
		switch {
		case p.folder.err != nil:
			s.note(p.path, "cannot be read: %v", plainError(p.folder.err))
			s.refused(p.path, p.folder.err)
		case !found:
			s.note(p.path, "no %s, flat or in a store's folders", strings.Join(names, ", "))
		}
	}
}

// byKey returns the files of a key in a folder. Where there is a file.ptr in
// its stead, those are the ones of the base name it holds, in the same folder
// of the store and flat in the user's folders.
func (s *search) byKey(dir *folder, key string) []string {
	if path := dir.findKey(key); path != "" {
		return []string{path}
	}
	ptr, target := dir.findPointer(key)
	if ptr == "" {
		return nil
	}
	name := modules.BaseName(target)
	var paths []string
	if plainName(name) {
		if path := filepath.Join(filepath.Dir(ptr), name); isRegular(path) {
			paths = append(paths, path)
		}
		for _, p := range s.local {
			if p.folder != nil {
				if path := p.folder.find(name); path != "" {
					paths = append(paths, path)
				}
			}
		}
	}
	if !s.seen[ptr] {
		s.seen[ptr] = true
		s.note(ptr, "names %q, of which only the last element counts", target)
	}
	return paths
}

// recorded opens a path that came out of a file, by the rule.
func (s *search) recorded(path string, what message.Text, visit func(path string) bool) {
	switch {
	case path == "" || s.ctx.Err() != nil:
	case !s.RecordedPaths:
		s.note(path, "%s, not looked at: recorded paths are switched off", what)
	default:
		allowed, err := CheckRecorded(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.note(path, "%s: no such file", what)
		case err != nil:
			s.note(path, "%s, not opened: %v", what, plainError(err))
			s.refused(path, err)
		default:
			visit(allowed)
		}
	}
}
