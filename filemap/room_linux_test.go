package filemap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRoomy(t *testing.T) {
	const gib = 1 << 30
	for _, test := range []struct {
		limit, used, size int64
		want              bool
	}{
		{4 * gib, gib, 2 * gib, true}, {4 * gib, gib, 3 * gib, false}, {gib, gib, 1, false}, {gib, 2 * gib, 1, false}, {1 << 61, gib, 1 << 60, true},
	} {
		if got := roomy(test.limit, test.used, test.size); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestLimitedAddressSpace maps a file in a process whose address space has no room
// for it and for anything else.
func TestLimitedAddressSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	if name := os.Getenv("FILEMAP_TEST_FILE"); name != "" {
		// 700 MiB more could be mapped, but hardly anything would be left.
		before, ok := used()
		if !ok {
			t.Skip("it is not known what is used")
		}
		limit := syscall.Rlimit{Cur: uint64(before) + 1000<<20, Max: uint64(before) + 1000<<20}
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
			t.Skip(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if m := New(f, 700<<20); m != nil {
			t.Error("a large file is mapped")
		}
		if m := New(f, 1<<20); m == nil {
			t.Error("a small one is not")
		}
		return
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 700<<20); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLimitedAddressSpace$", "-test.v")
	cmd.Env = append(os.Environ(), "FILEMAP_TEST_FILE="+path)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
