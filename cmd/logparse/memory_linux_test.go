package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLimitedAddressSpace runs the command with little room: it does its work or
// says why it cannot, and never ends with the runtime's words.
func TestLimitedAddressSpace(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for _, limit := range []string{"1500000", "2097152", "4000000"} {
		cmd := exec.Command("sh", "-c", "ulimit -v "+limit+" && exec \"$0\" \"$@\"", os.Args[0], "stats", sampleDir, "--no-index-cache")
		cmd.Env = append(os.Environ(), asCommand+"=1")
		out, err := cmd.CombinedOutput()
		text := string(out)
		if strings.Contains(text, "goroutine ") || strings.Contains(text, "fatal error") {
			t.Errorf("%s KiB: %.300s", limit, text)
		}
		worked := err == nil && strings.Contains(text, "factorial")
		if told := err != nil && strings.Contains(text, "ulimit -v 2097152"); worked == told || told && len(limit) == 7 && limit >= "2" {
			t.Errorf("%s KiB: %v: %.300s", limit, err, text)
		}
	}
}

func TestHeapLimit(t *testing.T) {
	const used = 1200 << 20
	for _, test := range []struct {
		space uint64
		heap  int64
		fails bool
	}{
		{0, 0, true}, {used, 0, true}, {used + leastRoom - 1, 0, true}, {used + leastRoom, leastRoom / 2, false},
		{1<<62 + 1, 0, false}, {^uint64(0), 0, false},
	} {
		if heap, err := heapLimit(test.space, used); heap != test.heap || (err != nil) != test.fails {
			t.Errorf("%d bytes: %d, %v", test.space, heap, err)
		}
	}
}

func TestMachineMemory(t *testing.T) {
	defer func(before []string) { memoryFiles = before }(memoryFiles)
	for _, test := range []struct {
		files []string
		want  uint64
	}{
		{nil, math.MaxUint64},
		{[]string{"MemTotal:       24689764 kB\nMemFree:  1 kB\n"}, 24689764 << 10},
		{[]string{"MemTotal:       24689764 kB\n", "max\n"}, 24689764 << 10},
		{[]string{"MemTotal:       24689764 kB\n", "268435456\n", "9223372036854771712\n"}, 256 << 20},
		{[]string{"", "nonsense\n", "MemTotal: 99999999999999999999 kB\n"}, math.MaxUint64},
	} {
		memoryFiles = []string{filepath.Join(t.TempDir(), "none")}
		for _, text := range test.files {
			name := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			memoryFiles = append(memoryFiles, name)
		}
		if got := machineMemory(); got != test.want {
			t.Errorf("%q: %d, want %d", test.files, got, test.want)
		}
	}
}
