package store

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/pdb/cab/cabtest"
)

// cabinet makes a cabinet of one file as symbol stores have them.
func cabinet(member string, data []byte) []byte {
	return cabtest.Build(cabtest.MSZIP, cabtest.Zip(data), member, 0, len(data), false)
}

// cabinetOfTool makes one with a tool of somebody else.
func cabinetOfTool(t *testing.T, member string, data []byte) []byte {
	t.Helper()
	tool, err := exec.LookPath("gcab")
	if err != nil {
		t.Skip("gcab is not installed")
	}
	dir := t.TempDir()
	write(t, dir, member, data)
	cmd := exec.Command(tool, "--create", "--zip", "packed.cab", member)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packed := read(t, filepath.Join(dir, "packed.cab"))
	if len(packed) >= len(data) {
		t.Fatalf("%d bytes are packed into %d", len(data), len(packed))
	}
	return packed
}

// TestServerTrees serves folders laid out as symbol stores by a plain file
// server.
func TestServerTrees(t *testing.T) {
	pdb := read(t, clang+"logtest.pdb")
	const key = "logtest.pdb/" + clangKey + "/"
	tests := []struct {
		name  string
		files map[string][]byte
		// pack is the name in the store of a cabinet of the PDB.
		pack  string
		local []string
		want  symbols.Status
		keeps string
	}{
		{name: "one tier", files: map[string][]byte{key + "logtest.pdb": pdb}, want: symbols.Matched, keeps: key + "logtest.pdb"},
		{name: "two tiers", files: map[string][]byte{"index2.txt": nil, "lo/" + key + "logtest.pdb": pdb},
			want: symbols.Matched, keeps: key + "logtest.pdb"},
		{name: "two tiers, said by a page", files: map[string][]byte{"index2.txt": []byte("<html>all is well</html>"), key + "logtest.pdb": pdb},
			want: symbols.Matched, keeps: key + "logtest.pdb"},
		{name: "cabinet", pack: key + "logtest.pd_", want: symbols.Matched, keeps: key + "logtest.pd_"},
		{name: "cabinet in two tiers", files: map[string][]byte{"index2.txt": []byte(".")}, pack: "lo/" + key + "logtest.pd_",
			want: symbols.Matched, keeps: key + "logtest.pd_"},
		{name: "pointer to a file beside it", files: map[string][]byte{key + "file.ptr": []byte(`PATH:\\server\share\renamed.pdb`), key + "renamed.pdb": pdb},
			want: symbols.Matched, keeps: key + "logtest.pdb"},
		{name: "pointer to a cabinet beside it", files: map[string][]byte{key + "file.ptr": []byte("PATH:D:\\builds\\renamed.pd_\r\n")}, pack: key + "renamed.pd_",
			want: symbols.Matched, keeps: key + "logtest.pd_"},
		{name: "pointer to a file the user has", files: map[string][]byte{key + "file.ptr": []byte("PATH:/builds/renamed.pdb")},
			local: []string{"renamed.pdb=" + clang + "logtest.pdb"}, want: symbols.Matched},
		{name: "pointer to nothing", files: map[string][]byte{key + "file.ptr": []byte(`PATH:\\server\share\logtest.pdb`)}, want: symbols.NotFound},
		{name: "pointer that leads up", files: map[string][]byte{key + "file.ptr": []byte("PATH:../../secret.pdb"), "secret.pdb": pdb}, want: symbols.NotFound},
		{name: "pointer to a folder", files: map[string][]byte{key + "file.ptr": []byte(`PATH:\\server\share\..`)}, want: symbols.NotFound},
		{name: "message", files: map[string][]byte{key + "file.ptr": []byte("MSG: Filtered")}, want: symbols.NotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree, dir, user := t.TempDir(), t.TempDir(), t.TempDir()
			for name, data := range tt.files {
				write(t, tree, name, data)
			}
			if tt.pack != "" {
				write(t, tree, tt.pack, cabinet("logtest.pdb", pdb))
			}
			plant(t, user, tt.local...)
			server := httptest.NewServer(http.FileServer(http.Dir(tree)))
			defer server.Close()
			mod := recorded(t, clang, "logtest.exe")
			f := networked(dir, user, server.URL)
			opened := watch(f)
			b, _, _ := run(t, dir, f, mod)
			if b.Status != tt.want || strings.Join(kept(t, dir), " ") != tt.keeps {
				t.Errorf("%s, kept %q, want %s, %q\n%s", b.Status, kept(t, dir), tt.want, tt.keeps, outcomes(b))
			}
			for _, path := range *opened {
				if !strings.HasPrefix(path, dir) && !strings.HasPrefix(path, user) {
					t.Errorf("opened %s", path)
				}
			}
			if tt.want != symbols.Matched {
				return
			}
			named := false
			if err := b.Table.Procedures(func(_ uint64, name string) bool { named = name != ""; return !named }); err != nil || !named {
				t.Errorf("no names: %v", err)
			}
			// Found again with the server away, and no miss in its way.
			server.Close()
			for _, network := range []bool{true, false} {
				f := networked(dir, user, server.URL)
				f.Network = network
				if b, _, _ := run(t, dir, f, mod); b.Status != symbols.Matched && tt.keeps != "" {
					t.Errorf("network %v, from the cache: %s\n%s", network, b.Status, outcomes(b))
				}
			}
			// And as a store of the user's.
			if b, _, _ := find(t, dir, mod, dir); b.Status != symbols.Matched && tt.keeps != "" {
				t.Errorf("as a store: %s\n%s", b.Status, outcomes(b))
			}
		})
	}
}

// TestLocalCabinets finds cabinets in stores of the user's.
func TestLocalCabinets(t *testing.T) {
	for name, pack := range map[string]func(*testing.T, string, []byte) []byte{
		"ours":        func(_ *testing.T, member string, data []byte) []byte { return cabinet(member, data) },
		"of the tool": cabinetOfTool,
	} {
		t.Run(name, func(t *testing.T) {
			packed := pack(t, "logtest.pdb", read(t, clang+"logtest.pdb"))
			mod := recorded(t, clang, "logtest.exe")
			for _, prefix := range []string{"", "lo/"} {
				dir := t.TempDir()
				if prefix != "" {
					plant(t, dir, "index2.txt:")
				}
				write(t, dir, prefix+"logtest.pdb/"+clangKey+"/logtest.pd_", packed)
				if b, file, attempts := find(t, dir, mod, dir); b.Status != symbols.Matched || file != "$/"+prefix+"logtest.pdb/"+clangKey+"/logtest.pd_" {
					t.Errorf("%q: %s, %s\n%s", prefix, b.Status, file, strings.Join(attempts, "\n"))
				}
			}
		})
	}
}
