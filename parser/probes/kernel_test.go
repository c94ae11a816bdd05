package probes

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"logparser/parser"
)

// pairs returns the calls of a log as NAME:ENTER-LEAVE, and NAME:ENTER of those that are open;
// a leave of no call is NAME:-LEAVE.
func pairs(t *testing.T, l *Log) (list []string) {
	t.Helper()
	events := make([]parser.Event, l.Info().Records)
	if n, err := l.ReadEvents(events, 0); n != len(events) || n > 0 && err != nil {
		t.Fatal(n, err)
	}
	open := make(map[uint32][]parser.Event)
	for _, e := range events {
		name := l.Name(0, e.Space, e.Address)
		stack := open[e.Thread]
		if e.Kind == parser.Enter {
			open[e.Thread] = append(stack, e)
			continue
		}
		if n := len(stack); n > 0 && stack[n-1].Address == e.Address && stack[n-1].Space == e.Space {
			open[e.Thread] = stack[:n-1]
			list = append(list, fmt.Sprintf("%s:%d-%d", name, stack[n-1].Time, e.Time))
		} else {
			list = append(list, fmt.Sprintf("%s:-%d", name, e.Time))
		}
	}
	for _, stack := range open {
		for _, e := range stack {
			list = append(list, fmt.Sprintf("%s:%d", l.Name(0, e.Space, e.Address), e.Time))
		}
	}
	slices.Sort(list)
	return list
}

// Scripts for bpftrace and SystemTap print no addresses of ends. Those of the kernel have no image
// that would give one.
func TestEndsWithoutAddress(t *testing.T) {
	const lines = `lp E 100 7 7 0xffffffff81234560 lp_0001_vfs_read count=3
lp E 150 7 7 0xffffffff81239990 lp_0002_security_check
lp L 160 7 7 - lp_0002_security_check__return ret=0
lp L 200 7 7 - lp_0001_vfs_read__return ret=3
lp E 300 8 8 0xffffffff81234560 lp_0001_vfs_read
lp L 400 8 8 - lp_0001_vfs_read__return
lp E 500 7 7 0xffffffff81234560 lp_0001_vfs_read
`
	const names = `// lp 1 logparse probes
// lp N lp_0001_vfs_read E -1 0x0 0x0 "vfs_read"
// lp N lp_0001_vfs_read__return L -1 0x0 0x0 "vfs_read"
// lp N lp_0002_security_check E -1 0x0 0x0 "security_check"
// lp N lp_0002_security_check__return L -1 0x0 0x0 "security_check"
`
	want := []string{"security_check:150-160", "vfs_read:100-200", "vfs_read:300-400", "vfs_read:500"}
	for _, text := range []string{names + lines, lines} {
		if got := pairs(t, write(t, text)); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// Without names a leave before all enters has no address, and later ones have.
	if got, want := pairs(t, write(t, "lp L 50 7 7 - lp_0001_vfs_read__return\n"+lines)), append(slices.Clone(want), "vfs_read:-50"); !slices.Equal(got, sorted(want)) {
		t.Errorf("%q, want %q", got, want)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// ftrace prints places in the kernel as names. The lines have the form of the kernel's
// Documentation/trace/kprobetrace.rst, and what print_kprobe_event and sprint_symbol add to it.
func TestKernelNames(t *testing.T) {
	head, err := os.ReadFile("testdata/kprobes.txt")
	if err != nil {
		t.Fatal(err)
	}
	if n := Detect(head, int64(len(head))); n < 90 {
		t.Errorf("detected by %d", n)
	}
	const ms = 1_000_000
	l := open(t, "testdata/kprobes.txt")
	var want []string
	for _, c := range []struct {
		name         string
		enter, leave int64 // microseconds behind 1902 s, -1 for none
	}{
		{"do_sys_open", 286875, 286878}, {"do_sys_open", 286885, 286915}, {"do_sys_open", 286969, 286976},
		{"nfs_open", 300001, 300005}, {"nfs_do_open.isra.0", 300002, 300004},
		{"vfs_read", 310001, 310009}, {"vfs_read", 310003, 310007}, {"f_of_no_symbol", 320001, 320002},
		{"do_sys_open+0x20", 330001, -1},
	} {
		text := fmt.Sprintf("%s:%d", c.name, 1902_000*ms+c.enter*1000)
		if c.leave >= 0 {
			text += fmt.Sprintf("-%d", 1902_000*ms+c.leave*1000)
		}
		want = append(want, text)
	}
	if got := pairs(t, l); !slices.Equal(got, sorted(want)) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	values := make([]parser.CallValues, 2)
	if _, err := l.Values(values, 0); err != nil || string(values[0].Taken[4:]) != "dfd=3 filename=0x7fffd1ec4440" || string(values[1].Taken[4:]) != "arg1=0xfffffffffffffffe" {
		t.Errorf("%q %q %v", values[0].Taken, values[1].Taken, err)
	}
	for _, text := range []string{"  a-1 [000] 1.5: p: (f+0x0)", "  a-1 [000] 1.5: p: (f+0x/0x1)", "  a-1 [000] 1.5: p: (f+0x0/0x)", "  a-1 [000] 1.5: p: (f+0x0/0x1 [m)",
		"  a-1 [000] 1.5: p: (f+0x0/0x1 <12)", "  a-1 [000] 1.5: r: (f+0x0/0x1 <- )", "  a-1 [000] 1.5: r: (f+0x0/0x1 <- g", "  a-1 [000] 1.5: p: (f)", "  a-1 [000] 1.5: p: (9f+0x0/0x1)"} {
		var l line
		if l.parse([]byte(text)); l.kind != otherLine {
			t.Errorf("%q is of kind %d", text, l.kind)
		}
	}
}
