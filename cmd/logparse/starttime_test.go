package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStartTimes has the start time of a modules file in the ways in which people write it: what is read, and
// what cannot be is said above the first row.
func TestStartTimes(t *testing.T) {
	for _, test := range []struct{ start, want string }{
		{"2013-07-14 11:59:59:500", "2013-07-14 11:59:59.5"},
		{"14/07/2013 08:10:22:10", "2013-07-14 08:10:22.0"},
		{"14.07.2013 08:10:22:10", "2013-07-14 08:10:22.0"},
		{"Start time: 2013-07-14 08:10:22:00", "2013-07-14 08:10:22.0"},
		{"08:10:22:00", `Note: the start time of the modules file is not understood ("08:10:22.000" has no date`},
		{"07/08/2013 08:10:22:00", `Note: the start time of the modules file is not understood ("07/08/2013 08:10:22.000" may have the day or the month first`},
	} {
		t.Run(test.start, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"LogDetails.dat", "LogDetails.bin"} {
				text := readFile(t, filepath.Join(sampleDir, name))
				if name == "LogDetails.bin" {
					lines := strings.Split(text, "\n")
					lines[0], lines[1] = "", test.start
					text = strings.Join(lines, "\n")
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			code, out, errs := logparse("show", filepath.Join(dir, "LogDetails.dat"), "--limit", "1")
			if code != 0 {
				t.Fatal(errs)
			}
			if !strings.Contains(strings.Join(strings.Fields(out), " "), test.want) {
				t.Errorf("want %q in\n%s", test.want, out)
			}
		})
	}
}
