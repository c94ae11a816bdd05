package store

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols/image"
)

// The limits of what is fetched from servers where the finder sets none.
const (
	DefaultMaxDownload    = 2 << 30 // bytes
	DefaultConnectTimeout = 10 * time.Second
	// Until the head of an answer comes a server may have to unpack the file.
	DefaultHeadTimeout  = 3 * time.Minute
	DefaultIdleTimeout  = 30 * time.Second
	DefaultTotalTimeout = 30 * time.Minute
)

const (
	// maxRedirects bounds the redirections followed for one file.
	maxRedirects = 5
	// missLifetime is how long a server is not asked again for what it did
	// not have.
	missLifetime = 24 * time.Hour
	// missFolder holds, below a cache folder, a small file for each miss.
	missFolder = "misses"
	// fetchFolder holds, below a cache folder, what is being fetched. A process
	// that was killed leaves it there, and after fetchStale it is removed: nothing
	// takes so long.
	fetchFolder = "fetching"
	fetchPrefix = ".fetch-"
	fetchStale  = 24 * time.Hour
)

// A server is a symbol server on the network.
type server struct {
	place
	base *url.URL

	mu   sync.Mutex
	down error // why the server is not asked again

	// tiersMu is held while the server is asked whether its store has two
	// tiers; tiers is the answer, once known.
	tiersMu      sync.Mutex
	tiers, known bool
}

func newServer(p place) *server {
	base, err := url.Parse(p.path)
	srv := &server{place: p, base: base}
	if err != nil {
		srv.base, srv.down = &url.URL{}, err
	}
	return srv
}

// String returns the server as the search path names it.
func (srv *server) String() string {
	if srv.kind == placeDebuginfod {
		return "debuginfod:" + srv.path
	}
	return srv.path
}

// cacheFolder returns the folder that a server's files are kept in.
func (f *Finder) cacheFolder(srv *server) string {
	if srv.cache != "" {
		return srv.cache
	}
	return f.Cache
}

// A request is a file that a server may have.
type request struct {
	// key is where the file is kept below the cache folder, by a layout in
	// which it is found again.
	key string
	// path is what is asked of the server, below its URL.
	path string
	// pointer says that the file only names the one that is wanted.
	pointer bool
}

// symbolRequests returns what to ask a server for a module's symbols.
func (srv *server) symbolRequests(names []string, id modules.Identity) []request {
	if srv.kind == placeDebuginfod {
		digits := hex.EncodeToString([]byte(id.BuildID))
		if len(digits) <= 2 {
			return nil
		}
		return []request{{path.Join(".build-id", digits[:2], digits[2:]+".debug"), "buildid/" + digits + "/debuginfo", false}}
	}
	var list []request
	for _, key := range symbolKeys(names, id) {
		if len(strings.Split(key, "/")) != 3 || strings.HasPrefix(key, ".build-id/") {
			continue // layouts of folders, not of servers
		}
		list = append(list, request{key: key, path: key})
		if strings.HasSuffix(strings.ToLower(key), ".pdb") {
			pointer := path.Join(path.Dir(key), pointerName)
			list = append(list, request{key: compressed(key), path: compressed(key)},
				request{key: key, path: pointer, pointer: true})
		}
	}
	return list
}

// imageRequests returns what to ask a server for a module's image.
func (srv *server) imageRequests(name string, id modules.Identity) []request {
	var list []request
	keys := imageKeys(name, id)
	if srv.kind == placeDebuginfod {
		if id.BuildID == "" || len(keys) == 0 {
			return nil
		}
		digits := hex.EncodeToString([]byte(id.BuildID))
		return []request{{keys[len(keys)-1], "buildid/" + digits + "/executable", false}}
	}
	for _, key := range keys {
		list = append(list, request{key: key, path: key})
	}
	return list
}

// askServers looks for the module's symbols, and if there are none for its
// image, on the servers and among what was fetched from them before.
func (s *search) askServers() {
	asked := make(map[*server]bool)
	s.serverSymbols(asked)
	if s.best[rankMatched] == nil && s.verified == nil {
		before := s.expected
		name := s.module.Name()
		for _, srv := range s.servers {
			for _, r := range srv.imageRequests(name, s.expected) {
				asked[srv] = true
				if path := s.obtain(srv, r, s.checkImage); path != "" && s.verified == nil {
					s.tryImage(path)
				}
			}
			if s.verified != nil {
				break
			}
		}
		if s.verified != nil && !s.useDebugInfo() {
			if s.expected != before {
				s.findSymbolFiles()
			}
			if s.best[rankMatched] == nil {
				s.serverSymbols(asked)
			}
		}
	}
	for _, srv := range s.servers {
		if !asked[srv] && s.best[rankMatched] == nil {
			s.note(srv.String(), "a symbol server, not asked: %s", s.whyNotAsked())
		}
	}
}

func (s *search) serverSymbols(asked map[*server]bool) {
	for _, srv := range s.servers {
		for _, r := range srv.symbolRequests(s.symbolNames(), s.expected) {
			if s.best[rankMatched] != nil || s.ctx.Err() != nil {
				return
			}
			asked[srv] = true
			if r.pointer {
				s.followPointer(srv, r)
			} else if path := s.obtain(srv, r, s.checkSymbols); path != "" {
				s.trySymbols(path, false)
			}
		}
	}
}

func (s *search) whyNotAsked() message.Text {
	switch {
	case !s.Network:
		return message.Textf("the network is switched off")
	case s.unused:
		return message.Textf("no record lies in the module")
	}
	return message.Textf("nothing was recorded to ask it by")
}

// noteOnce records an attempt that holds for a whole server.
func (s *search) noteOnce(path string, outcome message.Text) {
	if key := "\x00" + path + outcome.String(); !s.seen[key] {
		s.seen[key] = true
		s.noted(path, outcome)
	}
}

// askable reports whether a server may be asked for anything now; if not, the
// reason is noted.
func (s *search) askable(srv *server) bool {
	srv.mu.Lock()
	down := srv.down
	srv.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
	case !s.Network || s.unused:
		s.noteOnce(srv.String(), message.Textf("a symbol server, not asked: %s", s.whyNotAsked()))
	case s.cacheFolder(srv) == "":
		s.noteOnce(srv.String(), message.Textf("a symbol server, not asked: there is no folder to keep its files in"))
	case down != nil:
		s.noteOnce(srv.String(), message.Textf("a symbol server, not asked again: %v", down))
		s.trouble = message.Textf("%s: %v", srv, down)
	default:
		return true
	}
	return false
}

// address returns where a server has a path of its store.
func (s *search) address(srv *server, path string) *url.URL {
	if srv.kind == placeSymSrv && s.hasTiers(srv) {
		path = twoTier(path)
	}
	return srv.below(path)
}

func (srv *server) below(path string) *url.URL {
	u := *srv.base
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+"/"+path, ""
	return &u
}

// hasTiers reports whether a server's store has two tiers, as the file
// index2.txt in its root says. It is asked once.
func (s *search) hasTiers(srv *server) bool {
	srv.tiersMu.Lock()
	defer srv.tiersMu.Unlock()
	if srv.known {
		return srv.tiers
	}
	u, cache := srv.below("index2.txt"), s.cacheFolder(srv)
	if _, _, ok := recallMiss(cache, u.String(), 0); ok {
		srv.known = true
		return false
	}
	text, err := s.get(u)
	switch {
	case err == nil:
		// Some servers answer any question with a page.
		srv.known, srv.tiers = true, !strings.HasPrefix(strings.TrimSpace(text), "<")
	case s.ctx.Err() != nil:
		s.note(u.String(), "cancelled")
	case errors.Is(err, errMissing):
		srv.known = true
		rememberMiss(cache, u.String(), missing)
	default:
		srv.known = true
		if !mild(err) {
			s.failed(srv, u.String(), err)
		}
	}
	return srv.tiers
}

// obtain returns the path of a file in the cache of a server, fetched from the
// server where it is not there yet, or "". A file is kept only if check finds
// that it is the one that was asked for.
func (s *search) obtain(srv *server, r request, check func(path string) error) string {
	cache := s.cacheFolder(srv)
	key := r.key
	if cache != "" && isRegular(filepath.Join(cache, "index2.txt")) {
		key = twoTier(key)
	}
	kept := filepath.Join(cache, filepath.FromSlash(key))
	if cache != "" && isRegular(kept) {
		return kept
	}
	if !s.askable(srv) {
		return ""
	}
	u := s.address(srv, r.path)
	address := u.String()
	if s.missed(cache, address) || !s.askable(srv) {
		return ""
	}
	size, err := s.fetch(u, cache, kept, check)
	var refusal *unfitError
	switch {
	case err == nil:
		s.note(address, "fetched, %d bytes", size)
		return kept
	case s.ctx.Err() != nil:
		s.note(address, "cancelled")
	case errors.Is(err, errMissing):
		s.note(address, "not there")
		rememberMiss(cache, address, missing)
	case errors.Is(err, errTooLarge):
		s.failed(srv, address, err)
		rememberMiss(cache, address, tooLarge+strconv.FormatInt(orDefault(s.MaxDownload, DefaultMaxDownload), 10))
	case errors.As(err, &refusal):
		s.note(address, "not kept: %v", refusal.err)
		// What cannot be read may be a page that asks to log in, and go away.
		if errors.Is(err, errOtherBuild) {
			rememberMiss(cache, address, otherFile)
		}
	default:
		s.failed(srv, address, err)
	}
	return ""
}

// missed notes a miss that is remembered.
func (s *search) missed(cache, address string) bool {
	age, outcome, ok := recallMiss(cache, address, orDefault(s.MaxDownload, DefaultMaxDownload))
	if ok {
		left := (missLifetime - age).Round(time.Minute)
		s.note(address, "not asked: %s before (%s ago); asked again in %s, or when %s is deleted", outcome,
			plainDuration(age.Round(time.Minute)), plainDuration(left), filepath.Join(cache, missFolder))
	}
	return ok
}

// plainDuration writes whole minutes without seconds.
func plainDuration(d time.Duration) string {
	if d < time.Minute {
		return "0m"
	}
	return strings.TrimSuffix(d.String(), "0s")
}

// failed notes what went wrong with a server, and gives it up where that does
// not concern the one file alone.
func (s *search) failed(srv *server, address string, err error) {
	cause := plainNetError(err)
	s.note(address, "%v", cause)
	s.trouble = message.Textf("%s: %v", srv, cause)
	if !mild(err) {
		srv.mu.Lock()
		srv.down = cause
		srv.mu.Unlock()
	}
}

// mild reports whether an error concerns one file and not the whole server.
func mild(err error) bool {
	var answer *answerError
	return errors.Is(err, errTooLarge) || errors.Is(err, errRedirect) || errors.Is(err, errKeep) ||
		errors.As(err, &answer) && answer.mild()
}

// followPointer asks for a file.ptr, which names a file on another machine.
// Of that only the last element counts: it is asked of the same folder of the
// server, and looked for in the user's folders.
func (s *search) followPointer(srv *server, r request) {
	if !s.askable(srv) {
		return
	}
	cache, u := s.cacheFolder(srv), s.address(srv, r.path)
	address := u.String()
	if s.missed(cache, address) || !s.askable(srv) {
		return
	}
	text, err := s.get(u)
	switch {
	case err == nil:
	case s.ctx.Err() != nil:
		s.note(address, "cancelled")
		return
	case errors.Is(err, errMissing):
		s.note(address, "not there")
		rememberMiss(cache, address, missing)
		return
	default:
		s.failed(srv, address, err)
		return
	}
	target, ok := pointerTarget(text)
	if !ok {
		s.note(address, "names no file")
		return
	}
	s.note(address, "names %q, of which only the last element counts", target)
	name := modules.BaseName(target)
	if !plainName(name) {
		return
	}
	key, wanted := r.key, path.Base(r.key)
	if strings.HasSuffix(name, "_") {
		key, wanted = compressed(key), path.Base(compressed(key))
	}
	if !strings.EqualFold(name, wanted) {
		at := request{key: key, path: path.Join(path.Dir(r.path), name)}
		if path := s.obtain(srv, at, s.checkSymbols); path != "" {
			s.trySymbols(path, false)
		}
	}
	for _, p := range s.local {
		if p.folder != nil && s.best[rankMatched] == nil {
			if path := p.folder.find(name); path != "" {
				s.trySymbols(path, false)
			}
		}
	}
}

// checkSymbols reports why a file is not the symbols that are looked for.
func (s *search) checkSymbols(path string) error {
	table, err := s.openPlaced(path)
	if err != nil {
		return err
	}
	defer table.Close()
	if match, why := s.compareTable(table); match != modules.Same {
		return message.Wrap(errOtherBuild, "%s of another build: %s", table.Describe(), why)
	}
	return nil
}

// checkImage reports why a file is not the module's image.
func (s *search) checkImage(path string) error {
	file, err := s.open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	img, err := image.Open(file)
	if err != nil {
		return plainError(err)
	}
	if match, why := s.compareImage(img); match != modules.Same {
		return message.Wrap(errOtherBuild, "an image of another build: %s", why)
	}
	return nil
}

var (
	errMissing    = message.New("not there")
	errOtherBuild = message.New("of another build")
	errTooLarge   = message.New("larger than the limit")
	errRedirect   = message.New("redirected to a place that is not allowed")
	errKeep       = message.New("cannot be kept")
	errIdle       = message.Wrap(nil, "time-out: nothing came from the server")
	errTotal      = message.Wrap(nil, "time-out: the file took too long")
)

// An answerError is an HTTP status that is no file.
type answerError struct {
	code   int
	status string
}

func (e *answerError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error in words.
func (e *answerError) Unwrap() error {
	if e.code == http.StatusUnauthorized || e.code == http.StatusProxyAuthRequired {
		return message.Wrap(nil, "the server asks for credentials, which are not sent (%s)", e.status)
	}
	return message.Wrap(nil, "the server answered %s", e.status)
}

// mild reports whether the answer is about the one file: stores that must not
// be listed refuse what they do not have.
func (e *answerError) mild() bool {
	return e.code < 500 && e.code != http.StatusUnauthorized && e.code != http.StatusTooManyRequests
}

// An unfitError says why a file that was fetched is not what was asked for.
type unfitError struct{ err error }

func (e *unfitError) Error() string { return e.err.Error() }
func (e *unfitError) Unwrap() error { return e.err }

// plainNetError returns the cause without the method and URL.
func plainNetError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func orDefault[T int64 | time.Duration](v, other T) T {
	if v > 0 {
		return v
	}
	return other
}

// newClient makes the client of all servers. It sends no cookies, and
// credentials neither of URLs nor of redirections.
func (f *Finder) newClient() *http.Client {
	connect := orDefault(f.ConnectTimeout, DefaultConnectTimeout)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: connect}).DialContext,
			TLSHandshakeTimeout:    connect,
			MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout:        10 * time.Second,
			ForceAttemptHTTP2:      true,
			// A compressed answer could be inflated without bound.
			DisableCompression: true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch {
			case len(via) > maxRedirects:
				return message.Wrap(errRedirect, "redirected more than %d times", maxRedirects)
			case req.URL.Scheme != "http" && req.URL.Scheme != "https":
				return message.Wrap(errRedirect, "redirected to a place that is not allowed: %s", req.URL.Scheme)
			case req.URL.User != nil:
				return message.Wrap(errRedirect, "redirected to a place that is not allowed: it holds credentials")
			case req.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https":
				return message.Wrap(errRedirect, "redirected to a place that is not allowed: http from https")
			case !f.mayLeadTo(via[0].URL, req.URL):
				return message.Wrap(errRedirect, "redirected to a place that is not allowed: %s, which is not named as a server", req.URL.Host)
			}
			req.Header.Del("Referer")
			return nil
		},
	}
}

// download asks a server for a file and writes it to what begin returns.
func (s *search) download(u *url.URL, limit int64, begin func() (io.Writer, error)) (size int64, err error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, orDefault(s.TotalTimeout, DefaultTotalTimeout), errTotal)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	idle := orDefault(s.IdleTimeout, DefaultIdleTimeout)
	timer := time.AfterFunc(orDefault(s.HeadTimeout, DefaultHeadTimeout)+orDefault(s.ConnectTimeout, DefaultConnectTimeout), func() { stop(errIdle) })
	defer timer.Stop()
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil && s.ctx.Err() == nil {
			err = cause
		}
	}()

	if s.Progress != nil {
		s.Progress(u.String(), 0, -1)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("User-Agent", "LogParser")
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return 0, errMissing
	default:
		return 0, &answerError{resp.StatusCode, resp.Status}
	}
	if resp.ContentLength > limit {
		return 0, message.Wrap(errTooLarge, "larger than the limit of %d bytes: it is %d bytes", limit, resp.ContentLength)
	}
	w, err := begin()
	if err != nil {
		return 0, cannotKeep(err)
	}
	block := make([]byte, min(256<<10, limit+1))
	for {
		timer.Reset(idle)
		n, err := resp.Body.Read(block)
		if size += int64(n); size > limit {
			return 0, message.Wrap(errTooLarge, "larger than the limit of %d bytes", limit)
		}
		if _, err := w.Write(block[:n]); err != nil {
			return 0, cannotKeep(err)
		}
		if n > 0 && s.Progress != nil {
			s.Progress(u.String(), size, resp.ContentLength)
		}
		if err == io.EOF {
			return size, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

func cannotKeep(err error) error { return message.Wrap(errKeep, "cannot be kept: %v", plainError(err)) }

// get returns a small file of a server.
func (s *search) get(u *url.URL) (string, error) {
	var text strings.Builder
	_, err := s.download(u, maxPointer, func() (io.Writer, error) { return &text, nil })
	return text.String(), err
}

// fetch gets a file from a server and moves it to its place if check permits.
// What was there of it is removed again on an error.
func (s *search) fetch(u *url.URL, cache, kept string, check func(path string) error) (size int64, err error) {
	var tmp *os.File
	folder := filepath.Join(cache, fetchFolder)
	defer func() {
		if tmp != nil && err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
			removeEmpty(filepath.Dir(kept))
		}
		os.Remove(folder) // if nobody else fetches anything
	}()
	size, err = s.download(u, orDefault(s.MaxDownload, DefaultMaxDownload), func() (w io.Writer, err error) {
		removeStale(folder)
		removeStale(filepath.Dir(kept)) // where earlier versions fetched to
		// Somebody whose file is done may remove the folder meanwhile.
		for range 8 {
			if err = os.MkdirAll(folder, 0o777); err == nil {
				tmp, err = os.CreateTemp(folder, fetchPrefix+"*")
			}
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
				break
			}
		}
		if err != nil {
			return nil, err // not tmp, which would be a writer that is nil
		}
		return tmp, nil
	})
	if err != nil {
		return 0, err
	}
	if err := tmp.Close(); err != nil {
		return 0, cannotKeep(err)
	}
	if err := check(tmp.Name()); err != nil {
		return 0, &unfitError{plainError(err)}
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o777); err != nil {
		return 0, cannotKeep(err)
	}
	if err := os.Rename(tmp.Name(), kept); err != nil {
		// Somebody else may have fetched it meanwhile, and have it open.
		if !isRegular(kept) {
			return 0, cannotKeep(err)
		}
		os.Remove(tmp.Name())
	}
	return size, nil
}

// removeStale removes what killed processes left of files that they fetched; whole files are never removed by age or size.
func removeStale(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); strings.HasPrefix(e.Name(), fetchPrefix) && err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > fetchStale {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// removeEmpty removes the folders of a key that were made for a file which
// was not kept; those that are not empty stay.
func removeEmpty(dir string) {
	if os.Remove(dir) == nil {
		os.Remove(filepath.Dir(dir))
	}
}
