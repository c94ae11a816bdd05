package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"logparser/app"
)

// What names of a hostile log hold: what writes to the clipboard of a terminal,
// clears it, colours it (in C1, too), deletes and turns the direction of writing.
// What no file name can hold, and no line of a symbol file, comes behind it.
const (
	hostileName = "\x1b]52;c;QUJD\x07\x1b[2J\u009b31m\u0085\x7f\u202e\u2066\u061c\u2028\b\t"
	hostileText = hostileName + "\r\nINJECTED\x00\x9b"
)

// hostileFiles makes a trace, a classic log and symbols of which every text is
// hostile, in a folder of such a name.
func hostileFiles(t *testing.T) (dir, trace, classic, symbols string) {
	t.Helper()
	dir = t.TempDir()
	if runtime.GOOS != "windows" { // which has no such names
		dir = filepath.Join(dir, hostileName)
	}
	write := func(name, content string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	evil := strconv.QuoteToASCII(hostileText)
	module := strconv.QuoteToASCII(`C:\` + hostileText + `\x.exe`)
	text := write("a.txt", `file begin=1000
chunk process
process @1000 pid=1 parent=2 path=`+evil+` system=`+evil+` recorder=`+evil+` `+evil+` `+evil+`
load @1000 module=1 base=0x400000 size=0x10000 path=`+module+` identity="pdb:8eac50eb47a137d14c4c44205044422e-1" pdb=`+evil+`
load @1000 module=2 base=0x500000 size=0x10000 path=`+evil+` identity=`+evil+`
thread @1000 stream=1 id=7 name=`+evil+`
exec @1000 path=`+evil+`
switch @1000 on=0 why=`+evil+`
setting @1000 name=`+evil+` value=`+evil+`
lostevents @1000 stream=1 level=0 events=5 why=`+evil+`
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x401010
mark +5 `+evil+`
counter +5 i64 -5 `+evil+`
enter @2000 entry 0x500010
leave @3000
leave @4000
enter @5000 entry 0x401010
`)
	trace = filepath.Join(dir, "a.lptrace")
	if code, _, errs := logparse("trace", "load", text, trace); code != exitOK {
		t.Fatal(errs)
	}
	symbols = write("x.sym", "MODULE windows x86_64 8EAC50EB47A137D14C4C44205044422E1 x.pdb\nFILE 0 "+hostileName+"\nFUNC 1000 100 0 f"+hostileName+"\n1000 100 7 0\n")
	record := func(address, enter byte) string {
		b := make([]byte, 24)
		b[0], b[2], b[16] = address, 0x40, enter
		return string(b)
	}
	classic = write("classic/LogDetails.dat", record(0x10, 1)+record(0x10, 0)+"torn")
	write("classic/LogDetails.bin", "2013 5 1 6 14 3 5 123 1000\n400000 10000 /"+hostileName+"/x\nline that is not understood "+hostileName+"\n")
	return dir, trace, classic, symbols
}

// unseen returns the first character of a text that a terminal would act upon,
// or that hides what is there.
func unseen(text string) (string, bool) {
	for i, r := range text {
		switch {
		case r == '\n', r == '\t' && strings.HasPrefix(text, "<!DOCTYPE html>"):
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"), unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028':
			return fmt.Sprintf("%q in %q", r, text[max(0, i-60):min(len(text), i+40)]), true
		}
	}
	if i := strings.Index("\n"+text, "\nINJECTED"); i >= 0 {
		return "a line that a name made: " + strconv.Quote(text[max(0, i-60):min(len(text), i+40)]), true
	}
	return "", false
}

// verbs returns the commands that do something, by what is written to call them.
func verbs(cmd *cobra.Command, path []string, all map[string]*cobra.Command) map[string]*cobra.Command {
	for _, c := range cmd.Commands() {
		switch name := append(slices.Clip(path), c.Name()); {
		case c.Name() == "help" || c.Name() == "completion" || strings.HasPrefix(c.Name(), "__"):
		case c.HasSubCommands():
			verbs(c, name, all)
		default:
			all[strings.Join(name, " ")] = c
		}
	}
	return all
}

// hostileDump writes a minidump of which all names are hostile.
func hostileDump(t *testing.T, dir string) string {
	t.Helper()
	le := binary.LittleEndian
	const system, threads, module, name, command = 100, 200, 300, 500, 3000
	b := make([]byte, 4000)
	copy(b, "MDMP")
	le.PutUint32(b[8:], 4)
	le.PutUint32(b[12:], 32)
	for i, s := range [][3]uint32{{7, 56, system}, {3, 4 + 48, threads}, {4, 4 + 108, module}, {0x47670006, uint32(len(hostileText)), command}} {
		for k, v := range s {
			le.PutUint32(b[32+12*i+4*k:], v)
		}
	}
	le.PutUint16(b[system:], 9)
	le.PutUint32(b[system+20:], 0x8201)
	le.PutUint32(b[threads:], 1)
	le.PutUint32(b[threads+4:], 7)
	le.PutUint32(b[module:], 1)
	le.PutUint64(b[module+4:], 0x1000)
	le.PutUint32(b[module+12:], 0x1000)
	le.PutUint32(b[module+24:], name)
	text := utf16.Encode([]rune("/opt/" + hostileText))
	le.PutUint32(b[name:], uint32(2*len(text)))
	for i, u := range text {
		le.PutUint16(b[name+4+2*i:], u)
	}
	copy(b[command:], hostileText)
	path := filepath.Join(dir, "hostile.dmp")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// hostileCalls are the command lines of every verb over hostile files.
func hostileCalls(t *testing.T) map[string][][]string {
	dir, trace, classic, symbols := hostileFiles(t)
	missing := filepath.Join(dir, "missing"+hostileName)
	report := filepath.Join(dir, "report.txt")
	if err := os.WriteFile(report, []byte("    #0 0x1  (/opt/x.sym+0x1010)\nnothing\n    #1 0x2  (/opt/y+0x1)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dump := hostileDump(t, dir)
	calls := map[string][][]string{
		"crash": {{dump}, {dump, "--format", "gdb-like"}, {dump, "--format", "html"}, {dump, "--json"}, {dump, "--format", hostileText},
			{dump, "--log", missing}, {trace}, {missing}, {dump, "--symbols", missing, "--all-modules"}},
		"resolve": {{"--image", symbols, "1010", "zz" + hostileName}, {"--image", symbols, "1010"}, {"--image", trace, "1010"}, {"--image", missing, "1010"}},
		// The text itself is copied as it is, but to a terminal: see TestTerminal.
		"symbolize":        {{report, "--image", symbols}, {report, "--symbols", missing, "--image", missing}, {missing}, {report, "--" + hostileText}},
		"record":           {{missing}, {trace}, {"--" + hostileText}, {"--min", hostileText, "x"}, {"--crash", hostileText, "x"}, {"no" + hostileName}},
		"sample":           {{hostileText}, {"--" + hostileText}},
		"recorder init":    {{filepath.Join(dir, "rec")}, {trace}},
		"attach":           {{trace}, {missing}, {symbols, missing}, {trace, "--from", hostileText}},
		"detach":           {{trace}, {missing}},
		"pack":             {{trace, "-o", filepath.Join(dir, "x"+hostileName+".lppack"), "--symbols", symbols}, {missing, "-o", missing}, {trace}, {trace, "-o", trace}},
		"keep":             {{trace, "--symbols", symbols}, {missing}, {trace, "-o", filepath.Join(missing, "x")}},
		"values":           {{trace}, {missing}, {symbols, "-o", missing}, {symbols, "--", "f@" + hostileText + ","}, {symbols, "--" + hostileText}},
		"compare":          {{trace, trace}, {trace, classic, "--json"}, {trace, trace, "--symbols", symbols}, {trace, classic, "--symbols", symbols}, {trace, missing}, {trace, hostileText}},
		"probes":           {{trace, "*"}, {missing, "*"}, {symbols, "f"}, {symbols, hostileText + "@"}, {symbols, "f", "--for", hostileText}, {symbols, "f", "--args", hostileText}, {symbols, "--" + hostileText}},
		"trace dump":       {{trace}, {classic}, {missing}},
		"trace load":       {{trace, missing}, {missing, trace}},
		"recorder library": {{trace}, {missing + "/x"}, {"--" + hostileText}},
		"save": {{trace}, {trace, "-o", missing}, {missing, "-o", "x.csv"}, {trace, "-o", filepath.Join(missing, "x.csv")},
			{trace, "-o", "-", "--format", hostileText}},
	}
	for _, verb := range []string{"show", "stats", "tree", "annotations", "info", "symbols", "advise"} {
		calls[verb] = nil
	}
	var formats []string
	for _, f := range app.SaveFormats() {
		if !slices.Contains([]string{"csv", "parquet", "perfetto"}, f) { // for programs: see TestTerminal
			formats = append(formats, f)
		}
	}
	for name, cmd := range verbs(newRoot(nil, nil, nil), nil, map[string]*cobra.Command{}) {
		list, known := calls[name]
		if !known {
			t.Errorf("%s: there is a verb that is not looked at here", name)
		}
		if list == nil {
			for _, log := range []string{trace, classic} {
				list = append(list, []string{log}, []string{log, "--symbols", symbols, "--symbols", missing},
					[]string{log, "--symbols", dir, "--modules", missing}, []string{log, "--run", hostileText})
			}
			list = append(list, []string{missing}, []string{trace, "--" + hostileText}, []string{trace, hostileText})
		}
		args := slices.Clone(list)
		if cmd.Flags().Lookup("json") != nil {
			for _, a := range args {
				list = append(list, append([]string{"--json"}, a...))
			}
		}
		if cmd.Flags().Lookup("format") != nil {
			for _, f := range formats {
				list = append(list, []string{trace, "--symbols", symbols, "--format", f, "-o", "-"}, []string{trace, "--symbols", symbols, "--format", f})
			}
		}
		if cmd.Flags().Lookup("where") != nil {
			list = append(list, []string{trace, "--where", "func:x" + hostileText}, []string{trace, "--where", hostileText})
		}
		if cmd.Flags().Lookup("verbose") != nil {
			list = append(list, []string{trace, "-v", "--symbols", dir}, []string{trace, "-v", "--symbols", dir, "--json"})
		}
		calls[name] = list
	}
	calls[hostileText] = [][]string{nil}
	calls["help "+hostileText] = [][]string{nil}
	calls["recorder "+hostileText] = [][]string{nil}
	return calls
}

// TestHostileTexts runs every verb over a log of which each text would act upon a
// terminal, and looks at each byte of what is printed.
func TestHostileTexts(t *testing.T) {
	for verb, list := range hostileCalls(t) {
		named := false
		for _, args := range list {
			args = append(strings.SplitN(verb, " ", 2), args...)
			if verb == "recorder init" || verb == "trace dump" || verb == "trace load" {
				args = append(strings.Split(verb, " "), args[2:]...)
			}
			_, out, errs := logparse(args...)
			if what, bad := unseen(out); bad {
				t.Errorf("%q prints %s", args, what)
			}
			if slices.Contains(args, "--json") {
				for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
					if line != "" && !json.Valid([]byte(line)) {
						t.Errorf("%q prints %q, which is no JSON", args, line)
					}
				}
			}
			if what, bad := unseen(errs); bad {
				t.Errorf("%q says %s", args, what)
			}
			named = named || strings.Contains(out+errs, "]52;c;QUJD") || strings.Contains(out+errs, "31m")
		}
		if !named {
			t.Errorf("%s: nothing hostile was printed at all", verb)
		}
	}
}

// TestMessages has every write to the standard error be one line.
func TestMessages(t *testing.T) {
	var b bytes.Buffer
	m := &messages{&b}
	fmt.Fprintf(m, "logparse: %s\n", hostileText)
	fmt.Fprintf(m, "%s\n", "two")
	if want := "logparse: \uFFFD]52;c;QUJD\uFFFD\uFFFD[2J\uFFFD31m\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDINJECTED\uFFFD\uFFFD\ntwo\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	var out, errs bytes.Buffer
	// Two errors are two messages.
	code := run(context.Background(), []string{"resolve", "--image", "/nothing" + hostileName}, strings.NewReader("zz\n"), &out, &errs)
	if what, bad := unseen(errs.String()); bad || code != exitError {
		t.Errorf("status %d, %s", code, what)
	}
}
