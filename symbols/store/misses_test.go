package store

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logparser/symbols"
)

func TestMiss(t *testing.T) {
	server := serve(t, http.NotFound)
	dir := t.TempDir()
	mod := recorded(t, clang, "logtest.exe")
	ask := func() symbols.Binding {
		b, _, _ := run(t, dir, networked(dir, server.URL), mod)
		if b.Status != symbols.NotFound {
			t.Fatalf("%s\n%s", b.Status, outcomes(b))
		}
		return b
	}
	if b := ask(); !strings.Contains(outcomes(b), clangKey+"/logtest.pdb: not there") {
		t.Errorf("the miss is not told of:\n%s", outcomes(b))
	}
	first := len(server.requests())
	if first == 0 || len(kept(t, dir)) > 0 {
		t.Fatalf("%d requests, kept %q", first, kept(t, dir))
	}
	if b := ask(); len(server.requests()) != first || !strings.Contains(outcomes(b), "not asked: not there before") {
		t.Errorf("asked again: %d requests, %d before\n%s", len(server.requests()), first, outcomes(b))
	}
	misses, err := filepath.Glob(filepath.Join(dir, missFolder, "*"))
	if err != nil || len(misses) != first+server.tiers || server.tiers != 1 {
		t.Fatalf("%d misses are remembered, want %d and %d that there are no two tiers", len(misses), first, server.tiers)
	}
	old := time.Now().Add(-missLifetime - time.Minute)
	for _, m := range misses {
		if err := os.Chtimes(m, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if ask(); len(server.requests()) != 2*first {
		t.Errorf("a day later: %d requests, want %d", len(server.requests()), 2*first)
	}
	if b := ask(); !strings.Contains(outcomes(b), "asked again in 24h0m, or when "+filepath.Join(dir, missFolder)+" is deleted") {
		t.Errorf("how to ask again is not told:\n%s", outcomes(b))
	}
	if err := ForgetMisses([]string{server.URL}, dir); err != nil {
		t.Fatal(err)
	}
	if ask(); len(server.requests()) != 3*first {
		t.Errorf("after the misses are forgotten: %d requests, want %d", len(server.requests()), 3*first)
	}
}

// TestNowhereToKeep has a server whose files have no place: what is there is said, and the server is not blamed.
func TestNowhereToKeep(t *testing.T) {
	for _, test := range []struct {
		name  string
		cache string // below the folder
		want  string
		asked bool
	}{
		{"no folder", "", "a symbol server, not asked: there is no folder to keep its files in", false},
		{"a file instead of the folder", "file", "cannot be kept: ", true},
	} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, clang+"logtest.pdb") })
		dir := t.TempDir()
		write(t, dir, "file", []byte("x"))
		cache := ""
		if test.cache != "" {
			cache = filepath.Join(dir, test.cache)
		}
		b, _, _ := run(t, dir, networked(cache, server.URL), recorded(t, clang, "logtest.exe"))
		text := outcomes(b)
		if b.Status != symbols.NotFound || !strings.Contains(text, test.want) || strings.Contains(text, "not asked again") {
			t.Errorf("%s: %s\n%s", test.name, b.Status, text)
		}
		if n := len(server.requests()); (n > 0) != test.asked {
			t.Errorf("%s: %d requests", test.name, n)
		}
	}
}

// TestOtherFileRemembered asks no second time for what was of another build.
func TestOtherFileRemembered(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != clangPath {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, clangCL+"logtest.pdb")
	})
	dir := t.TempDir()
	asked := 0
	for _, want := range []string{"not kept: PDB 7.00 of another build", "not asked: it had another file there before"} {
		b, _, _ := run(t, dir, networked(dir, server.URL+"/s"), recorded(t, clang, "logtest.exe"))
		if text := outcomes(b); b.Status != symbols.NotFound || !strings.Contains(text, want) {
			t.Errorf("%s, not %q:\n%s", b.Status, want, text)
		}
		if n := len(server.requests()); asked > 0 && n != asked {
			t.Errorf("%d requests, before %d", n, asked)
		} else {
			asked = n
		}
	}
}

// TestTiersNotTold finds symbols on a server that does not say whether its store has two tiers; one that is out of order is
// asked nothing else.
func TestTiersNotTold(t *testing.T) {
	for _, test := range []struct {
		answer int
		want   symbols.Status
	}{
		{http.StatusForbidden, symbols.Matched},
		{http.StatusNotFound, symbols.Matched},
		{http.StatusBadGateway, symbols.NotFound},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if path.Base(r.URL.Path) == "index2.txt" {
				w.WriteHeader(test.answer)
				return
			}
			http.ServeFile(w, r, clang+"logtest.pdb")
		}))
		dir := t.TempDir()
		b, _, _ := run(t, dir, networked(dir, server.URL), recorded(t, clang, "logtest.exe"))
		server.Close()
		if told := strings.Contains(b.Reason.String(), "502 Bad Gateway"); b.Status != test.want || told != (test.want == symbols.NotFound) {
			t.Errorf("%d: %s, %s", test.answer, b.Status, b.Reason)
		}
	}
}
