package modules

import (
	"fmt"
	"strings"
	"testing"
)

// TestTimesAnywhere reads files whose times stand behind their modules, and times as ctime prints them.
func TestTimesAnywhere(t *testing.T) {
	const one = "0x400000 0x1C000 LogTest.exe\n0x10000000 0x25000 MFC42.DLL\n"
	const two = "0x400000 0x1C000 Second.exe\n0x20000000 0x25000 MFC42.DLL\n"
	const csv = "Base,Size,Path\n0x400000,0x1C000,LogTest.exe\n0x10000000,0x25000,MFC42.DLL\n"
	const iso = "2026-11-21 12:32:30.962"
	const ctime = "Sat Nov 21 12:32:30 2026"
	const oneRead, twoRead = "LogTest.exe+1c000 MFC42.DLL+25000", "Second.exe+1c000 MFC42.DLL+25000"
	for _, tt := range []struct {
		name, in, modules, start string
		tick                     uint32
		runs                     int
	}{
		{"time first", iso + "\n77\n" + one, oneRead, iso, 77, 1},
		{"time last", one + iso + "\n77\n", oneRead, iso, 77, 1},
		{"time and tick last", one + iso + " 77\n", oneRead, iso, 77, 1},
		{"tick first, time last", "77\n" + one + iso + "\n", oneRead, iso, 77, 1},
		{"two runs, times last", one + "2026-11-20 01:02:03 5\n" + two + iso + " 77\n", twoRead, iso, 77, 2},
		{"two runs, times first", "2026-11-20 01:02:03 5\n" + one + iso + " 77\n" + two, twoRead, iso, 77, 2},
		{"the second run has no modules", "2026-11-20 01:02:03 5\n" + one + iso + " 77\n", "", iso, 77, 2},
		{"ctime", ctime + "\n77\n" + one, oneRead, ctime, 77, 1},
		{"ctime and tick", ctime + ", 77\n" + one, oneRead, ctime, 77, 1},
		{"ctime of one digit", "Tue Nov  3 12:32:30 2026\n77\n" + one, oneRead, "Tue Nov  3 12:32:30 2026", 77, 1},
		{"date", "Start time: Sat Nov 21 12:32:30 CET 2026\n77\n" + one, oneRead, "Sat Nov 21 12:32:30 CET 2026", 77, 1},
		{"ctime before CSV", ctime + "\n77\n" + csv, oneRead, ctime, 77, 1},
		{"ctime behind CSV", csv + ctime + "\n77\n", oneRead, ctime, 77, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse([]byte(tt.in), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, m := range f.Modules {
				list = append(list, fmt.Sprintf("%s+%x", m.Path, m.Size))
			}
			notes := fmt.Sprint(f.Notes)
			if got := strings.Join(list, " "); got != tt.modules || f.StartText != tt.start || f.Tick != tt.tick || !f.HasTick ||
				strings.Contains(notes, "holds 2 runs") != (tt.runs == 2) || strings.Contains(notes, "understood") {
				t.Errorf("%q at %q, tick %d: %s; want %q at %q", got, f.StartText, f.Tick, notes, tt.modules, tt.start)
			}
		})
	}
}

// TestNoSizes reads files that have no sizes, where that is said: each module ends where the next begins, wherever that stands in the
// file, and its size counts as not recorded.
func TestNoSizes(t *testing.T) {
	const lines = "0x10000000 MFC42.DLL\n0x400000 C:\\Log Test\\LogTest.exe\n0x77D30000 kernel32.dll\n"
	c, err := ParseColumns("base:hex,name")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		in  string
		opt Options
	}{
		"asked": {"2026-11-21 12:32:30 77\n" + lines, Options{Columns: c}},
		"head":  {"2026-11-21 12:32:30 77\nBase,Path\n" + strings.NewReplacer("0 ", "0,").Replace(lines), Options{}},
	} {
		f, err := Parse([]byte(tt.in), tt.opt)
		if err != nil {
			t.Fatal(name, err)
		}
		var got strings.Builder
		for _, m := range f.Modules {
			fmt.Fprintf(&got, "%x+%x %s %v\n", m.Base, m.Size, m.Path, m.Unsized)
		}
		const want = "10000000+40000000 MFC42.DLL true\n400000+fc00000 C:\\Log Test\\LogTest.exe true\n77d30000+40000000 kernel32.dll true\n"
		if got.String() != want || !strings.Contains(fmt.Sprint(f.Notes), "has no sizes") {
			t.Errorf("%s: got\n%swant\n%s%v", name, got.String(), want, f.Notes)
		}
	}
	for _, bad := range []string{"name", "base", "base,name,size,end", "base,base"} {
		if _, err := ParseColumns(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
