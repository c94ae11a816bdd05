package store

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"logparser/symbols"
)

func TestParsePath(t *testing.T) {
	exists := func(path string) (there, dir bool) {
		switch path {
		case "/a;b", `D:\x;y`, "/folder":
			return true, true
		case "/file;1.pdb", "/file.pdb":
			return true, false
		}
		return false, false
	}
	const (
		ms  = "https://msdl.example/download/symbols"
		ms2 = "http://other.example:8080/s"
	)
	tests := []struct {
		path string // elements separated by line ends
		want string
	}{
		{"", ""},
		{" ", ""},
		{"/folder", "folder /folder"},
		{"/missing", "folder /missing"},
		{"/file.pdb", "file /file.pdb"},
		{"/a;b", "folder /a;b"},
		{"/file;1.pdb", "file /file;1.pdb"},
		{`D:\x;y`, `folder D:\x;y`},
		{"/a;c;/file.pdb", "folder /a, folder c, file /file.pdb"},
		{";/a;;/b;", "folder /a, folder /b"},
		{"/b\n/c\n/b", "folder /b, folder /c"},
		{`\\server\share;D:\sym`, `folder \\server\share, folder D:\sym`},
		{`srv*C:\cache*` + ms, `folder C:\cache, symsrv ` + ms + ` in C:\cache`},
		{`SRV*C:\cache*\\server\share*` + ms, `folder C:\cache, folder \\server\share, symsrv ` + ms + ` in C:\cache`},
		{`symsrv*symsrv.dll*C:\cache*` + ms, `folder C:\cache, symsrv ` + ms + ` in C:\cache`},
		{`SymSrv*other.dll*` + ms, `symsrv ` + ms + ` in default`},
		{"srv*" + ms, "symsrv " + ms + " in default"},
		{"srv**" + ms, "folder default, symsrv " + ms + " in default"},
		{"srv*", "folder default"},
		{"srv*/store", "folder /store"},
		{`cache*C:\cache;srv*` + ms, `folder C:\cache, symsrv ` + ms + ` in C:\cache`},
		{"cache*C:\\cache\n" + ms, `folder C:\cache, symsrv ` + ms + ` in C:\cache`},
		{`cache*C:\cache;srv*D:\near*` + ms, `folder C:\cache, folder D:\near, symsrv ` + ms + ` in D:\near`},
		{"cache*;" + ms2, "folder default, symsrv " + ms2 + " in default"},
		{ms2, "symsrv " + ms2 + " in default"},
		{ms + ";" + ms2, "symsrv " + ms + " in default, symsrv " + ms2 + " in default"},
		{"https://user:secret@host.example/s", "symsrv https://host.example/s in default"},
		{"debuginfod:https://d.example/", "debuginfod https://d.example/ in default"},
		{"DebugInfoD:" + ms2 + ";/folder", "debuginfod " + ms2 + " in default, folder /folder"},
		{"debuginfod:d.example", "unknown d.example: not the URL of a symbol server"},
		{"debuginfod:file:///etc", "unknown file:///etc: not the URL of a symbol server"},
		{"https:///s", "unknown https:///s: not the URL of a symbol server"},
		{"https://user:secret@%zz/s", "unknown ...@%zz/s: not the URL of a symbol server"},
		{"srv*file://server/share", "unknown file://server/share: not a symbol server of the kind that is known here: file"},
		{"ftp://host/s", "unknown ftp://host/s: not a symbol server of the kind that is known here: ftp"},
		{"srv", "folder srv"},
	}
	kinds := map[placeKind]string{placeFolder: "folder", placeFile: "file", placeSymSrv: "symsrv", placeDebuginfod: "debuginfod", placeUnknown: "unknown"}
	for _, tt := range tests {
		var got []string
		orDefault := func(s string) string {
			if s == "" {
				return "default"
			}
			return s
		}
		for _, p := range parsePath(strings.Split(tt.path, "\n"), exists) {
			s := kinds[p.kind] + " " + orDefault(p.path)
			switch p.kind {
			case placeSymSrv, placeDebuginfod:
				s += " in " + orDefault(p.cache)
			case placeUnknown:
				s += ": " + p.why.String()
			}
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.path, s, tt.want)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{`srv*C:\a*https://h/s;cache*D:\b;D:\c`, "debuginfod:http://u:p@h", "symsrv*x*y", "https://[::1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range parsePath([]string{text}, func(string) (bool, bool) { return false, false }) {
			if p.kind == placeSymSrv || p.kind == placeDebuginfod {
				srv := newServer(p)
				if srv.down != nil || srv.base.User != nil || srv.base.Host == "" {
					t.Errorf("%q: %+v: %v", text, p, srv.down)
				}
				if s := srv.base.Scheme; s != "http" && s != "https" {
					t.Errorf("%q: scheme %q", text, s)
				}
			}
			_ = fmt.Sprint(p)
		}
	})
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone")
	got := Missing([]string{
		dir, gone, "C:/gone/symbols", "srv*" + gone, "cache*" + gone,
		"https://symbols.example/a", "debuginfod:https://debug.example", "",
	})
	if want := []string{gone, "C:/gone/symbols"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnvironmentPath(t *testing.T) {
	env := map[string]string{
		"_NT_SYMBOL_PATH": `srv*/cache*https://user:secret@symbols.example/s;/flat`,
		"DEBUGINFOD_URLS": "https://one.example ima:enforcing http://two.example/d/",
	}
	path := EnvironmentPath(func(name string) string { return env[name] })
	want := []string{"https://symbols.example/s", "debuginfod:https://one.example", "debuginfod:http://two.example/d/"}
	if got := Servers(path); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := EnvironmentPath(func(string) string { return "" }); len(got) > 0 {
		t.Errorf("an empty environment names %q", got)
	}
}

// TestEnvironment holds the order of places, and that nothing the environment
// names on other machines is touched with the network switched off.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "env/logtest.pdb="+clang+"logtest.pdb", "log/readme:", "user/readme:")
	mod := recorded(t, clang, "logtest.exe")
	for _, network := range []bool{false, true} {
		f := NewFinder(formats, []string{filepath.Join(dir, "user")}, filepath.Join(dir, "log"), false)
		f.Environment = []string{`\\server.invalid\share;//server.invalid/share;srv*\\server.invalid\cache*` + filepath.Join(dir, "env")}
		f.Network = network
		b, file, attempts := run(t, dir, f, mod)
		if b.Status != symbols.Matched || file != "$/env/logtest.pdb" {
			t.Errorf("%s, %s", b.Status, file)
		}
		var got []string
		for _, a := range attempts {
			path, outcome, _ := strings.Cut(a, ": ")
			if strings.Contains(path, "server.invalid") && strings.Contains(outcome, "the network is switched off") {
				path += " off"
			}
			if len(got) < 5 {
				got = append(got, path)
			}
		}
		off := ""
		if !network {
			off = " off"
		}
		want := []string{"$/user", "$/log", `\\server.invalid\share` + off, "//server.invalid/share" + off, `\\server.invalid\cache` + off}
		if runtime.GOOS != "windows" && !slices.Equal(got, want) {
			t.Errorf("network %v: looked at %q, want %q", network, got, want)
		}
	}
}
