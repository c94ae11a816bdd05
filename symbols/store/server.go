package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"logparser/modules"
	"logparser/symbols/image"
)

// The limits of what is fetched from servers where the finder sets none.
const (
	DefaultMaxDownload    = 2 << 30 // bytes
	DefaultConnectTimeout = 10 * time.Second
	DefaultIdleTimeout    = 30 * time.Second
	DefaultTotalTimeout   = 30 * time.Minute
)

const (
	// maxRedirects bounds the redirections followed for one file.
	maxRedirects = 5
	// missLifetime is how long a server is not asked again for what it did
	// not have.
	missLifetime = 24 * time.Hour
	// missFolder holds, below a cache folder, a small file for each miss.
	missFolder = "misses"
)

// A server is a symbol server on the network.
type server struct {
	place
	base *url.URL

	mu   sync.Mutex
	down error // why the server is not asked again
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
}

// symbolRequests returns what to ask a server for a module's symbols.
func (srv *server) symbolRequests(names []string, id modules.Identity) []request {
	if srv.kind == placeDebuginfod {
		digits := hex.EncodeToString([]byte(id.BuildID))
		if len(digits) <= 2 {
			return nil
		}
		return []request{{path.Join(".build-id", digits[:2], digits[2:]+".debug"), "buildid/" + digits + "/debuginfo"}}
	}
	var list []request
	for _, key := range symbolKeys(names, id) {
		if len(strings.Split(key, "/")) != 3 || strings.HasPrefix(key, ".build-id/") {
			continue // layouts of folders, not of servers
		}
		list = append(list, request{key, key})
		if strings.HasSuffix(strings.ToLower(key), ".pdb") {
			list = append(list, request{compressed(key), compressed(key)})
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
		return []request{{keys[len(keys)-1], "buildid/" + digits + "/executable"}}
	}
	for _, key := range keys {
		list = append(list, request{key, key})
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
		if s.verified != nil {
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
			s.note(srv.String(), "a symbol server, not asked: %s", s.whyNotAsked(srv))
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
			if path := s.obtain(srv, r, s.checkSymbols); path != "" {
				s.trySymbols(path, false)
			}
		}
	}
}

func (s *search) whyNotAsked(srv *server) string {
	if !s.Network {
		return "the network is switched off"
	}
	return "nothing was recorded to ask it by"
}

// noteOnce records an attempt that holds for a whole server.
func (s *search) noteOnce(path, outcome string) {
	if key := "\x00" + path + outcome; !s.seen[key] {
		s.seen[key] = true
		s.note(path, "%s", outcome)
	}
}

// obtain returns the path of a file in the cache of a server, fetched from the
// server where it is not there yet, or "". A file is kept only if check finds
// that it is the one that was asked for.
func (s *search) obtain(srv *server, r request, check func(path string) error) string {
	if s.ctx.Err() != nil {
		return ""
	}
	cache := s.cacheFolder(srv)
	key := r.key
	if cache != "" && isRegular(filepath.Join(cache, "index2.txt")) {
		key = twoTier(key)
	}
	kept := filepath.Join(cache, filepath.FromSlash(key))
	if cache != "" && isRegular(kept) {
		return kept
	}
	if !s.Network {
		s.noteOnce(srv.String(), "a symbol server, not asked: the network is switched off")
		return ""
	}
	if cache == "" {
		s.noteOnce(srv.String(), "a symbol server, not asked: there is no folder to keep its files in")
		return ""
	}
	srv.mu.Lock()
	down := srv.down
	srv.mu.Unlock()
	if down != nil {
		s.noteOnce(srv.String(), "a symbol server, not asked again: "+down.Error())
		return ""
	}
	u := *srv.base
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+"/"+r.path, ""
	address := u.String()
	if age, outcome, ok := recallMiss(cache, address); ok {
		s.note(address, "not asked: %s before (%s ago)", outcome, age.Round(time.Minute))
		return ""
	}
	size, err := s.fetch(&u, kept, check)
	var refusal *unfitError
	switch {
	case err == nil:
		s.note(address, "fetched, %d bytes", size)
		return kept
	case s.ctx.Err() != nil:
		s.note(address, "cancelled")
	case errors.Is(err, errMissing):
		s.note(address, "not there")
		rememberMiss(cache, address, "not there")
	case errors.As(err, &refusal):
		s.note(address, "not kept: %v", refusal.err)
		rememberMiss(cache, address, "it had another file there")
	default:
		s.note(address, "%v", plainNetError(err))
		var answer *answerError
		if !errors.Is(err, errTooLarge) && !errors.Is(err, errRedirect) && !errors.Is(err, errKeep) &&
			!(errors.As(err, &answer) && answer.mild()) {
			srv.mu.Lock()
			srv.down = plainNetError(err)
			srv.mu.Unlock()
		}
	}
	return ""
}

// checkSymbols reports why a file is not the symbols that are looked for.
func (s *search) checkSymbols(path string) error {
	table, err := s.openTable(path)
	if err != nil {
		return err
	}
	defer table.Close()
	if match, why := s.compareTable(table); match != modules.Same {
		return fmt.Errorf("%s of another build: %s", table.Describe(), why)
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
		return fmt.Errorf("an image of another build: %s", why)
	}
	return nil
}

var (
	errMissing  = errors.New("not there")
	errTooLarge = errors.New("larger than the limit")
	errRedirect = errors.New("redirected to a place that is not allowed")
	errKeep     = errors.New("cannot be kept")
	errIdle     = errors.New("time-out: nothing came from the server")
	errTotal    = errors.New("time-out: the file took too long")
)

// An answerError is an HTTP status that is no file.
type answerError struct {
	code   int
	status string
}

func (e *answerError) Error() string {
	if e.code == http.StatusUnauthorized || e.code == http.StatusProxyAuthRequired {
		return "the server asks for credentials, which are not sent (" + e.status + ")"
	}
	return "the server answered " + e.status
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
				return fmt.Errorf("%w: more than %d times", errRedirect, maxRedirects)
			case req.URL.Scheme != "http" && req.URL.Scheme != "https":
				return fmt.Errorf("%w: %s", errRedirect, req.URL.Scheme)
			case req.URL.User != nil:
				return fmt.Errorf("%w: it holds credentials", errRedirect)
			}
			req.Header.Del("Referer")
			return nil
		},
	}
}

// fetch gets a file from a server and moves it to its place if check permits.
// What was there of it is removed again on an error.
func (s *search) fetch(u *url.URL, kept string, check func(path string) error) (size int64, err error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, orDefault(s.TotalTimeout, DefaultTotalTimeout), errTotal)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	idle := orDefault(s.IdleTimeout, DefaultIdleTimeout)
	timer := time.AfterFunc(idle+orDefault(s.ConnectTimeout, DefaultConnectTimeout), func() { stop(errIdle) })
	defer timer.Stop()
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil && s.ctx.Err() == nil {
			err = cause
		}
	}()

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
	limit := orDefault(s.MaxDownload, DefaultMaxDownload)
	if resp.ContentLength > limit {
		return 0, fmt.Errorf("%w of %d bytes: it is %d bytes", errTooLarge, limit, resp.ContentLength)
	}

	if err := os.MkdirAll(filepath.Dir(kept), 0o777); err != nil {
		return 0, fmt.Errorf("%w: %v", errKeep, plainError(err))
	}
	tmp, err := os.CreateTemp(filepath.Dir(kept), ".fetch-*")
	if err != nil {
		return 0, fmt.Errorf("%w: %v", errKeep, plainError(err))
	}
	defer func() {
		tmp.Close()
		if err != nil {
			os.Remove(tmp.Name())
			removeEmpty(filepath.Dir(kept))
		}
	}()
	block := make([]byte, 256<<10)
	for {
		timer.Reset(idle)
		n, err := resp.Body.Read(block)
		if size += int64(n); size > limit {
			return 0, fmt.Errorf("%w of %d bytes", errTooLarge, limit)
		}
		if _, err := tmp.Write(block[:n]); err != nil {
			return 0, fmt.Errorf("%w: %v", errKeep, plainError(err))
		}
		if n > 0 && s.Progress != nil {
			s.Progress(u.String(), size, resp.ContentLength)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	timer.Stop()
	if err := tmp.Close(); err != nil {
		return 0, fmt.Errorf("%w: %v", errKeep, plainError(err))
	}
	if err := check(tmp.Name()); err != nil {
		return 0, &unfitError{plainError(err)}
	}
	if err := os.Rename(tmp.Name(), kept); err != nil {
		os.Remove(tmp.Name())
		// Somebody else may have fetched it meanwhile, and have it open.
		if !isRegular(kept) {
			return 0, fmt.Errorf("%w: %v", errKeep, plainError(err))
		}
	}
	return size, nil
}

// removeEmpty removes the folders of a key that were made for a file which
// was not kept; those that are not empty stay.
func removeEmpty(dir string) {
	if os.Remove(dir) == nil {
		os.Remove(filepath.Dir(dir))
	}
}

func missFile(cache, address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(cache, missFolder, hex.EncodeToString(sum[:16]))
}

// rememberMiss notes that a server did not have a file. A miss that cannot be
// noted is asked again.
func rememberMiss(cache, address, outcome string) {
	path := missFile(cache, address)
	if os.MkdirAll(filepath.Dir(path), 0o777) == nil {
		os.WriteFile(path, []byte(outcome+"\n"+address+"\n"), 0o666)
	}
}

// recallMiss tells of a miss noted less than missLifetime ago.
func recallMiss(cache, address string) (age time.Duration, outcome string, ok bool) {
	path := missFile(cache, address)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, "", false
	}
	age = time.Since(info.ModTime())
	if age < 0 || age > missLifetime {
		return 0, "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, "", false
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxPointer))
	outcome, rest, _ := strings.Cut(string(text), "\n")
	return age, outcome, strings.TrimSuffix(rest, "\n") == address
}
