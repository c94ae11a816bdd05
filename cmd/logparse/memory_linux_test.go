package main

import (
	"os"
	"os/exec"
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
