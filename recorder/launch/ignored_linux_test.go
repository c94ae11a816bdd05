package launch

import (
	"encoding/binary"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const printIgnored = "LAUNCH_TEST_PRINT_IGNORED"

// TestIgnoredByCaller asks processes that were started with signals ignored, of a stripped binary as of
// this one.
func TestIgnoredByCaller(t *testing.T) {
	if os.Getenv(printIgnored) != "" {
		for _, s := range ignoredByCaller() {
			os.Stdout.WriteString(s.String() + ";")
		}
		os.Stdout.Close()
		return
	}
	for traps, want := range map[string]string{
		"":                            "",
		"PIPE":                        "broken pipe;",
		"INT HUP":                     "", // Go's runtime leaves these as they are
		"QUIT USR1 PIPE TERM CHLD":    "quit;user defined signal 1;broken pipe;terminated;child exited;",
		"STOP TSTP TTIN TTOU 36 URG":  "", // 36 spoils the pattern, and so nothing is known
		"USR2 TSTP URG WINCH VTALRM ": "user defined signal 2;urgent I/O condition;virtual timer expired;window changed;",
	} {
		script := `exec "$@"`
		if traps != "" {
			script = "trap '' " + traps + "; " + script
		}
		cmd := exec.Command("bash", "-c", script, "bash", os.Args[0], "-test.run=TestIgnoredByCaller$")
		cmd.Env = append(os.Environ(), printIgnored+"=1")
		out, err := cmd.Output()
		if got, _, _ := strings.Cut(string(out), "PASS"); got != want {
			t.Errorf("%s: %q, want %q, %v", traps, got, want, err)
		}
	}
}

// Data holds no array, one, or several, at its beginning or its end.
func TestDispositions(t *testing.T) {
	array := make([]uint64, firstMark+marks)
	array[syscall.SIGPIPE] = 1
	for i := range marks {
		array[firstMark+i] = pattern >> i & 1
	}
	other := slices.Clone(array)
	other[syscall.SIGTERM] = 2
	short := array[:len(array)-1]
	for _, test := range []struct {
		words []uint64
		found int
	}{
		{nil, 0}, {array, 1}, {short, 0}, {other, 0}, {append([]uint64{7, 8}, array...), 1}, {append(slices.Clone(array), 9), 1}, {append(slices.Clone(array), array...), 2},
	} {
		var data []byte
		for _, w := range test.words {
			if wordSize == 4 {
				data = binary.NativeEndian.AppendUint32(data, uint32(w))
			} else {
				data = binary.NativeEndian.AppendUint64(data, w)
			}
		}
		found := dispositions(data)
		if len(found) != test.found {
			t.Errorf("%d words: %d found, want %d", len(test.words), len(found), test.found)
		}
		if len(found) == 1 && (word(found[0], int(syscall.SIGPIPE)) != 1 || word(found[0], int(syscall.SIGTERM)) != 0) {
			t.Errorf("%d words: others were found", len(test.words))
		}
	}
}

// A program's own data are its file's mappings that can be written and the one that follows.
func TestDataOf(t *testing.T) {
	const maps = `00400000-00c25000 r-xp 00000000 fe:00 1 /opt/a b
01514000-01571000 rw-p 01114000 fe:00 1 /opt/a b
01571000-015b2000 rw-p 00000000 00:00 0
015c0000-015d0000 rw-p 00000000 00:00 0
01700000-01721000 rw-p 00000000 00:00 0 [heap]
c000000000-c000400000 rw-p 00000000 00:00 0
x-y rw-p 00000000 00:00 0
ffff
7fffffffe000-7ffffffff000 rw-p 00000000 00:00 0 [stack]
`
	if got := dataOf([]byte(maps)); !slices.Equal(got, []region{{0x1514000, 0x1571000}, {0x1571000, 0x15b2000}}) {
		t.Errorf("%x", got)
	}
	if got := dataOf([]byte("1000-2000 rw-p 0 fe:00 1 /opt/a\n2000-7fff0000000 rw-p 0 00:00 0\n")); len(got) != 1 {
		t.Errorf("%x", got)
	}
}

func BenchmarkIgnoredByCaller(b *testing.B) {
	for range b.N {
		findIgnored()
	}
}
