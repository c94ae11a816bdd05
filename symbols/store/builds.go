package store

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"logparser/modules"
	"logparser/symbols/image"
)

// A named image is a file with names that a folder has, whatever it is called.
type namedImage struct {
	path     string
	identity modules.Identity
}

// A buildIndex tells which files of a folder have names, and of which build. It is
// made once, when the usual names of a module's symbol files have led nowhere.
type buildIndex struct {
	once   sync.Once
	images []namedImage
}

// maxBuilds bounds the files of one folder that are opened to learn their build.
const maxBuilds = 2048

// noImages are extensions of files that are never opened for their build: what is
// most of a folder in which programs are built.
var noImages = []string{".o", ".a", ".obj", ".lib", ".c", ".h", ".cc", ".cpp", ".hpp", ".d", ".py", ".txt", ".md", ".html", ".json", ".log",
	".pdb", ".sym", ".map", ".ilk", ".dat", ".lptrace", ".gz", ".zip", ".png", ".cmake", ".make"}

// read opens the files of a folder that may be images with names.
func (b *buildIndex) read(ctx context.Context, f *Finder, dir *folder) []namedImage {
	b.once.Do(func() {
		dir.read()
		var names []string
		for _, name := range dir.names {
			if !slices.Contains(noImages, strings.ToLower(filepath.Ext(name))) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names[:min(len(names), maxBuilds)] {
			if ctx.Err() != nil {
				return
			}
			path := filepath.Join(dir.path, name)
			if !isRegular(path) {
				continue
			}
			if id, ok := f.namesIn(path); ok {
				b.images = append(b.images, namedImage{path, id})
			}
		}
	})
	return b.images
}

// namesIn returns the build of an image that has names besides those that it exports.
func (f *Finder) namesIn(path string) (id modules.Identity, ok bool) {
	file, err := f.open(path)
	if err != nil {
		return id, false
	}
	defer file.Close()
	var head [4]byte
	if _, err := file.ReadAt(head[:], 0); err != nil || !image.Detect(head[:]) {
		return id, false
	}
	img, err := image.Open(file)
	if err != nil || img.Relocatable {
		return id, false
	}
	defer img.FreeScratch()
	records, _ := img.COFF()
	return img.Identity, img.HasDWARF() || img.Section(".symtab") != nil || records != nil
}

// useBuilds looks for another file of the module's build in the user's folders, beside the log and
// beside the image: a program before it was stripped may have any name.
func (s *search) useBuilds() {
	id := s.expected
	if id.IsZero() && s.unknown != nil {
		id = s.unknown.Identity // of the image that would give the names
	}
	if id.BuildID == "" && id.PDB.IsZero() || s.best[rankUnverified] != nil {
		return // a size and a time stamp can be the same in two builds
	}
	var dirs []*folder
	for _, p := range s.local {
		if p.kind == placeFolder && p.folder.err == nil && (p.path != s.LogFolder || !systemFolder(p.path)) {
			dirs = append(dirs, p.folder)
		}
	}
	for _, path := range []string{s.verifiedPath, s.unknownPath} {
		if dir := filepath.Dir(path); path != "" && !s.hasFolder(dir) && !systemFolder(dir) {
			dirs = append(dirs, s.besideImage(dir))
		}
	}
	for _, dir := range dirs {
		for _, other := range dir.builds.read(s.ctx, s.Finder, dir) {
			if id.Compare(other.identity) != modules.Same || other.path == s.verifiedPath || other.path == s.unknownPath {
				continue
			}
			delete(s.seen, other.path) // it may have been looked at as the image
			s.trySymbols(other.path, false)
			if s.best[rankMatched] != nil || s.best[rankUnverified] != nil {
				return
			}
		}
	}
}

// besideImage returns the folder that an image lies in, which is read once for all modules.
func (f *Finder) besideImage(dir string) *folder {
	f.besideMutex.Lock()
	defer f.besideMutex.Unlock()
	if f.beside == nil {
		f.beside = make(map[string]*folder)
	}
	if f.beside[dir] == nil {
		f.beside[dir] = &folder{path: dir}
	}
	return f.beside[dir]
}

// systemFolder reports whether a folder belongs to the system, whose packages keep what they
// stripped in the debug folder, by build-id.
func systemFolder(dir string) bool {
	slashed := filepath.ToSlash(dir) + "/"
	for _, own := range []string{"/usr/local/", "/usr/src/"} {
		if strings.HasPrefix(slashed, own) {
			return false
		}
	}
	for _, system := range []string{"/usr/", "/lib/", "/lib32/", "/lib64/", "/bin/", "/sbin/"} {
		if strings.HasPrefix(slashed, system) {
			return true
		}
	}
	return false
}

// fitsDebugLink reports whether a file whose identity is not that of a PE image is its debug file all the same, as
// the checksum that the image names proves: GNU strip changes size and time stamp, which are all that such files
// have.
func (s *search) fitsDebugLink(path string, id modules.Identity) bool {
	img := s.verified
	if img == nil {
		img = s.unknown
	}
	if img == nil || img.Kind != image.PE || !img.Identity.PDB.IsZero() && !id.PDB.IsZero() {
		return false
	}
	if !strings.EqualFold(modules.BaseName(img.DebugLink), filepath.Base(path)) {
		return false
	}
	sum, err := s.checksum(s.ctx, path)
	return err == nil && sum == img.DebugLinkCRC
}
