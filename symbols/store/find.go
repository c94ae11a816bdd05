package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
)

// A Finder looks for the symbols of modules. Set its fields before the first
// call; then it is safe for concurrent use.
type Finder struct {
	// Formats are the sources of symbols, the best first.
	Formats []symbols.Format
	// Path is the user's search path. Each element is a folder, looked at
	// flat and by the keys of symbol stores, a file, the URL of a symbol
	// server, "debuginfod:" and a URL, or text in the syntax of
	// _NT_SYMBOL_PATH.
	Path []string
	// LogFolder is the folder the log lies in, "" for none.
	LogFolder string
	// RecordedPaths permits opening paths that come out of files, by the
	// rule of [CheckRecorded].
	RecordedPaths bool

	// Network permits asking the servers that Path names. Without it only
	// what was fetched from them before is looked at.
	Network bool
	// Cache is the folder that files from servers are kept in where Path
	// names none for a server; "" for none.
	Cache string
	// MaxDownload is the largest file fetched from a server, in bytes; 0
	// stands for DefaultMaxDownload.
	MaxDownload int64
	// ConnectTimeout, IdleTimeout and TotalTimeout bound the time to reach a
	// server, the time without a byte from it, and the time for one file; 0
	// stands for the defaults.
	ConnectTimeout, IdleTimeout, TotalTimeout time.Duration
	// Progress, if not nil, is told of the bytes of a file fetched so far;
	// total is -1 where the server does not tell. It is called by the
	// goroutine that called the finder.
	Progress func(url string, done, total int64)

	once    sync.Once
	local   []localPlace
	servers []*server
	client  *http.Client
	// open opens what the rules permit; tests watch it.
	open func(path string) (*symbols.File, error)
}

// NewFinder returns a finder over the given formats and places, with the
// network switched off.
func NewFinder(formats []symbols.Format, path []string, logFolder string, recordedPaths bool) *Finder {
	return &Finder{Formats: formats, Path: path, LogFolder: logFolder, RecordedPaths: recordedPaths}
}

// A candidate is a table that was found, and what its identity says.
type candidate struct {
	table symbols.Table
	path  string
	match modules.Match
	// image says that the names come out of the recorded image itself.
	image bool
	// reason is a sentence on the match.
	reason string
}

// A search is the work on one module.
type search struct {
	*Finder
	ctx    context.Context
	module *modules.Module
	// expected is the recorded identity, completed from a verified image.
	expected modules.Identity
	// images are the images found: verified, of unknown identity, or neither.
	verified, unknown *image.Image
	verifiedPath      string
	unknownPath       string
	attempts          []symbols.Attempt
	best              [4]*candidate // by rank
	seen              map[string]bool
}

// The ranks of candidates, best first. A verified file of any kind comes
// before one that nothing was recorded to check by.
const (
	rankMatched = iota
	rankImage
	rankUnverified
	rankMismatched
)

// Find looks for the symbols of a module everywhere the finder may look. It
// never fails: what went wrong stands in the binding.
func (f *Finder) Find(ctx context.Context, mod *modules.Module) symbols.Binding {
	f.prepare()
	s := &search{Finder: f, ctx: ctx, module: mod, expected: mod.Identity, seen: make(map[string]bool)}
	s.findImages()
	s.findSymbolFiles()
	if s.best[rankMatched] == nil {
		s.askServers()
	}
	if s.best[rankMatched] == nil {
		s.useImages()
	}
	return s.binding()
}

// note records an attempt.
func (s *search) note(path, format string, args ...any) {
	s.attempts = append(s.attempts, symbols.Attempt{Path: path, Outcome: fmt.Sprintf(format, args...)})
}

// places calls visit with every existing file of one of these base names, or
// of one of these keys of a symbol store, in the user's places and beside the
// log, until visit returns false. Servers are not asked.
func (s *search) places(names, keys []string, visit func(path string) bool) {
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
			s.note(p.path, "%s", p.why)
			continue
		}
		found := false
		for i := range len(keys) + len(names) {
			var paths []string
			if i < len(keys) {
				paths = s.byKey(p.folder, keys[i])
			} else if path := p.folder.find(names[i-len(keys)]); path != "" {
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
func (s *search) recorded(path, what string, visit func(path string) bool) {
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
		default:
			visit(allowed)
		}
	}
}

// findImages looks for the module's own file.
func (s *search) findImages() {
	visit := func(path string) bool {
		s.tryImage(path)
		return s.verified == nil
	}
	name := s.module.Name()
	s.places([]string{name}, imageKeys(name, s.expected), visit)
	if s.verified == nil {
		s.recorded(s.module.Path, "the recorded module path", visit)
	}
}

// tryImage opens a file as the module's image and judges it.
func (s *search) tryImage(path string) {
	if s.seen[path] {
		return
	}
	s.seen[path] = true
	file, err := s.open(path)
	if err != nil {
		s.note(path, "cannot be opened: %v", plainError(err))
		return
	}
	img, err := image.Open(file)
	if err != nil {
		file.Close()
		s.note(path, "not an image: %v", plainError(err))
		return
	}
	defer file.Close()
	match, why := s.compareImage(img)
	switch match {
	case modules.Same:
		s.verified, s.verifiedPath = img, path
		s.complete(img.Identity)
		s.note(path, "the recorded image (%s)", why)
	case modules.Unknown:
		if s.unknown == nil {
			s.unknown, s.unknownPath = img, path
		}
		s.note(path, "an image of this name; %s", why)
	default:
		s.note(path, "an image of another build: %s", why)
		s.offer(rankMismatched, &candidate{path: path, match: match, reason: "the image at " + path + " is of another build: " + why})
	}
}

// compareImage compares an image with what was recorded.
func (s *search) compareImage(img *image.Image) (modules.Match, string) {
	id := img.Identity
	match := s.expected.Compare(id)
	if match == modules.Unknown && img.Kind == image.PE && s.module.Size != 0 && uint64(id.ImageSize) != 0 &&
		s.module.Size != uint64(id.ImageSize) {
		return modules.Different, fmt.Sprintf("it is %#x bytes in memory, recorded are %#x", id.ImageSize, s.module.Size)
	}
	return match, s.explain(match, id)
}

// explain says in words how an identity compares with the expected one.
func (s *search) explain(match modules.Match, id modules.Identity) string {
	switch {
	case match == modules.Same:
		return "its identity (" + shared(s.expected, id) + ") equals the recorded one"
	case match == modules.Different:
		return fmt.Sprintf("it is %s, recorded is %s", shared(id, s.expected), shared(s.expected, id))
	case s.expected.IsZero():
		return "no identity was recorded to check it by"
	}
	return fmt.Sprintf("recorded is %s, which the file does not carry", s.expected)
}

// shared writes the field of a that a comparison with b goes by.
func shared(a, b modules.Identity) string {
	switch {
	case !a.PDB.IsZero() && !b.PDB.IsZero():
		return fmt.Sprintf("%s age %d", a.PDB, a.Age)
	case a.BuildID != "" && b.BuildID != "":
		return "build-id " + hex.EncodeToString([]byte(a.BuildID))
	case a.Timestamp != 0 && b.Timestamp != 0:
		return fmt.Sprintf("timestamp %08X size %#x", a.Timestamp, a.ImageSize)
	}
	return a.String()
}

// complete adds to the expected identity what a verified image knows more.
func (s *search) complete(id modules.Identity) {
	if s.expected.PDB.IsZero() {
		s.expected.PDB, s.expected.Age = id.PDB, id.Age
	}
	if s.expected.BuildID == "" {
		s.expected.BuildID = id.BuildID
	}
	if s.expected.Timestamp == 0 {
		s.expected.Timestamp, s.expected.ImageSize = id.Timestamp, id.ImageSize
	}
}

// symbolNames returns the base names that the module's symbol files may have.
func (s *search) symbolNames() []string {
	name := s.module.Name()
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	var names []string
	add := func(list ...string) {
		for _, n := range list {
			if n == "" || n == "." || strings.EqualFold(n, name) {
				continue
			}
			for _, have := range names {
				if strings.EqualFold(have, n) {
					n = ""
				}
			}
			if n != "" {
				names = append(names, n)
			}
		}
	}
	for _, img := range []*image.Image{s.verified, s.unknown} {
		if img != nil {
			add(modules.BaseName(img.PDBPath), modules.BaseName(img.DebugLink))
		}
	}
	add(stem+".pdb", name+".pdb", name+".debug", stem+".debug", name+".dbg",
		name+".sym", stem+".sym", name+".map", stem+".map")
	return names
}

// findSymbolFiles looks for files of symbols beside the image.
func (s *search) findSymbolFiles() {
	visit := func(path string) bool {
		s.trySymbols(path, false)
		return s.best[rankMatched] == nil
	}
	names := s.symbolNames()
	s.places(names, symbolKeys(names, s.expected), visit)
	for _, img := range []*image.Image{s.verified, s.unknown} {
		if img == nil || s.best[rankMatched] != nil {
			continue
		}
		s.recorded(img.PDBPath, "the path that the image names", visit)
		s.debugFile(img, visit)
	}
	if s.best[rankMatched] == nil && !s.expected.PDB.IsZero() && s.module.Path != "" {
		// Debuggers look beside the image on the machine that runs it.
		dir := s.module.Path[:len(s.module.Path)-len(s.module.Name())]
		for _, n := range s.symbolNames() {
			if s.best[rankMatched] == nil && strings.HasSuffix(strings.ToLower(n), ".pdb") {
				s.recorded(dir+n, "beside the recorded module", visit)
			}
		}
	}
}

// debugFile looks where distributions keep the separate debug file of an ELF
// image: by its build-id, then by its debuglink.
func (s *search) debugFile(img *image.Image, visit func(string) bool) {
	imagePath := s.verifiedPath
	if img == s.unknown {
		imagePath = s.unknownPath
	}
	if id := hex.EncodeToString([]byte(img.Identity.BuildID)); len(id) > 2 && runtime.GOOS != "windows" {
		path := filepath.Join(systemDebugFolder, ".build-id", id[:2], id[2:]+".debug")
		if _, err := os.Stat(path); err == nil {
			if !visit(path) {
				return
			}
		} else {
			s.note(path, "no such file")
		}
	}
	if img.DebugLink == "" {
		return
	}
	paths, err := s.siblingPaths(imagePath, img.DebugLink)
	if err != nil {
		s.note(img.DebugLink, "named by the image: %v", plainError(err))
		return
	}
	found := false
	for _, path := range paths {
		if isRegular(path) {
			found = true
			if !visit(path) {
				return
			}
		}
	}
	if !found {
		s.note(img.DebugLink, "named by the image: no such file beside it, in its .debug or in the debug folders")
	}
}

// trySymbols opens a file as the module's symbols and judges it.
func (s *search) trySymbols(path string, isImage bool) {
	if s.seen[path] && !isImage {
		return
	}
	s.seen[path] = true
	table, err := s.openTable(path)
	if err != nil {
		s.note(path, "%v", plainError(err))
		return
	}
	id := table.Identity()
	match, why := s.compareTable(table)
	if match == modules.Unknown && !isImage {
		if by, reason := s.compareChecksum(path); by != modules.Unknown {
			match, why = by, reason
		}
	}
	if match == modules.Unknown && s.verified == nil && s.unknown != nil && !isImage &&
		s.unknown.Identity.Compare(id) == modules.Different {
		match = modules.Different
		why = fmt.Sprintf("it is %s, the image %s is %s", shared(id, s.unknown.Identity), s.unknownPath,
			shared(s.unknown.Identity, id))
	}
	if match == modules.Unknown && !isImage {
		if other := s.otherBase(table); other != "" {
			match, why = modules.Different, other
		}
	}
	c := &candidate{table: table, path: path, match: match, image: isImage, reason: table.Describe() + ": " + why}
	switch match {
	case modules.Same:
		s.note(path, "%s, %s", table.Describe(), why)
		if isImage {
			s.offer(rankImage, c)
		} else {
			s.offer(rankMatched, c)
		}
	case modules.Unknown:
		s.note(path, "%s, %s", table.Describe(), why)
		s.offer(rankUnverified, c)
	default:
		s.note(path, "%s of another build: %s", table.Describe(), why)
		table.Close()
		c.table = nil
		c.reason = filepath.Base(path) + " is of another build: " + why
		s.offer(rankMismatched, c)
	}
}

// compareTable compares a table with what was recorded, by its identity or, for
// formats whose identities are cut, by its own means.
func (s *search) compareTable(table symbols.Table) (modules.Match, string) {
	id := table.Identity()
	match := s.expected.Compare(id)
	c, ok := table.(interface {
		Compare(modules.Identity) modules.Match
		ModuleID() string
	})
	if match != modules.Unknown || !ok {
		return match, s.explain(match, id)
	}
	switch match = c.Compare(s.expected); match {
	case modules.Same:
		return match, "module id " + c.ModuleID() + ", the beginning of the recorded build-id"
	case modules.Different:
		return match, fmt.Sprintf("it is module id %s, recorded is %s", c.ModuleID(), shared(s.expected, s.expected))
	}
	return match, s.explain(match, id)
}

// compareChecksum compares a file with the checksum that the image names for
// its debug file. The right one proves the file to belong to a verified image,
// a wrong one that it does not belong to the image at all.
func (s *search) compareChecksum(path string) (modules.Match, string) {
	img := s.verified
	if img == nil {
		img = s.unknown
	}
	if img == nil || !strings.EqualFold(modules.BaseName(img.DebugLink), filepath.Base(path)) {
		return modules.Unknown, ""
	}
	sum, err := s.checksum(s.ctx, path)
	switch {
	case err != nil:
	case sum != img.DebugLinkCRC:
		return modules.Different, fmt.Sprintf("it is checksum %08x, recorded is an image that names %08x", sum, img.DebugLinkCRC)
	case s.verified != nil:
		return modules.Same, fmt.Sprintf("checksum %08x, which the image names", sum)
	}
	return modules.Unknown, ""
}

// otherBase says that a map was made for another base than the image has, ""
// where that is not so or not known. Only PE images keep the base that they
// were linked for.
func (s *search) otherBase(table symbols.Table) string {
	m, ok := table.(interface{ PreferredBase() uint64 })
	if !ok || m.PreferredBase() == 0 {
		return ""
	}
	img, path := s.verified, s.verifiedPath
	if img == nil {
		img, path = s.unknown, s.unknownPath
	}
	if img == nil || img.Kind != image.PE || img.Base == m.PreferredBase() {
		return ""
	}
	return fmt.Sprintf("it is linked for base %#x, recorded is an image, %s, of base %#x", m.PreferredBase(), path, img.Base)
}

// offer keeps the first candidate of a rank and frees the others.
func (s *search) offer(rank int, c *candidate) {
	if s.best[rank] == nil {
		s.best[rank] = c
		return
	}
	if c.table != nil {
		c.table.Close()
	}
}

// useImages takes the names out of the image itself.
func (s *search) useImages() {
	if s.verified != nil {
		s.trySymbols(s.verifiedPath, true)
		return
	}
	if s.unknown == nil {
		return
	}
	// A map has fewer names than an image that has any besides its exports,
	// and no more to be checked by.
	before := s.best[rankUnverified]
	if before != nil && !isMap(before.path) {
		return
	}
	s.best[rankUnverified] = nil
	s.trySymbols(s.unknownPath, true)
	switch image := s.best[rankUnverified]; {
	case before == nil:
	case image == nil || exportsOnly(image.table):
		s.best[rankUnverified] = nil
		s.offer(rankUnverified, before)
		if image != nil {
			image.table.Close()
		}
	default:
		before.table.Close()
	}
}

func isMap(path string) bool { return strings.EqualFold(filepath.Ext(path), ".map") }

// exportsOnly reports whether a table has only the names that an image
// exports.
func exportsOnly(t symbols.Table) bool {
	e, ok := t.(interface{ ExportsOnly() bool })
	return ok && e.ExportsOnly()
}

// openTable opens a file by the first format that finds symbols in it.
func (f *Finder) openTable(path string) (symbols.Table, error) {
	file, err := f.open(path)
	if err != nil {
		return nil, err
	}
	file.Sibling = f.siblings(path)
	head := make([]byte, min(file.Size, 4096))
	if n, err := file.ReadAt(head, 0); n < len(head) {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	failure := error(nil)
	for _, format := range f.Formats {
		if !format.Detect(head) {
			continue
		}
		table, err := format.Open(file)
		if err == nil {
			return table, nil
		}
		if failure == nil || errors.Is(failure, symbols.ErrNoSymbols) {
			failure = fmt.Errorf("%s: %w", format.Name, err)
		}
	}
	file.Close()
	if failure == nil {
		return nil, errors.New("not a symbol file or image that is known here")
	}
	return nil, failure
}

// binding chooses among what was found.
func (s *search) binding() symbols.Binding {
	b := symbols.Binding{Attempts: s.attempts}
	chosen := -1
	for rank, c := range s.best {
		switch {
		case c == nil:
		case chosen < 0:
			chosen = rank
		case c.table != nil:
			c.table.Close()
		}
	}
	if chosen < 0 {
		b.Status = symbols.NotFound
		b.Reason = "no symbol file and no image was found"
		if s.verified != nil || s.unknown != nil {
			b.Reason = "the image was found, but it holds no names, and no symbol file was found"
		}
		return b
	}
	c := s.best[chosen]
	b.Table, b.File, b.Reason = c.table, c.path, c.reason
	switch chosen {
	case rankMatched:
		b.Status = symbols.Matched
	case rankImage:
		b.Status = symbols.Embedded
		if exportsOnly(c.table) {
			b.Status = symbols.ExportsOnly
		}
	case rankUnverified:
		b.Status = symbols.Unverified
	default:
		b.Status = symbols.Mismatched
	}
	if m := s.best[rankMismatched]; m != nil && m != c {
		b.Reason += "; " + m.reason
	}
	return b
}

// debugOnly reports whether an image is a separate debug file, whose code lies
// elsewhere.
func debugOnly(img *image.Image) bool {
	only := false
	for _, section := range img.Sections {
		if section.Exec {
			if !section.NoBits {
				return false
			}
			only = true
		}
	}
	return only
}

// plainError returns the cause without the operation and path that the
// attempt names already.
func plainError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// FindFor returns the symbols for a file on this machine, an image or a file
// of symbols itself. An image's own identity stands for the recorded one; a
// file of symbols is taken as it is, and is unverified.
// The image is nil for a file of symbols; of the image only the fields can be
// read, its file is closed.
func (f *Finder) FindFor(ctx context.Context, path string) (symbols.Binding, *image.Image, error) {
	f.prepare()
	file, err := f.open(path)
	if err != nil {
		return symbols.Binding{}, nil, err
	}
	img, err := image.Open(file)
	file.Close()
	if err == nil && !debugOnly(img) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return symbols.Binding{}, nil, err
		}
		s := &search{Finder: f, ctx: ctx, expected: img.Identity, seen: make(map[string]bool),
			module:   &modules.Module{Path: abs, Identity: img.Identity},
			verified: img, verifiedPath: path}
		s.findSymbolFiles()
		if s.best[rankMatched] == nil {
			s.askServers()
		}
		if s.best[rankMatched] == nil {
			s.trySymbols(path, true)
			if u := s.best[rankUnverified]; u != nil && u.image {
				// An image without any identity is still its own.
				s.best[rankImage], s.best[rankUnverified] = u, nil
			}
		}
		return s.binding(), img, nil
	}
	table, err := f.openTable(path)
	if err != nil {
		return symbols.Binding{}, nil, err
	}
	return symbols.Binding{Status: symbols.Unverified, Table: table, File: path,
		Reason: table.Describe() + "; given by itself, with no image to check it by"}, nil, nil
}
