package app

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestServersNamed tells which servers may be asked: those of the search path and of the environment, each once and without
// credentials.
func TestServersNamed(t *testing.T) {
	for _, test := range []struct {
		path            []string
		symbols, debugs string // the environment
		want            []string
	}{
		{nil, "", "", nil},
		{[]string{"/folder", "https://one.example/s"}, "", "", []string{"https://one.example/s"}},
		{nil, "srv*/cache*https://two.example/s", "", []string{"https://two.example/s"}},
		{nil, "", "https://three.example https://four.example", []string{"debuginfod:https://three.example", "debuginfod:https://four.example"}},
		{[]string{"https://one.example/s"}, "srv*https://one.example/s", "", []string{"https://one.example/s"}},
		{[]string{"https://user:secret@one.example/s"}, "", "", []string{"https://one.example/s"}},
	} {
		t.Setenv("_NT_SYMBOL_PATH", test.symbols)
		t.Setenv("DEBUGINFOD_URLS", test.debugs)
		got := Servers(test.path)
		if !slices.Equal(got, test.want) {
			t.Errorf("%q, %q, %q: %q, want %q", test.path, test.symbols, test.debugs, got, test.want)
		}
	}
}

// TestAskedAgain asks a server again for what it did not have only when that is wanted.
func TestAskedAgain(t *testing.T) {
	t.Setenv("_NT_SYMBOL_PATH", "")
	t.Setenv("DEBUGINFOD_URLS", "")
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	copyFiles(t, clangFolder, dir, "LogDetails.dat", "LogDetails.bin")
	in := Inputs{Log: dir, NoRecordedPaths: true, Network: true, Symbols: []string{server.URL}, SymbolCache: filepath.Join(dir, "cache")}
	ask := func() int64 {
		asked.Store(0)
		open(t, in).Close()
		return asked.Load()
	}
	first := ask()
	if again := ask(); first == 0 || again != 0 {
		t.Errorf("asked %d times, and %d times again", first, again)
	}
	if err := ForgetMisses(in); err != nil {
		t.Fatal(err)
	}
	if again := ask(); again != first {
		t.Errorf("after the misses are forgotten: asked %d times, want %d", again, first)
	}
}

// TestDefaultSymbolCache keeps what servers give in the user's cache.
func TestDefaultSymbolCache(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "LocalAppData", "HOME"} {
		t.Setenv(name, dir)
	}
	if got := DefaultSymbolCache(); !strings.HasPrefix(got, dir) || !strings.HasSuffix(got, filepath.Join("logparser", "symbols")) {
		t.Errorf("%s, which is not in %s", got, dir)
	}
	if got := (&Inputs{SymbolCache: "/elsewhere"}).symbolCache(); got != "/elsewhere" {
		t.Errorf("another folder was chosen, and it is %s", got)
	}
}
