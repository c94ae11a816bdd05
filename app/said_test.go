package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSaid(t *testing.T) {
	upper := func(pattern string) string {
		return strings.NewReplacer("%S", "%s", "%V", "%v").Replace(strings.ToUpper(pattern))
	}
	for _, tt := range []struct{ text, want string }{
		{"the last record is cut off", "THE LAST RECORD IS CUT OFF"},
		{"3 records cannot be right (flag byte neither 0 nor 1, or address 0)", "3 RECORDS CANNOT BE RIGHT (FLAG BYTE NEITHER 0 NOR 1, OR ADDRESS 0)"},
		{"thread 7: a time is beyond all bounds; the rest of the chunk is left out", "THREAD 7: A TIME IS BEYOND ALL BOUNDS; THE REST OF THE CHUNK IS LEFT OUT"},
		{"this looks like text, not a log: it begins with \"a\\nb\"", "THIS LOOKS LIKE TEXT, NOT A LOG: IT BEGINS WITH \"a\\nb\""},
		{"24-byte records: the modules file says 8-byte pointers; 98 of 98 records looked at fit and 11 lie in modules; as 16-byte ones 1 of 34 and 5",
			"24-BYTE RECORDS: THE MODULES FILE SAYS 8-BYTE POINTERS; 98 OF 98 RECORDS LOOKED AT FIT AND 11 LIE IN MODULES; AS 16-BYTE ONES 1 OF 34 AND 5"},
		{"24-byte records: 9 of 9 records looked at fit; as 16-byte ones 1 of 34",
			"24-BYTE RECORDS: 9 OF 9 RECORDS LOOKED AT FIT; AS 16-BYTE ONES 1 OF 34"},
		{"the log is empty %d", "the log is empty %d"},
		{"", ""},
	} {
		p := Said(tt.text)
		if got := p.String(); got != tt.text {
			t.Errorf("%q is %q in English", tt.text, got)
		}
		if got := p.In(upper); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.text, got, tt.want)
		}
	}
}

// What damaged logs say of themselves can be said in other languages.
func TestDamageIsSaid(t *testing.T) {
	trace := traceOf(t, t.TempDir(), markedTrace)
	classic := filepath.Join(copyDir(t, logtest(t, "windows-x64-clang")), "LogDetails.dat")
	for _, log := range []string{trace, classic} {
		whole, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for _, hurt := range []func(at int) []byte{
			func(at int) []byte { return whole[:at] },
			func(at int) []byte { return slices.Concat(whole[:at], whole[min(at+5, len(whole)):]) },
			func(at int) []byte {
				b := slices.Clone(whole)
				copy(b[at:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff")
				return b
			},
		} {
			for k := range 40 {
				data := hurt(len(whole) * (2*k + 1) / 80)
				if err := os.WriteFile(log, data, 0o666); err != nil {
					t.Fatal(err)
				}
				s, err := Open(context.Background(), Inputs{Log: log}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range s.Info().Damage {
					if Said(d.Reason).Pattern == "%v" {
						t.Errorf("%s: %q is not known", filepath.Base(log), d.Reason)
					}
				}
				s.Close()
			}
		}
	}
}
