package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logparser/modules"
	"logparser/symbols"
)

// A testServer is a symbol server on loopback that keeps what it was asked,
// besides whether its store has two tiers, which it denies.
type testServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	tiers int
}

func serve(t *testing.T, handle http.HandlerFunc) *testServer {
	t.Helper()
	s := &testServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "index2.txt" {
			s.mu.Lock()
			s.tiers++
			s.mu.Unlock()
			http.NotFound(w, r)
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		for _, h := range []string{"Authorization", "Cookie", "Referer", "Proxy-Authorization"} {
			if r.Header.Get(h) != "" {
				t.Errorf("%s was sent: %q", h, r.Header.Get(h))
			}
		}
		if r.Method != http.MethodGet {
			t.Errorf("method %s", r.Method)
		}
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *testServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// kept lists the files below a cache folder that are no misses.
func kept(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if !strings.HasPrefix(rel, missFolder) {
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// networked returns a finder that asks a server and keeps files in dir.
func networked(dir string, path ...string) *Finder {
	f := NewFinder(formats, path, "", false)
	f.Network, f.Cache = true, dir
	f.ConnectTimeout, f.HeadTimeout, f.IdleTimeout, f.TotalTimeout = 5*time.Second, 5*time.Second, 5*time.Second, 20*time.Second
	return f
}

func outcomes(b symbols.Binding) string {
	var list []string
	for _, a := range b.Attempts {
		list = append(list, a.Path+": "+a.Outcome.String())
	}
	return strings.Join(list, "\n")
}

const clangPath = "/s/logtest.pdb/" + clangKey + "/logtest.pdb"

// TestSymSrv holds what is asked of a server, and what is kept.
func TestSymSrv(t *testing.T) {
	data := read(t, clang+"logtest.pdb")
	tests := []struct {
		name, at string
		requests int
	}{
		{"plain", clangPath, 1},
		{"compressed name", clangPath[:len(clangPath)-1] + "_", 2},
		{"other guess of the name", "/s/logtest.exe.pdb/" + clangKey + "/logtest.exe.pdb", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != tt.at {
					http.NotFound(w, r)
					return
				}
				w.Write(data)
			})
			dir := t.TempDir()
			mod := recorded(t, clang, "logtest.exe")
			f := networked(dir, strings.Replace(server.URL, "http://", "http://user:secret@", 1)+"/s/")
			var done, total int64
			f.Progress = func(url string, d, n int64) { done, total = d, n }
			b, _, _ := run(t, dir, f, mod)
			key := strings.TrimPrefix(tt.at, "/s/")
			if b.Status != symbols.Matched || b.File != filepath.Join(dir, filepath.FromSlash(key)) {
				t.Fatalf("%s, %s\n%s", b.Status, b.File, outcomes(b))
			}
			if n := len(server.requests()); n != tt.requests {
				t.Errorf("%d requests, want %d: %q", n, tt.requests, server.requests())
			}
			if done != int64(len(data)) || total != done && total != -1 {
				t.Errorf("progress %d of %d, want %d", done, total, len(data))
			}
			if strings.Contains(outcomes(b), "secret") {
				t.Errorf("credentials are shown:\n%s", outcomes(b))
			}
			// What was fetched is found again without the network.
			f = networked(dir, server.URL+"/s")
			f.Network = false
			if b, _, _ := run(t, dir, f, mod); b.Status != symbols.Matched {
				t.Errorf("from the cache: %s\n%s", b.Status, outcomes(b))
			}
			if n := len(server.requests()); n != tt.requests {
				t.Errorf("asked again: %q", server.requests())
			}
		})
	}
}

func TestNetworkOff(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	dir := t.TempDir()
	f := NewFinder(formats, []string{"srv*" + dir + "*" + server.URL + ";debuginfod:" + server.URL}, "", true)
	for _, mod := range []*modules.Module{recorded(t, clang, "logtest.exe"), recorded(t, linux, "logtest"), {Path: "/opt/none"}} {
		b, _, _ := run(t, dir, f, mod)
		if n := strings.Count(outcomes(b), "a symbol server, not asked: the network is switched off"); n != 2 {
			t.Errorf("%s: the switch is told of %d times, want 2:\n%s", mod.Path, n, outcomes(b))
		}
	}
	if len(server.requests()) > 0 || len(kept(t, dir)) > 0 {
		t.Errorf("asked %q, kept %q", server.requests(), kept(t, dir))
	}
}

// TestDownstream keeps files in the first store of srv*.
func TestDownstream(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, clang+"logtest.pdb") })
	near, far, other := t.TempDir(), t.TempDir(), t.TempDir()
	b, _, _ := run(t, near, networked(other, "srv*"+near+"*"+far+"*"+server.URL+"/s"), recorded(t, clang, "logtest.exe"))
	if b.Status != symbols.Matched || len(kept(t, near)) != 1 || len(kept(t, far))+len(kept(t, other)) != 0 {
		t.Errorf("%s, kept %q, %q, %q\n%s", b.Status, kept(t, near), kept(t, far), kept(t, other), outcomes(b))
	}
}

// TestTwoTierCache keeps files where a store of two tiers has them.
func TestTwoTierCache(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, clang+"logtest.pdb") })
	dir := t.TempDir()
	plant(t, dir, "index2.txt:")
	mod := recorded(t, clang, "logtest.exe")
	b, _, _ := run(t, dir, networked(dir, server.URL+"/s"), mod)
	if want := "lo/logtest.pdb/" + clangKey + "/logtest.pdb"; b.File != filepath.Join(dir, filepath.FromSlash(want)) {
		t.Errorf("%s, %s\n%s", b.Status, b.File, outcomes(b))
	}
	if b, _, _ := find(t, dir, mod, dir); b.Status != symbols.Matched {
		t.Errorf("as a store: %s\n%s", b.Status, outcomes(b))
	}
}

// TestBadServers holds what a server does wrong: no names, nothing kept.
func TestBadServers(t *testing.T) {
	data := read(t, clang+"logtest.pdb")
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked", r.URL) })
	tests := []struct {
		name   string
		handle http.HandlerFunc
		set    func(f *Finder)
		want   string // in the attempts
		down   bool   // the server is given up
	}{
		{"too large, said", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			w.Write(data)
		},
			func(f *Finder) { f.MaxDownload = 1000 }, fmt.Sprintf("larger than the limit of 1000 bytes: it is %d bytes", len(data)), false},
		{"too large, not said", func(w http.ResponseWriter, r *http.Request) {
			for range 10 {
				w.Write(make([]byte, 1000))
				w.(http.Flusher).Flush()
			}
		}, func(f *Finder) { f.MaxDownload = 1000 }, "larger than the limit of 1000 bytes", false},
		{"of another build", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, clangCL+"logtest.pdb") }, nil,
			"not kept: PDB 7.00 of another build: it is 117D8B4D", false},
		{"a page in its stead", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>please log in</html>") }, nil,
			"not kept: not a symbol file", false},
		{"empty", func(w http.ResponseWriter, r *http.Request) {}, nil, "not kept: ", false},
		{"cut off", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			w.Write(data[:len(data)/2])
			panic(http.ErrAbortHandler)
		}, nil, "unexpected EOF", true},
		{"no answer", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			func(f *Finder) { f.ConnectTimeout, f.HeadTimeout = 50*time.Millisecond, 100*time.Millisecond }, "time-out: nothing came", true},
		{"half an answer", func(w http.ResponseWriter, r *http.Request) {
			w.Write(data[:len(data)/2])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, func(f *Finder) { f.ConnectTimeout, f.IdleTimeout = 50*time.Millisecond, 200*time.Millisecond }, "time-out: nothing came", true},
		{"dripping", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Write([]byte{0})
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, func(f *Finder) { f.TotalTimeout = 300 * time.Millisecond }, "time-out: the file took too long", true},
		{"redirected to a file", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}, nil, "redirected to a place that is not allowed: file", false},
		{"redirected to a share", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", `file://server/share/logtest.pdb`)
			w.WriteHeader(http.StatusFound)
		}, nil, "redirected to a place that is not allowed: file", false},
		{"redirected with credentials", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://user:secret@"+r.Host+"/", http.StatusFound)
		}, nil, "redirected to a place that is not allowed: it holds credentials", false},
		{"redirected to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		}, nil, "which is not named as a server", false},
		{"redirected for ever", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, nil, "more than 5 times", false},
		{"asks for a password", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
		}, nil, "credentials, which are not sent", true},
		{"refuses", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }, nil, "403 Forbidden", false},
		{"out of order", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) }, nil, "502 Bad Gateway", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tt.handle)
			dir := t.TempDir()
			f := networked(dir, server.URL+"/s")
			if tt.set != nil {
				tt.set(f)
			}
			b, _, _ := run(t, dir, f, recorded(t, clang, "logtest.exe"))
			text := outcomes(b)
			if b.Status != symbols.NotFound || b.Table != nil {
				t.Errorf("%s, %s", b.Status, b.File)
			}
			if !strings.Contains(text, tt.want) || strings.Contains(text, "secret") {
				t.Errorf("attempts do not say %q:\n%s", tt.want, text)
			}
			if files := kept(t, dir); len(files) > 0 {
				t.Errorf("kept %q", files)
			}
			if down := strings.Contains(text, "not asked again"); down != tt.down {
				t.Errorf("given up %v, want %v:\n%s", down, tt.down, text)
			}
			if tt.down && len(server.requests()) != 1 {
				t.Errorf("asked again: %q", server.requests())
			}
		})
	}
}

func TestRedirect(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var hop int
		if n, _ := fmt.Sscanf(r.URL.Path, "/hop%d", &hop); n == 1 && hop == maxRedirects {
			http.ServeFile(w, r, clang+"logtest.pdb")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/hop%d", hop+1), http.StatusFound)
	})
	dir := t.TempDir()
	if b, _, _ := run(t, dir, networked(dir, server.URL), recorded(t, clang, "logtest.exe")); b.Status != symbols.Matched {
		t.Errorf("%s\n%s", b.Status, outcomes(b))
	}
}

func TestCancelledDownload(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 1000))
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	dir := t.TempDir()
	f := networked(dir, server.URL)
	begin := time.Now()
	b := f.Find(ctx, recorded(t, clang, "logtest.exe"))
	if b.Status != symbols.NotFound || !strings.Contains(outcomes(b), "cancelled") || len(server.requests()) != 1 {
		t.Errorf("%s, asked %q\n%s", b.Status, server.requests(), outcomes(b))
	}
	if since := time.Since(begin); since > 4*time.Second {
		t.Errorf("it took %v", since)
	}
	if misses, _ := filepath.Glob(filepath.Join(dir, missFolder, "*")); len(kept(t, dir)) > 0 || len(misses) != server.tiers {
		t.Errorf("kept %q, misses %q", kept(t, dir), misses)
	}
}

func TestDebuginfod(t *testing.T) {
	mod := recorded(t, linux, "logtest")
	build := hex.EncodeToString([]byte(mod.Identity.BuildID))
	debug, image := "/d/buildid/"+build+"/debuginfo", "/d/buildid/"+build+"/executable"
	tests := []struct {
		name    string
		has     map[string]string
		want    symbols.Status
		keeps   string
		outcome string
	}{
		{"debuginfo", map[string]string{debug: linux + "logtest"}, symbols.Matched,
			".build-id/" + build[:2] + "/" + build[2:] + ".debug", "fetched"},
		{"executable", map[string]string{image: linux + "logtest"}, symbols.Embedded,
			"logtest/elf-buildid-" + build + "/logtest", "fetched"},
		{"another build", map[string]string{debug: linux + "liblogtest_shapes.so", image: linux + "liblogtest_shapes.so"}, symbols.NotFound,
			"", "not kept: an image of another build"},
		{"neither", nil, symbols.NotFound, "", "not there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if file, ok := tt.has[r.URL.Path]; ok {
					http.ServeFile(w, r, file)
					return
				}
				http.NotFound(w, r)
			})
			dir := t.TempDir()
			path := "debuginfod:" + server.URL + "/d"
			b, _, _ := run(t, dir, networked(dir, path), mod)
			if b.Status != tt.want || strings.Join(kept(t, dir), " ") != tt.keeps || !strings.Contains(outcomes(b), tt.outcome) {
				t.Errorf("%s, kept %q\n%s", b.Status, kept(t, dir), outcomes(b))
			}
			for _, r := range server.requests() {
				if r != debug && r != image {
					t.Errorf("asked for %s", r)
				}
			}
			// Found again in the cache, as a server's and as a store.
			for _, again := range []string{path, dir} {
				f := NewFinder(formats, []string{again}, "", false)
				f.Cache = dir
				if b, _, _ := run(t, dir, f, mod); b.Status != tt.want {
					t.Errorf("%s, from the cache: %s\n%s", again, b.Status, outcomes(b))
				}
			}
		})
	}
}

// TestImageThenPDB knows only timestamp and size: the image says which PDB to
// ask for.
func TestImageThenPDB(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/s/logtest.exe/6B018F1926000/logtest.exe":
			http.ServeFile(w, r, clang+"logtest.exe")
		case clangPath:
			http.ServeFile(w, r, clang+"logtest.pdb")
		default:
			http.NotFound(w, r)
		}
	})
	dir := t.TempDir()
	mod := *recorded(t, clang, "logtest.exe")
	mod.Identity = modules.Identity{Timestamp: 0x6B018F19, ImageSize: 0x26000}
	b, _, _ := run(t, dir, networked(dir, server.URL+"/s"), &mod)
	if b.Status != symbols.Matched || len(kept(t, dir)) != 2 || len(server.requests()) != 2 {
		t.Errorf("%s, kept %q, asked %q\n%s", b.Status, kept(t, dir), server.requests(), outcomes(b))
	}
}

// TestConcurrentFetch has many modules of one file, as the runs of a log have.
func TestConcurrentFetch(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, clang+"logtest.pdb") })
	dir := t.TempDir()
	f := networked(dir, server.URL)
	mod := recorded(t, clang, "logtest.exe")
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			b := f.Find(context.Background(), mod)
			if b.Status != symbols.Matched {
				t.Errorf("%s\n%s", b.Status, outcomes(b))
				return
			}
			b.Table.Close()
		}()
	}
	wg.Wait()
	if files := kept(t, dir); len(files) != 1 {
		t.Errorf("kept %q", files)
	}
}

// TestUnreadableIsNoMiss keeps asking for a file that cannot be read: a page
// that asks to log in goes away.
func TestUnreadableIsNoMiss(t *testing.T) {
	login := true
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case login:
			fmt.Fprint(w, "<html>please log in</html>")
		case r.URL.Path == clangPath:
			http.ServeFile(w, r, clang+"logtest.pdb")
		default:
			http.NotFound(w, r)
		}
	})
	dir := t.TempDir()
	for _, want := range []symbols.Status{symbols.NotFound, symbols.Matched} {
		if b, _, _ := run(t, dir, networked(dir, server.URL+"/s"), recorded(t, clang, "logtest.exe")); b.Status != want {
			t.Errorf("log in %v: %s\n%s", login, b.Status, outcomes(b))
		}
		login = false
	}
}

// TestTrouble holds that the reason says which server failed, and how.
func TestTrouble(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	dir := t.TempDir()
	b, _, _ := run(t, dir, networked(dir, server.URL), recorded(t, clang, "logtest.exe"))
	if want := "no symbol file and no image was found; " + server.URL + ": the server answered 502 Bad Gateway"; b.Reason.String() != want {
		t.Errorf("got  %s\nwant %s", b.Reason, want)
	}
}

// TestUnused asks no server for a module that no record lies in, but takes
// what was fetched before.
func TestUnused(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, clang+"logtest.pdb") })
	dir := t.TempDir()
	mod := recorded(t, clang, "logtest.exe")
	find := func(find func(context.Context, *modules.Module) symbols.Binding, want symbols.Status) symbols.Binding {
		t.Helper()
		b := find(context.Background(), mod)
		if b.Status != want {
			t.Errorf("%s\n%s", b.Status, outcomes(b))
		}
		if b.Table != nil {
			b.Table.Close()
		}
		return b
	}
	f := networked(dir, server.URL)
	b := find(f.FindUnused, symbols.NotFound)
	if len(server.requests())+server.tiers > 0 || !strings.Contains(outcomes(b), "not asked: no record lies in the module") {
		t.Errorf("asked %q\n%s", server.requests(), outcomes(b))
	}
	find(f.Find, symbols.Matched)
	find(f.FindUnused, symbols.Matched)
}

// TestInterruptedDownloads has what killed processes left of files that they
// fetched: it goes when something is fetched the next time, but not what may still
// be in the making, nor what somebody else keeps there.
func TestInterruptedDownloads(t *testing.T) {
	data := read(t, clang+"/logtest.pdb")
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == clangPath {
			w.Write(data)
			return
		}
		http.NotFound(w, r)
	})
	dir := t.TempDir()
	old := time.Now().Add(-fetchStale - time.Hour)
	for name, age := range map[string]time.Time{
		fetchFolder + "/.fetch-1": old, fetchFolder + "/.fetch-2": time.Now(), fetchFolder + "/mine": old,
		"logtest.pdb/" + clangKey + "/.fetch-3": old, "logtest.pdb/" + clangKey + "/mine": old,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("part"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, age, age); err != nil {
			t.Fatal(err)
		}
	}
	b := networked(dir, server.URL+"/s").Find(context.Background(), recorded(t, clang, "logtest.exe"))
	if b.Status != symbols.Matched {
		t.Fatalf("%s\n%s", b.Status, outcomes(b))
	}
	b.Table.Close()
	want := []string{fetchFolder + "/.fetch-2", fetchFolder + "/mine", "logtest.pdb/" + clangKey + "/logtest.pdb", "logtest.pdb/" + clangKey + "/mine"}
	if got := kept(t, dir); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

// TestTooLarge asks for a file that is too large: once a day, and again where the
// limit is higher.
func TestTooLarge(t *testing.T) {
	data := read(t, clang+"/logtest.pdb")
	for _, told := range []bool{true, false} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != clangPath {
				http.NotFound(w, r)
				return
			}
			if !told {
				w.(http.Flusher).Flush() // no length is said
			}
			w.Write(data)
		})
		dir := t.TempDir()
		find := func(limit int64) symbols.Binding {
			f := networked(dir, server.URL+"/s")
			f.MaxDownload = limit
			b := f.Find(context.Background(), recorded(t, clang, "logtest.exe"))
			if b.Table != nil {
				b.Table.Close()
			}
			return b
		}
		asked := func() (n int) {
			for _, path := range server.requests() {
				if strings.HasSuffix(path, clangPath) {
					n++
				}
			}
			return n
		}
		limit := int64(len(data)) - 1
		for range 3 {
			if b := find(limit); b.Status != symbols.NotFound || !strings.Contains(outcomes(b), fmt.Sprintf("larger than the limit of %d bytes", limit)) {
				t.Errorf("%s\n%s", b.Status, outcomes(b))
			}
			if n := asked(); n != 1 {
				t.Errorf("a file that is too large is asked for %d times", n)
			}
		}
		if files := kept(t, dir); len(files) > 0 {
			t.Errorf("%q are left", files)
		}
		if b := find(limit + 1); b.Status != symbols.Matched || asked() != 2 {
			t.Errorf("with a higher limit: %s, asked %d times\n%s", b.Status, asked(), outcomes(b))
		}
	}
}

// TestSlowHead has a server that takes longer to begin its answer than the pauses
// within it may be.
func TestSlowHead(t *testing.T) {
	data := read(t, clang+"/logtest.pdb")
	waited := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != clangPath {
			http.NotFound(w, r)
			return
		}
		<-waited
		w.Write(data)
	})
	f := networked(t.TempDir(), server.URL+"/s")
	f.ConnectTimeout, f.IdleTimeout, f.HeadTimeout, f.TotalTimeout = time.Second, time.Second, time.Minute, time.Minute
	time.AfterFunc(2500*time.Millisecond, func() { close(waited) })
	b := f.Find(context.Background(), recorded(t, clang, "logtest.exe"))
	if b.Status != symbols.Matched {
		t.Fatalf("%s\n%s", b.Status, outcomes(b))
	}
	b.Table.Close()
}

// TestRedirects holds where servers may lead.
func TestRedirects(t *testing.T) {
	f := NewFinder(nil, nil, "", false)
	named, _ := url.Parse("https://named.example/store")
	f.servers = []*server{{base: named}}
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"https://a.example/x", "https://a.example/y", true},
		{"http://a.example/x", "https://a.example/y", true},
		{"https://a.example/x", "http://a.example/y", false},
		{"https://a.example/x", "https://files.a.example/y", true},
		{"https://a.example/x", "https://b.example/y", false},
		{"https://a.example/x", "https://nota.example/y", false},
		{"https://a.example/x", "https://named.example/y", true},
		{"http://a.example:8080/x", "http://a.example:22/y", false},
		{"https://a.example/x", "https://127.0.0.1/y", false},
		{"http://a.example/x", "http://localhost/y", false},
		{"https://msdl.microsoft.com/x", "https://vsblob1.blob.core.windows.net/y", true},
		{"https://a.example/x", "https://vsblob1.blob.core.windows.net/y", false},
	} {
		from, err := url.Parse(tt.from)
		to, err2 := url.Parse(tt.to)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		err = f.newClient().CheckRedirect(&http.Request{URL: to, Header: http.Header{}}, []*http.Request{{URL: from}})
		if (err == nil) != tt.ok {
			t.Errorf("%s to %s: %v", tt.from, tt.to, err)
		}
	}
}
