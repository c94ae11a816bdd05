package store

import (
	"net/url"
	"path/filepath"
	"strings"

	"logparser/message"
	"logparser/symbols"
)

// A placeKind says what an element of the search path is.
type placeKind int

const (
	placeFolder     placeKind = iota // looked at flat and by a store's keys
	placeFile                        // counts if its base name fits
	placeSymSrv                      // an HTTP server of a SymSrv tree
	placeDebuginfod                  // a debuginfod server
	placeUnknown                     // text that names nothing we know
)

// A place is one place that the user's search path names.
type place struct {
	kind placeKind
	// path is the folder or file, or the URL without credentials; "" stands
	// for the default cache folder.
	path string
	// cache is, for servers, the folder that its files are kept in, "" for
	// the default one.
	cache string
	// why says what is wrong with a place of unknown kind.
	why message.Text
}

// parsePath reads the elements of a search path. Each is a folder, a file, the
// URL of a symbol server, "debuginfod:" and a URL, or a list in the syntax of
// _NT_SYMBOL_PATH:
//
//	element;element
//	srv*store*store*url     stores are asked first; the first one is the cache
//	symsrv*dll*store*url    the same; the name of the DLL has no meaning here
//	srv*                    the default cache folder
//	cache*folder            the cache of every server named after it
//
// An empty store is the default cache folder. An element that exists as a file
// or folder is taken whole, whatever characters its name has. exists reports
// whether a path is there, and is a folder.
func parsePath(elements []string, exists func(path string) (there, dir bool)) []place {
	p := pathParser{exists: exists}
	for _, text := range elements {
		p.element(text, true)
	}
	return p.places
}

// onDisk is the exists of [parsePath] that asks the system. The paths it is
// asked for are the user's own.
func onDisk(path string) (there, dir bool) {
	info, err := statPath(path)
	return err == nil, err == nil && info.IsDir()
}

// nothing is the exists of [parsePath] that asks nobody.
func nothing(string) (there, dir bool) { return false, false }

// EnvironmentPath returns the elements of a search path that the environment
// names for debuggers: _NT_SYMBOL_PATH, and the servers of DEBUGINFOD_URLS.
func EnvironmentPath(getenv func(string) string) []string {
	var list []string
	if text := getenv("_NT_SYMBOL_PATH"); text != "" {
		list = append(list, text)
	}
	for _, word := range strings.Fields(getenv("DEBUGINFOD_URLS")) {
		// Other words set policies of elfutils.
		if _, ok := cutURL(word); ok {
			list = append(list, "debuginfod:"+word)
		}
	}
	return list
}

// Servers returns the servers that a search path names, without credentials
// and each once. The system is asked nothing.
func Servers(elements []string) []string {
	var list []string
	for _, p := range parsePath(elements, nothing) {
		if p.kind == placeSymSrv || p.kind == placeDebuginfod {
			list = append(list, newServer(p).String())
		}
	}
	return list
}

// isRemote reports whether a path names a folder of another machine by its
// spelling.
func isRemote(path string) bool {
	return strings.HasPrefix(strings.ReplaceAll(path, `\`, "/"), "//")
}

// environment returns the places that the environment names. It was set for
// other programs, so its folders on other machines are looked at only with the
// network switched on.
func (f *Finder) environment() []place {
	exists := func(path string) (there, dir bool) {
		if isRemote(path) && !f.Network {
			return false, false
		}
		return onDisk(path)
	}
	list := parsePath(f.Environment, exists)
	for i := range list {
		p := &list[i]
		if p.kind <= placeFile && isRemote(p.path) && !f.Network {
			*p = place{kind: placeUnknown, path: p.path, why: message.Textf("a folder of another machine, not looked at: the network is switched off")}
		}
	}
	return list
}

// Missing returns the elements of a search path that name nothing but a folder
// or file, which is not there.
func Missing(elements []string) []string {
	var missing []string
	for _, text := range elements {
		for _, p := range parsePath([]string{text}, onDisk) {
			plain := p.kind == placeFolder && p.path == strings.TrimSpace(text)
			if there, _ := onDisk(p.path); plain && !there {
				missing = append(missing, text)
			}
		}
	}
	return missing
}

type pathParser struct {
	exists func(string) (bool, bool)
	places []place
	cache  string // of the servers to come
}

func (p *pathParser) element(text string, list bool) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if _, ok := cutURL(text); !ok {
		if there, dir := p.exists(text); there {
			kind := placeFile
			if dir {
				kind = placeFolder
			}
			p.add(place{kind: kind, path: text})
			return
		}
	}
	if list && strings.Contains(text, ";") {
		for _, part := range strings.Split(text, ";") {
			p.element(part, false)
		}
		return
	}
	text = strings.TrimSpace(text)
	word, rest, starred := strings.Cut(text, "*")
	switch strings.ToLower(word) {
	case "srv":
		if starred {
			p.stores(strings.Split(rest, "*"))
			return
		}
	case "symsrv":
		if starred {
			_, rest, _ = strings.Cut(rest, "*")
			p.stores(strings.Split(rest, "*"))
			return
		}
	case "cache":
		if starred {
			p.cache, _, _ = strings.Cut(rest, "*")
			p.add(place{kind: placeFolder, path: p.cache})
			return
		}
	}
	if rest, ok := cutPrefixFold(text, "debuginfod:"); ok {
		p.server(placeDebuginfod, rest, p.cache)
		return
	}
	p.store(text, p.cache)
}

// stores takes the parts of a srv* element.
func (p *pathParser) stores(parts []string) {
	cache, named := p.cache, false
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if _, ok := cutURL(part); !ok && !named {
			cache, named = part, true
		}
		p.store(part, cache)
	}
}

// store takes a folder or the URL of a server.
func (p *pathParser) store(text, cache string) {
	scheme, ok := cutURL(text)
	switch {
	case !ok:
		kind := placeFolder
		if there, dir := p.exists(text); there && !dir {
			kind = placeFile
		}
		p.add(place{kind: kind, path: text})
	case scheme == "http" || scheme == "https":
		p.server(placeSymSrv, text, cache)
	default:
		p.add(place{kind: placeUnknown, path: text, why: message.Textf("not a symbol server of the kind that is known here: %s", scheme)})
	}
}

func (p *pathParser) server(kind placeKind, text, cache string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		p.add(place{kind: placeUnknown, path: withoutUser(text), why: message.Textf("not the URL of a symbol server")})
		return
	}
	u.User, u.Fragment = nil, ""
	p.add(place{kind: kind, path: u.String(), cache: cache})
}

// withoutUser cuts name and password out of a URL that cannot be parsed.
func withoutUser(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "..." + text[i:]
	}
	return text
}

func (p *pathParser) add(n place) {
	for _, have := range p.places {
		if have.kind == n.kind && have.path == n.path {
			return
		}
	}
	p.places = append(p.places, n)
}

// cutURL returns the scheme of a URL. A drive letter is none.
func cutURL(text string) (scheme string, ok bool) {
	scheme, _, ok = strings.Cut(text, "://")
	if !ok || len(scheme) < 2 {
		return "", false
	}
	for _, c := range scheme {
		if !('a' <= c|0x20 && c|0x20 <= 'z') {
			return "", false
		}
	}
	return strings.ToLower(scheme), true
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// prepare makes the places ready for use.
func (f *Finder) prepare() {
	f.once.Do(func() {
		if f.open == nil {
			f.open = func(path string) (*symbols.File, error) {
				file, err := openFile(path)
				if err == nil {
					file.Cache = f.Inflated
				}
				return file, err
			}
		}
		f.client = f.newClient()
		list := parsePath(f.Path, onDisk)
		if f.LogFolder != "" {
			list = append(list, place{kind: placeFolder, path: f.LogFolder})
		}
		list = append(list, f.environment()...)
		for _, p := range list {
			switch p.kind {
			case placeSymSrv, placeDebuginfod:
				if !f.hasServer(p) {
					f.servers = append(f.servers, newServer(p))
				}
				continue
			case placeFolder:
				if p.path == "" {
					p.path = f.Cache
				}
				if p.path == "" || f.hasFolder(p.path) {
					continue
				}
				f.local = append(f.local, localPlace{place: p, folder: &folder{path: p.path}})
				continue
			}
			f.local = append(f.local, localPlace{place: p})
		}
	})
}

// A localPlace is a place that needs no network, or none that the user did not
// name as a folder.
type localPlace struct {
	place
	folder *folder
}

func (f *Finder) hasServer(p place) bool {
	for _, srv := range f.servers {
		if srv.kind == p.kind && srv.path == p.path {
			return true
		}
	}
	return false
}

func (f *Finder) hasFolder(path string) bool {
	for _, p := range f.local {
		if p.folder != nil && filepath.Clean(p.path) == filepath.Clean(path) {
			return true
		}
	}
	return false
}

// userFolders returns the folders that the user named.
func (f *Finder) userFolders() []string {
	f.prepare()
	var dirs []string
	for _, p := range f.local {
		if p.folder != nil && p.path != f.LogFolder {
			dirs = append(dirs, p.path)
		}
	}
	return dirs
}
