package store

import (
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
)

// maxFolderEntries bounds what is read of one folder of the search path.
const maxFolderEntries = 1 << 18

// A folder is one flat folder of the search path, its names read once. Names
// are compared without regard to case, as Windows does: logs and symbol files
// of Windows programs are read elsewhere too.
type folder struct {
	path string
	once sync.Once
	// names maps lower-case names to the names as they are.
	names map[string]string
	// loose maps names as [LooseName] writes them to the names as they are.
	looseOnce sync.Once
	loose     map[string]string
	err       error
	// tiers says that the folder is a symbol store of two tiers.
	tiers bool
	// builds tells the builds of its images.
	builds buildIndex
}

func (d *folder) read() {
	d.once.Do(func() {
		d.names = make(map[string]string)
		f, err := openPath(d.path)
		if err != nil {
			d.err = err
			return
		}
		defer f.Close()
		for len(d.names) < maxFolderEntries {
			entries, err := f.ReadDir(1024)
			for _, e := range entries {
				d.names[strings.ToLower(e.Name())] = e.Name()
			}
			if err != nil {
				break
			}
		}
		_, d.tiers = d.names["index2.txt"]
	})
}

// findKey returns the path of the file with this key of a symbol store, or
// "". Nothing is asked of the system unless the key's first folder is there.
func (d *folder) findKey(key string) string {
	d.read()
	if d.tiers {
		key = twoTier(key)
	}
	first, rest, _ := strings.Cut(key, "/")
	actual, ok := d.names[strings.ToLower(first)]
	if !ok {
		return ""
	}
	for _, k := range []string{rest, compressed(rest)} {
		if path := findFold(filepath.Join(d.path, actual), k); path != "" && isRegular(path) {
			return path
		}
	}
	return ""
}

// findInTree returns the path of what an absolute path names in the folder as
// a tree (see [inTree]), or "". Nothing is asked of the system unless the
// path's first element is there.
func (d *folder) findInTree(slashed string) string {
	d.read()
	first, _, _ := strings.Cut(slashed[1:], "/")
	if _, ok := d.names[strings.ToLower(first)]; !ok {
		return ""
	}
	return inTree(d.path, slashed)
}

// findFold returns the path of what lies at a slashed path below a folder,
// whatever the case of its elements, or "".
func findFold(dir, rest string) string {
	for _, part := range strings.Split(rest, "/") {
		path := filepath.Join(dir, part)
		if _, err := lstatPath(path); err != nil {
			if path = foldedName(dir, part); path == "" {
				return ""
			}
		}
		dir = path
	}
	return dir
}

// foldedName returns the path of the entry of a folder that has this name but
// for case, or "".
func foldedName(dir, name string) string {
	f, err := openPath(dir)
	if err != nil {
		return ""
	}
	defer f.Close()
	for n := 0; n < maxFolderEntries; {
		names, err := f.Readdirnames(1024)
		for _, have := range names {
			if strings.EqualFold(have, name) {
				return filepath.Join(dir, have)
			}
		}
		if n += len(names); err != nil {
			break
		}
	}
	return ""
}

// pointerName is the file of a store that stands for one kept elsewhere.
const pointerName = "file.ptr"

// maxPointer bounds what is read of a file.ptr, in bytes: two paths.
const maxPointer = 4 << 10

// findPointer returns the path of the file.ptr that stands for a key's file,
// and the path that it holds. The path comes out of a file: it must not be
// opened.
func (d *folder) findPointer(key string) (ptr, target string) {
	d.read()
	if d.tiers {
		key = twoTier(key)
	}
	first, rest, _ := strings.Cut(path.Dir(key), "/")
	actual, ok := d.names[strings.ToLower(first)]
	if !ok || rest == "" {
		return "", ""
	}
	ptr = findFold(filepath.Join(d.path, actual), rest+"/"+pointerName)
	if ptr == "" || !isRegular(ptr) {
		return "", ""
	}
	f, err := openPath(ptr)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPointer))
	if err != nil {
		return "", ""
	}
	target, ok = pointerTarget(string(text))
	if !ok {
		return "", ""
	}
	return ptr, target
}

// pointerTarget returns the path that a file.ptr holds.
func pointerTarget(text string) (target string, ok bool) {
	line, _, _ := strings.Cut(text, "\n")
	target, ok = cutPrefixFold(strings.TrimSpace(line), "PATH:")
	return target, ok && target != ""
}

func isRegular(path string) bool {
	info, err := statPath(path)
	return err == nil && info.Mode().IsRegular()
}

// find returns the path of the regular file with this base name, or "".
func (d *folder) find(name string) string {
	d.read()
	if actual, ok := d.names[strings.ToLower(name)]; ok {
		// A store's folders have the names of files.
		if path := filepath.Join(d.path, actual); isRegular(path) {
			return path
		}
	}
	return ""
}

// findLoose returns the path of a regular file whose name a debugger would write like this one, or "".
func (d *folder) findLoose(name string) string {
	d.read()
	d.looseOnce.Do(func() {
		d.loose = make(map[string]string, len(d.names))
		for _, actual := range d.names {
			// Of two names the first counts, so that the answer is always the same.
			if have, ok := d.loose[LooseName(actual)]; !ok || actual < have {
				d.loose[LooseName(actual)] = actual
			}
		}
	})
	if actual, ok := d.loose[LooseName(name)]; ok {
		if path := filepath.Join(d.path, actual); isRegular(path) {
			return path
		}
	}
	return ""
}

// LooseName returns a file's name as debuggers and kernels write it: in small letters here, and with _ for what cannot be in the name of
// a symbol. Its extension stays.
func LooseName(name string) string {
	ext := filepath.Ext(name)
	stem := []byte(strings.ToLower(strings.TrimSuffix(name, ext)))
	for i, b := range stem {
		if !(b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '$' || b >= 0x80) {
			stem[i] = '_'
		}
	}
	return string(stem) + strings.ToLower(ext)
}

// OpenFile opens a regular file that the user names.
func OpenFile(path string) (*symbols.File, error) { return openFile(path) }

// openFile opens a regular file that the user, or the rule, lets us open.
func openFile(path string) (*symbols.File, error) {
	// A named pipe would block the open itself: look first.
	info, err := statPath(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, message.Errorf("%s: not a regular file", path)
	}
	f, err := openPath(path)
	if err != nil {
		return nil, err
	}
	return &symbols.File{Path: path, ReaderAt: f, Size: info.Size(), Closer: f}, nil
}

// siblings returns the function by which a symbol file at path opens another
// one that it names: a .dwo, a separate or an alternate debug file. What
// belongs together is decided by the caller, by CRC, build-id or dwo id.
func (f *Finder) siblings(path string) func(name string, fits func(*symbols.File) bool) (*symbols.File, error) {
	return func(name string, fits func(*symbols.File) bool) (*symbols.File, error) {
		paths, err := f.siblingPaths(path, name)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			file, err := f.open(path)
			if err != nil {
				continue
			}
			file.Sibling = f.siblings(path)
			if fits(file) {
				return file, nil
			}
			file.Close()
		}
		return nil, message.Errorf("%s: %w", name, fs.ErrNotExist)
	}
}

// siblingPaths returns where the file may lie that a file at path names, in
// the order to look. Relative names without ".." are looked for below the
// file's folder, its .debug, the system's debug folder and the user's folders;
// of other names only the last element counts there. Absolute names are
// looked for where they say, by the rule for recorded paths, and below the
// user's folders as if those were the root.
func (f *Finder) siblingPaths(path, name string) ([]string, error) {
	var paths []string
	if f.RecordedPaths && checkSpelling(name, runtime.GOOS) == nil {
		if allowed, err := CheckRecorded(name); err == nil {
			paths = append(paths, allowed)
		}
	}
	paths = append(paths, f.treeSiblings(path, name)...)
	relative := filepath.FromSlash(strings.ReplaceAll(name, `\`, "/"))
	if !filepath.IsLocal(relative) || hasParent(relative) {
		relative = modules.BaseName(name)
	}
	base := filepath.Base(relative)
	if !filepath.IsLocal(relative) || base == "." {
		if len(paths) > 0 {
			return paths, nil
		}
		return nil, message.Wrap(ErrRefused, "path refused: it names no file (%q)", name)
	}
	dir := filepath.Dir(path)
	places := []string{dir, filepath.Join(dir, ".debug")}
	if runtime.GOOS == "linux" {
		places = append(places, systemDebugFolder)
		if filepath.IsAbs(dir) {
			places = append(places, filepath.Join(systemDebugFolder, dir))
		}
	}
	places = append(places, f.userFolders()...)
	tries := []string{relative}
	if base != relative {
		tries = append(tries, base)
	}
	for _, try := range tries {
		for _, place := range places {
			paths = append(paths, filepath.Join(place, try))
		}
	}
	return paths, nil
}

// hasParent reports whether a path has an element "..". What such a path means
// depends on symbolic links, even where its text stays below a folder.
func hasParent(path string) bool {
	for _, part := range strings.Split(path, string(filepath.Separator)) {
		if part == ".." {
			return true
		}
	}
	return false
}

// systemDebugFolder is where distributions put separate debug files.
const systemDebugFolder = "/usr/lib/debug"
