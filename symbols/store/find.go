package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"logparser/message"
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
	// Bound gives the functions of a table that tells neither their sizes nor all of them ends by the image's rules for unwinding;
	// the image is nil where it was not found. Nil leaves such tables as they are.
	Bound func(t symbols.Table, im *image.Image) symbols.Table
	// LogFolder is the folder the log lies in, "" for none.
	LogFolder string
	// RecordedPaths permits opening paths that come out of files, by the
	// rule of [CheckRecorded].
	RecordedPaths bool
	// LoadMismatched takes the names of a file of another build where
	// nothing better is found. The binding's status is Mismatched then, and
	// its table is not nil: whoever shows such names must mark each.
	LoadMismatched bool
	// LooseNames says that names of modules come from debuggers and kernels: these leave the extension out, and write _ for what cannot
	// be in the name of a symbol.
	LooseNames bool
	// Kept are containers of symbols that belong to the log.
	Kept []Kept
	// Program are the modules of the program: the image of one may carry the
	// symbols of others.
	Program []*modules.Module
	// NoAttached passes over symbols that executables carry or that were kept, for
	// attaching them anew.
	NoAttached bool
	// Environment are further elements of the search path, which the
	// environment names; see [EnvironmentPath]. They come after Path, and
	// folders on other machines count as servers.
	Environment []string

	// Network permits asking the servers that Path names. Without it only
	// what was fetched from them before is looked at.
	Network bool
	// Cache is the folder that files from servers are kept in where Path
	// names none for a server; "" for none.
	Cache string
	// Inflated is the folder for the inflated sections of symbol files (see
	// symbols.File.Cache); "" keeps none.
	Inflated string
	// MaxDownload is the largest file fetched from a server, in bytes; 0
	// stands for DefaultMaxDownload.
	MaxDownload int64
	// ConnectTimeout, IdleTimeout and TotalTimeout bound the time to reach a
	// server, the time without a byte from it, and the time for one file; 0
	// stands for the defaults.
	ConnectTimeout, IdleTimeout, TotalTimeout time.Duration
	// HeadTimeout bounds the time until a server that was reached begins to answer;
	// 0 stands for DefaultHeadTimeout.
	HeadTimeout time.Duration
	// Progress, if not nil, is told of the bytes of a file fetched so far;
	// total is -1 where the server does not tell. It is called by the
	// goroutine that called the finder.
	Progress func(url string, done, total int64)

	once  sync.Once
	local []localPlace
	// carrierFiles are the images of Program that carry symbols.
	carriersOnce sync.Once
	carrierFiles []carrierFile
	servers      []*server
	client       *http.Client
	// beside are the folders of images, by path.
	besideMutex sync.Mutex
	beside      map[string]*folder
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
	reason message.Text
}

// A search is the work on one module.
type search struct {
	*Finder
	ctx    context.Context
	module *modules.Module
	// expected is the recorded identity, completed from a verified image.
	expected modules.Identity
	// verified, unknown and other are the first images found of the recorded
	// identity, of one that cannot be compared, and of another build.
	verified, unknown, other             *image.Image
	verifiedPath, unknownPath, otherPath string
	attempts                             []symbols.Attempt
	best                                 [ranks]*candidate // by rank
	seen                                 map[string]bool
	unused                               bool // no record lies in the module
	// sections says that whoever asks names sections of relocatable files.
	sections bool
	// trouble is what the search met last that the user can mend: a server failed, or
	// a file exists but may not be opened.
	trouble message.Text
}

// The ranks of candidates, best first. A verified file of any kind comes
// before one that nothing was recorded to check by.
const (
	rankMatched = iota
	rankAttached
	rankImage
	rankUnverified
	rankMismatched
	rankOtherImage // an image of another build
	rankStarts     // an image without names, that tells where its functions start
	ranks
)

// Find looks for the symbols of a module everywhere the finder may look. It
// never fails: what went wrong stands in the binding.
func (f *Finder) Find(ctx context.Context, mod *modules.Module) symbols.Binding {
	return f.find(ctx, mod, false)
}

// FindUnused is Find for a module that no record lies in: servers are not
// asked, since its names are not needed.
func (f *Finder) FindUnused(ctx context.Context, mod *modules.Module) symbols.Binding {
	return f.find(ctx, mod, true)
}

// FindWithImage is Find, and returns the headers of the module's image too, if it was
// found and is not of another build. The image's contents cannot be read.
// Of relocatable files, such as the kernel's modules, RVAs are places of sections (see [image.Image.Place]).
func (f *Finder) FindWithImage(ctx context.Context, mod *modules.Module) (symbols.Binding, *image.Image) {
	s := f.newSearch(ctx, mod, false)
	s.sections = true
	s.findImages()
	s.findTable()
	if s.verified != nil {
		return s.binding(), s.verified
	}
	return s.binding(), s.unknown
}

func (f *Finder) find(ctx context.Context, mod *modules.Module, unused bool) symbols.Binding {
	if b, ok := (&search{Finder: f, module: mod}).usePacked(); ok {
		return b
	}
	return f.search(ctx, mod, unused).binding()
}

func (f *Finder) search(ctx context.Context, mod *modules.Module, unused bool) *search {
	s := f.newSearch(ctx, mod, unused)
	s.findImages()
	s.findTable()
	return s
}

func (f *Finder) newSearch(ctx context.Context, mod *modules.Module, unused bool) *search {
	f.prepare()
	return &search{Finder: f, ctx: ctx, module: mod, expected: mod.Identity, unused: unused, seen: make(map[string]bool)}
}

// findTable looks for the names of the module, whose images have been looked
// for.
func (s *search) findTable() {
	if s.useDebugInfo() {
		return
	}
	s.useKept(true)
	s.findSymbolFiles()
	if s.best[rankMatched] == nil {
		s.useKept(false)
	}
	if s.best[rankMatched] == nil {
		s.useAttached()
	}
	if s.best[rankMatched] == nil && s.best[rankAttached] == nil {
		s.useBuilds()
	}
	if s.best[rankMatched] == nil && s.best[rankAttached] == nil {
		s.askServers()
	}
	if s.best[rankMatched] == nil && s.best[rankAttached] == nil {
		s.useImages()
	}
}

// useDebugInfo takes the verified image's own debug information, and reports
// whether it has any: files beside it, or on servers, have no more.
func (s *search) useDebugInfo() bool {
	if s.verified == nil || !hasDebugInfo(s.verified) {
		return false
	}
	s.trySymbols(s.verifiedPath, true)
	return s.best[rankImage] != nil
}

// hasDebugInfo reports whether an image carries its own debug information. A
// PE that names a PDB has it there: its DWARF is that of libraries which
// another compiler made.
func hasDebugInfo(img *image.Image) bool { return img.HasDWARF() && img.PDBPath == "" }

// images returns the images that were found and may name symbol files.
func (s *search) images() (list []*image.Image) {
	for _, img := range []*image.Image{s.verified, s.unknown, s.other} {
		if img != nil {
			list = append(list, img)
		}
	}
	return list
}

// pathOf returns where an image was found.
func (s *search) pathOf(img *image.Image) string {
	switch img {
	case s.verified:
		return s.verifiedPath
	case s.unknown:
		return s.unknownPath
	}
	return s.otherPath
}

// note records an attempt.
func (s *search) note(path, pattern string, args ...any) {
	s.noted(path, message.Textf(pattern, args...))
}

func (s *search) noted(path string, outcome message.Text) {
	s.attempts = append(s.attempts, symbols.Attempt{Path: path, Outcome: outcome})
}

// findImages looks for the module's own file.
func (s *search) findImages() {
	visit := func(path string) bool {
		s.tryImage(path)
		return s.verified == nil
	}
	name := s.module.Name()
	names := []string{name}
	if s.LooseNames && filepath.Ext(name) == "" {
		names = append(names, name+".exe", name+".dll", name+".sys")
	}
	s.places(names, imageKeys(name, s.expected), s.treeImages, visit)
	if s.verified == nil {
		s.recorded(s.module.Path, message.Textf("the recorded module path"), visit)
	}
}

// refused keeps that a file may not be opened.
func (s *search) refused(path string, err error) {
	if errors.Is(err, fs.ErrPermission) {
		s.trouble = message.Textf("%s: %v", path, plainError(err))
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
		s.refused(path, err)
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
		if s.other == nil {
			s.other, s.otherPath = img, path
			s.offer(rankOtherImage, &candidate{path: path, match: match,
				reason: message.Textf("the image at %s is of another build: %s", path, why)})
		}
	}
}

// compareImage compares an image with what was recorded.
func (s *search) compareImage(img *image.Image) (modules.Match, message.Text) {
	id := img.Identity
	match := s.expected.Compare(id)
	if match == modules.Unknown && img.Kind == image.PE && s.module.Size != 0 && !s.module.Unsized && uint64(id.ImageSize) != 0 &&
		s.module.Size != uint64(id.ImageSize) {
		return modules.Different, message.Textf("it is %#x bytes in memory, recorded are %#x", id.ImageSize, s.module.Size)
	}
	return match, s.explain(match, id)
}

// explain says in words how an identity compares with the expected one.
func (s *search) explain(match modules.Match, id modules.Identity) message.Text {
	switch {
	case match == modules.Same:
		return message.Textf("its identity (%s) equals the recorded one", shared(s.expected, id))
	case match == modules.Different:
		return message.Textf("it is %s, recorded is %s", shared(id, s.expected), shared(s.expected, id))
	case s.expected.IsZero():
		return message.Textf("no identity was recorded to check it by")
	}
	return message.Textf("recorded is %s, which the file does not carry", s.expected)
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
	for _, img := range s.images() {
		add(modules.BaseName(img.PDBPath), modules.BaseName(img.DebugLink))
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
	s.places(names, symbolKeys(names, s.expected), s.treeSymbols(names), visit)
	for _, img := range s.images() {
		if s.best[rankMatched] != nil || img == s.other && !s.LoadMismatched {
			continue
		}
		s.recorded(img.PDBPath, message.Textf("the path that the image names"), visit)
		s.debugFile(img, visit)
	}
	if s.best[rankMatched] == nil && !s.expected.PDB.IsZero() && s.module.Path != "" {
		// Debuggers look beside the image on the machine that runs it.
		dir := s.module.Path[:len(s.module.Path)-len(s.module.Name())]
		for _, n := range s.symbolNames() {
			if s.best[rankMatched] == nil && strings.HasSuffix(strings.ToLower(n), ".pdb") {
				s.recorded(dir+n, message.Textf("beside the recorded module"), visit)
			}
		}
	}
}

// debugFile looks where distributions keep the separate debug file of an ELF
// image: by its build-id, then by its debuglink.
func (s *search) debugFile(img *image.Image, visit func(string) bool) {
	if id := hex.EncodeToString([]byte(img.Identity.BuildID)); len(id) > 2 && runtime.GOOS != "windows" {
		path := filepath.Join(systemDebugFolder, ".build-id", id[:2], id[2:]+".debug")
		if _, err := statPath(path); err == nil {
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
	paths, err := s.siblingPaths(s.pathOf(img), img.DebugLink)
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
	table, err := s.openPlaced(path)
	if err != nil {
		s.note(path, "%v", plainError(err))
		s.refused(path, err)
		return
	}
	if !isImage && startsOnly(table) {
		// Its image says as much, and a file that has names may still be found.
		table.Close()
		s.note(path, "%s, and no names", table.Describe())
		return
	}
	id := table.Identity()
	match, why := s.compareTable(table)
	linked := match != modules.Same && !isImage && s.fitsDebugLink(path, id)
	if (match == modules.Unknown || linked) && !isImage {
		if by, reason := s.compareChecksum(path); by != modules.Unknown {
			match, why = by, reason
		} else if linked {
			match, why = by, message.Textf("no identity was recorded to check it by")
		}
	}
	if match == modules.Unknown && !linked && s.verified == nil && s.unknown != nil && !isImage &&
		s.unknown.Identity.Compare(id) == modules.Different {
		match = modules.Different
		why = message.Textf("it is %s, the image %s is %s", shared(id, s.unknown.Identity), s.unknownPath,
			shared(s.unknown.Identity, id))
	}
	if match == modules.Unknown && !isImage {
		if other := s.otherBase(table); !other.IsZero() {
			match, why = modules.Different, other
		} else if s.ofOther(path, id) {
			match = modules.Different
			why = message.Textf("it belongs to the image %s, which is of another build", s.otherPath)
		}
	}
	c := &candidate{table: table, path: path, match: match, image: isImage, reason: message.Textf("%s: %s", table.Describe(), why)}
	switch {
	case isImage && startsOnly(table) && match != modules.Different:
		s.note(path, "%s, and no names", table.Describe())
		s.offer(rankStarts, c)
	case match == modules.Same, match == modules.Unknown && isImage && path == s.verifiedPath:
		s.note(path, "%s, %s", table.Describe(), why)
		if isImage {
			s.offer(rankImage, c)
		} else {
			s.offer(rankMatched, c)
		}
	case match == modules.Unknown:
		s.note(path, "%s, %s", table.Describe(), why)
		s.offer(rankUnverified, c)
	default:
		s.note(path, "%s of another build: %s", table.Describe(), why)
		if !s.LoadMismatched {
			table.Close()
			c.table = nil
		}
		c.reason = message.Textf("%s is of another build: %s", filepath.Base(path), why)
		s.offer(rankMismatched, c)
	}
}

// compareTable compares a table with what was recorded, by its identity or, for
// formats whose identities are cut, by its own means.
func (s *search) compareTable(table symbols.Table) (modules.Match, message.Text) {
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
		return match, message.Textf("module id %s, the beginning of the recorded build-id", c.ModuleID())
	case modules.Different:
		return match, message.Textf("it is module id %s, recorded is %s", c.ModuleID(), shared(s.expected, s.expected))
	}
	return match, s.explain(match, id)
}

// ofOther reports whether a file that nothing recorded can be checked by is
// known to belong to an image of another build.
func (s *search) ofOther(path string, id modules.Identity) bool {
	if s.other == nil || s.verified != nil {
		return false
	}
	if match := s.other.Identity.Compare(id); match != modules.Unknown {
		return match == modules.Same
	}
	if s.other.DebugLink == "" || !strings.EqualFold(modules.BaseName(s.other.DebugLink), filepath.Base(path)) {
		return false
	}
	sum, err := s.checksum(s.ctx, path)
	return err == nil && sum == s.other.DebugLinkCRC
}

// otherBase says that a map was made for another base than the image has, nothing
// where that is not so or not known. Only PE images keep the base that they
// were linked for.
func (s *search) otherBase(table symbols.Table) message.Text {
	m, ok := table.(interface{ PreferredBase() uint64 })
	if !ok || m.PreferredBase() == 0 {
		return message.Text{}
	}
	img, path := s.verified, s.verifiedPath
	if img == nil {
		img, path = s.unknown, s.unknownPath
	}
	if img == nil || img.Kind != image.PE || img.Base == m.PreferredBase() {
		return message.Text{}
	}
	return message.Textf("it is linked for base %#x, recorded is an image, %s, of base %#x", m.PreferredBase(), path, img.Base)
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
	if s.best[rankImage] != nil {
		return
	}
	if s.verified != nil {
		s.trySymbols(s.verifiedPath, true)
		return
	}
	if s.unknown == nil {
		return
	}
	// A map has fewer names than an image that has any besides its exports,
	// and no more to be checked by; nor has any file more than an image with
	// its own debug information.
	before := s.best[rankUnverified]
	if before != nil && !isMap(before.path) && !hasDebugInfo(s.unknown) {
		return
	}
	s.best[rankUnverified] = nil
	s.trySymbols(s.unknownPath, true)
	switch image := s.best[rankUnverified]; {
	case before == nil:
	case image == nil || exportsOnly(image.table) || startsOnly(image.table):
		s.best[rankUnverified] = nil
		s.offer(rankUnverified, before)
		if image != nil {
			image.table.Close()
		}
	default:
		before.table.Close()
	}
}

// startsOnly reports whether a table has no names, but those that it made of the
// addresses of functions.
func startsOnly(t symbols.Table) bool {
	e, ok := t.(interface{ StartsOnly() bool })
	return ok && e.StartsOnly()
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
		return nil, message.Errorf("%s: %w", path, err)
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
			failure = message.Wrap(err, "%s: %v", format.Name, err)
		}
	}
	file.Close()
	if failure == nil && isCOFFObject(head, file.Size) {
		return nil, message.Wrap(nil, "a COFF object file, whose code has no addresses before it is linked")
	}
	if failure == nil {
		return nil, message.Wrap(nil, "not a symbol file or image that is known here")
	}
	return nil, failure
}
