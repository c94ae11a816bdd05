package store

import (
	"context"
	"debug/pe"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
)

// TestSameBuild holds that a file of a stripped image's build gives its names, whatever it is called and
// in whichever of the user's folders it lies; files of other builds, and ones without names, give none.
func TestSameBuild(t *testing.T) {
	const stripped, full, debug = dwarfData + "gcc5-stripped.so", dwarfData + "gcc5.so", dwarfData + "gcc5.debug"
	recorded := &modules.Module{Path: "/opt/app.so", Identity: modules.Identity{BuildID: rawID(t, gcc5ID)}}
	tests := []struct {
		name  string
		mod   *modules.Module
		files []string
		path  []string
		want  symbols.Status
		file  string
	}{
		{"beside it", recorded, []string{"app.so=" + stripped, "app.full=" + full}, []string{"$"}, symbols.Matched, "$/app.full"},
		{"of no similar name", recorded, []string{"app.so=" + stripped, "unstripped=" + full}, []string{"$"}, symbols.Matched, "$/unstripped"},
		{"a debug file of no similar name", recorded, []string{"app.so=" + stripped, "a=" + debug}, []string{"$"}, symbols.Matched, "$/a"},
		{"of the same name in a later folder", recorded, []string{"a/app.so=" + stripped, "b/app.so=" + full}, []string{"$/a", "$/b"}, symbols.Matched, "$/b/app.so"},
		{"the image is not there", recorded, []string{"what=" + full}, []string{"$"}, symbols.Matched, "$/what"},
		{"another build", recorded, []string{"app.so=" + stripped, "app.full=" + dwarfData + "gcc4.so"}, []string{"$"}, symbols.ExportsOnly, "$/app.so"},
		{"a copy without names", recorded, []string{"app.so=" + stripped, "copy=" + stripped}, []string{"$"}, symbols.ExportsOnly, "$/app.so"},
		{"nothing recorded", &modules.Module{Path: "/opt/app.so"}, []string{"app.so=" + stripped, "app.full=" + full}, []string{"$"}, symbols.Unverified, "$/app.full"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, tt.files...)
			b, file, attempts := find(t, dir, tt.mod, tt.path...)
			if b.Status != tt.want || file != tt.file {
				t.Errorf("%s, %q (%s), want %s, %q\n%s", b.Status, file, b.Reason, tt.want, tt.file, strings.Join(attempts, "\n"))
			}
		})
	}
}

// TestSameBuildByHand holds the same for an image that the user names, as resolve and attach do.
func TestSameBuildByHand(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "app="+dwarfData+"gcc5-stripped.so", "app.unstripped="+dwarfData+"gcc5.so", "app.o:no image", "notes:no image")
	b, _, err := NewFinder(formats, nil, dir, false).FindFor(context.Background(), filepath.Join(dir, "app"))
	if err != nil {
		t.Fatal(err)
	}
	if b.Table != nil {
		defer b.Table.Close()
	}
	if b.Status != symbols.Matched || filepath.Base(b.File) != "app.unstripped" {
		t.Errorf("%s, %s: %s", b.Status, b.File, b.Reason)
	}
}

// TestDebugLinkOfPE holds that the checksum which a PE names decides of its separate debug file, where
// GNU strip has changed all that else identifies it.
func TestDebugLinkOfPE(t *testing.T) {
	gcc, err := exec.LookPath("x86_64-w64-mingw32-gcc")
	if err != nil {
		t.Skip("there is no MinGW")
	}
	dir := t.TempDir()
	write(t, dir, "p.c", []byte("static int inner(int n) { return n + 1; }\nint (*volatile call)(int) = inner;\nint main(void) { return call(1); }\n"))
	tool := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	objcopy, strip := strings.TrimSuffix(gcc, "gcc")+"objcopy", strings.TrimSuffix(gcc, "gcc")+"strip"
	tool(gcc, "-g", "-O1", "-Wl,--no-insert-timestamp", "-o", "p.exe", "p.c")
	tool(objcopy, "--only-keep-debug", "p.exe", "p.debug")
	tool(strip, "-s", "p.exe")
	tool(objcopy, "--add-gnu-debuglink=p.debug", "p.exe")
	// The files of a release: their time stamps differ.
	for name, stamp := range map[string]byte{"p.exe": 1, "p.debug": 2} {
		setTimestamp(t, filepath.Join(dir, name), stamp)
	}
	tool(objcopy, "--remove-section=.gnu_debuglink", "p.exe")
	tool(objcopy, "--add-gnu-debuglink=p.debug", "p.exe")
	for _, wrong := range []bool{false, true} {
		want := symbols.Matched
		if wrong {
			write(t, dir, "p.debug", append(read(t, filepath.Join(dir, "p.debug")), 0))
			want = symbols.Mismatched
		}
		b, _, err := NewFinder(formats, nil, dir, false).FindFor(context.Background(), filepath.Join(dir, "p.exe"))
		if err != nil {
			t.Fatal(err)
		}
		if b.Table != nil {
			defer b.Table.Close()
		}
		if b.Status != want {
			t.Errorf("wrong checksum %v: %s, %s: %s\n%v", wrong, b.Status, b.File, b.Reason, b.Attempts)
		}
		// Where nothing was recorded, the two belong together all the same.
		if want == symbols.Matched {
			want = symbols.Unverified
		}
		if b, file, attempts := find(t, dir, &modules.Module{Path: "p.exe"}, "$"); b.Status != want || file != "$/p.debug" {
			t.Errorf("nothing recorded, wrong checksum %v: %s, %s: %s\n%v", wrong, b.Status, file, b.Reason, attempts)
		}
	}
}

// setTimestamp writes the time stamp of a PE's header.
func setTimestamp(t *testing.T, path string, stamp byte) {
	t.Helper()
	f, err := pe.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	data := read(t, path)
	at := int(data[0x3c]) | int(data[0x3d])<<8
	data[at+8] = stamp
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
