package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestMistakes has mistakes in the command line: each is a usage error that says
// what was given, what is expected, and what may have been meant.
func TestMistakes(t *testing.T) {
	log := filepath.Join(sampleDir, "LogDetails.dat")
	for _, test := range []struct{ line, want string }{
		{"shwo", `there is no command "shwo"; did you mean show?; see logparse --help`},
		{"stat LOG", `there is no command "stat"; did you mean stats?`},
		{"nosuch", `there is no command "nosuch"; there are advise, annotations, attach, compare, completion, crash, detach, help, info, keep, pack, probes, record, recorder, resolve, sample, save, show, stats, symbolize, symbols, trace, tree`},
		{"LOG", `to read that file: logparse show LOG`},
		{"help nosuch", `there is no command "nosuch"; there are advise,`},
		{"help treee", `there is no command "treee"; did you mean tree?; see logparse --help`},
		{"help trace laod", `trace has no command "laod"; did you mean load?`},
		{"trace drump", `trace has no command "drump"; did you mean dump?; see logparse trace --help`},
		{"recorder x", `recorder has no command "x"; there are init`},
		{"completion basch", `completion has no command "basch"; did you mean bash?`},
		{"show", "show takes one LOG or more, not 0; see logparse show --help"},
		{"crash", "crash takes one FILE, not 0; see logparse crash --help"},
		{"trace load LOG", "load takes TEXT and LOG, not 1 files; see logparse trace load --help"},

		{"stats LOG --limti 3", `stats has no option "--limti"; did you mean --limit?; see logparse stats --help`},
		{"show LOG --sym x", `show has no option "--sym"; did you mean --symbols?`},
		{"stats LOG -limit 3", `stats has no option "-l", the first letter of "limit"; did you mean --limit?`},
		{"show LOG -q", `show has no option "-q"; see`},
		{"show LOG --zzzzzz", `show has no option "--zzzzzz"; see`},
		{"stats LOG --follow", `stats has no option "--follow"; --follow is one of show`},
		{"info LOG --corrected", `info has no option "--corrected"; --corrected is one of save, show, stats, tree`},

		{"stats LOG --limit x", `--limit: "x" is not a whole number; an example: --limit 20`},
		{"stats LOG --limit 1.5", `--limit: "1.5" is not a whole number`},
		{"stats LOG --limit=", `--limit: "" is not a whole number`},
		{"stats LOG --limit 99999999999999999999", `--limit: 99999999999999999999 is too large a number`},
		{"stats LOG --limit -1", "--limit is a number of lines, not -1"},
		{"show LOG -n x", `--limit: "x" is not a whole number; an example: --limit 20`},
		{"show LOG -n", "--limit needs its N: at most N rows"},
		{"show LOG --where", "--where needs its EXPR: take only the rows"},
		{"show LOG -n -2", "--limit is a number of rows, such as 20, not -2"},
		{"tree LOG --min-percent abc", `--min-percent: "abc" is not a number; an example: --min-percent 0.5`},
		{"advise LOG --event-cost 11", `--event-cost: "11" is not a time with its unit (ns, us, ms, s, m or h); an example: --event-cost 14ns`},
		{"advise LOG --event-cost 0s", "--event-cost is a time such as 14ns, not 0s"},
		{"show LOG --strict=maybe", `--strict: "maybe" is not true or false; an example: --strict`},
		{"show LOG --record 7", "--record is 16 or 24, not 7"},
		{"show LOG --record x", `--record: "x" is not a whole number; an example: --record 24`},
		{"stats LOG --=x", `"--=x" is no option; see`},
		{"help show LOG", `show has no command "`},
		{"show LOG --start-time 6.5.2013", `--start-time: "6.5.2013": not a time: want year-month-day hour:minute`},
		{"show LOG --start-time x", "; an example: --start-time 2013-05-06T14:03:05.123"},
		{"show LOG --encoding klingon", `--encoding: "klingon": unknown encoding (utf-8, utf-16le,`},
		{"show LOG --run x", `--run is the number of a run from 1, or all, not "x"`},
		{"show LOG --start-tick x", `--start-tick is a number below 2^32, such as 123456789, not "x"`},
		{"stats LOG --sort sefl", "--sort is nonrecursive, total, self, calls, mean, min, p50, p95, p99, max or name, not \"sefl\"; did you mean self?"},
		{"stats LOG --by functions", `--by is function, module, thread, arg.NAME, this or result, not "functions"; did you mean function?`},
		{"stats LOG --format json", `the format, by extension or --format, is txt, csv or jsonl, not "json"`},
		{"show LOG --columns index,sefl", `there is no column "sefl"; there are index, time,`},
		{"save LOG -o a.csv --columns self,self_us", "the column self is there twice"},
		{"save LOG -o a.json --columns self", "--columns is not for chrome, only for txt and csv and jsonl and html and parquet"},
		{"annotations LOG -o a.cvs", `the format, by extension or --format, is txt, csv or jsonl, not "cvs"; did you mean csv?`},
		{"show LOG --format jsnl", `not "jsnl"; did you mean jsonl?`},
		{"save LOG", "save needs -o FILE"},
		{"save LOG -o -", "-o - does not say the format; give one with --format: txt, csv,"},
		{"save LOG -o a.foo", "-o a.foo does not say the format"},
		{"save LOG -o a.folded --weight cals", `--weight is ns, us or calls, not "cals"; did you mean calls?`},
		{"pack LOG -o a.lppack --map x", `--map is FROM=TO, not "x"`},
		{"pack LOG", "pack needs -o FILE"},
		{"values", "values needs a program or a library"},
		{"values IMAGE -- f@", "f@"},
		{"resolve 0x1125", "resolve needs --image FILE"},
		{"probes IMAGE", "probes needs an IMAGE and a PATTERN"},
		{"probes IMAGE f --for prf", `--for is perf, `},
		{"probes IMAGE f --args som", `--args is `},
		{"probes IMAGE f --args raw:x", `raw:N takes the first N arguments, from 1 to `},
		{"probes IMAGE f@", "f@"},
		{"record --min 5h ./app", "--min is a time, such as 500ns, 10us, 1.5ms or 1s, not \"5h\""},
		{"record --after 5h ./app", `--after is a time, such as 500ms or 10s, not "5h"`},
		{"record --depth 0 ./app", "--depth is a number of calls from 1 on, not 0"},
		{"record --paused ./app", "--paused needs the signal that ends it"},
		{"record --ring 0 ./app", "--ring is a number of megabytes from 1 to 4096, not 0"},
		{"record --ring 8 --show ./app", "--show is not for --ring"},
		{"record --crash none ./app", `--crash is off, first or last, and no-stack, with commas between, not "none"`},
		{"record --prototypes x.h ./app", "--prototypes is for --libcalls or --probe with --values"},
		{"record --head -1 ./app", "--head is a number of rows, such as 20, not -1"},
		{"record --pid 1 ./app", "--pid, --image and --all-processes are for --probe"},
		{"record --probe f --pid 1 ./app", "record runs a PROGRAM, or takes processes that run by --pid or --all-processes, not both"},
		{"record --probe f --all-processes", "--all-processes needs the file whose processes are meant: --image FILE"},
		{"record --probe f --min 1us ./app", "--min is for programs with hooks, not for --probe"},
		{"resolve --image IMAGE zz", `"zz" is not a hexadecimal address, such as 0x1125`},
	} {
		args := strings.Fields(test.line)
		for i := range args {
			args[i] = strings.NewReplacer("LOG", log, "IMAGE", filepath.Join(sampleDir, "logtest")).Replace(args[i])
		}
		code, out, errs := logparse(args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, strings.ReplaceAll(test.want, "show LOG", "show "+log)) {
			t.Errorf("%s: exit status %d: %s%s\nwant %s", test.line, code, out, errs, test.want)
		}
		if strings.Contains(errs, "strconv") || strings.Contains(errs, "parsing") {
			t.Errorf("%s says %s", test.line, errs)
		}
	}
}

// TestExamples holds that the examples of all options that can be given wrongly
// can be taken.
func TestExamples(t *testing.T) {
	seen := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			err := cmd.Flags().Set(f.Name, "\x00")
			if err == nil { // any text is right
				return
			}
			seen++
			said := optionMistake(cmd, err).Error()
			given, taken, ok := strings.Cut(said, "an example: ")
			if !ok || strings.Contains(given, "strconv") || !strings.Contains(given, `"\x00"`) {
				t.Errorf("%s --%s: %s", cmd.Name(), f.Name, said)
			}
			value := "true"
			if name, v, ok := strings.Cut(taken, " "); ok {
				taken, value = name, v
			}
			if taken != "--"+f.Name && taken != "-"+f.Shorthand {
				t.Errorf("%s --%s: the example is of %s", cmd.Name(), f.Name, taken)
			}
			if err := f.Value.Set(value); err != nil {
				t.Errorf("%s --%s does not take %s: %v", cmd.Name(), f.Name, value, err)
			}
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot(strings.NewReader(""), io.Discard, io.Discard))
	if seen < 20 {
		t.Errorf("%d options", seen)
	}
}

// TestRefused gives options that have no effect on the log or with the other
// options: none is passed over in silence.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	trace := loadTrace(t, "file begin=1000\nchunk process\nchunk events thread=7 base=1000\nenter @1100 entry 0x400010\nleave @4000\n")
	alone := filepath.Join(dir, "alone.dat")
	data, err := os.ReadFile(filepath.Join(sampleDir, "LogDetails.dat"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(alone, data, 0o666); err != nil {
		t.Fatal(err)
	}
	words := func(line string) []string {
		list := strings.Fields(line)
		for i := range list {
			list[i] = strings.NewReplacer("TRACE", trace, "ALONE", alone).Replace(list[i])
		}
		return list
	}
	const classicOnly = "is not for a trace, which has its own modules and clock; it is for classic logs"
	for _, verb := range []string{"show", "stats", "tree", "annotations", "info", "symbols", "advise", "save -o -"} {
		for _, option := range []string{"--modules x.bin", "--record 16", "--encoding gbk", "--start-time 2013-05-06T14:03:05.123", "--start-tick 5"} {
			args := append(strings.Fields(verb), trace)
			if args[0] == "save" {
				args = append(args, "--format", "csv")
			}
			code, out, errs := logparse(append(args, strings.Fields(option)...)...)
			name, _, _ := strings.Cut(option, " ")
			if code != exitUsage || out != "" || !strings.Contains(errs, name+" "+classicOnly) {
				t.Errorf("%s %s: exit status %d: %s%s", verb, option, code, out, errs)
			}
		}
	}
	for _, test := range []struct{ line, want string }{
		{"show TRACE --follow --encoding gbk", "--encoding " + classicOnly},
		{"show ALONE --encoding gbk", "--encoding is not for a log without a modules file"},
		{"show TRACE --index-cache x --no-index-cache", "--index-cache and --no-index-cache exclude each other"},
		{"show TRACE --json --format csv", "--json stands for --format jsonl, and csv was given, too"},
		{"advise TRACE --json --top 3", "--limit is not for --json"},
		{"save TRACE -o - --format html --bom", "--bom is not for html, only for txt and csv"},
		{"save TRACE -o - --format jsonl --crlf", "--crlf is not for jsonl, only for txt and csv"},
		{"save TRACE -o - --format txt --raw-csv", "--raw-csv is not for txt, only for csv"},
		{"save TRACE -o - --format csv --weight us", "--weight is not for csv, only for folded"},
		{"save TRACE -o - --format csv --split-rows 5", "--split-rows is not for the standard output"},
		{"save TRACE -o a.folded --split-bytes 5", "--split-bytes is not for folded, which sums up all rows"},
		{"save TRACE -o a.csv --split-rows -2", "numbers from 1, or -1 for never, not -2"},
		{"stats TRACE --bom", "--bom is not for txt, only for csv"},
		{"stats TRACE --crlf", "--crlf is not for txt, only for csv"},
		{"tree TRACE --raw-csv", "--raw-csv is not for txt, only for csv"},
		{"annotations TRACE --format jsonl --crlf", "--crlf is not for jsonl, only for txt and csv"},
	} {
		if code, out, errs := logparse(words(test.line)...); code != exitUsage || out != "" || !strings.Contains(errs, test.want) {
			t.Errorf("%s: exit status %d: %s%s", test.line, code, out, errs)
		}
	}
	// Those that only say what is so anyway, or have an effect.
	for _, line := range []string{
		"save TRACE -o - --format folded --split-rows -1 --split-bytes -1", "show TRACE --run 1", "show TRACE --json --format jsonl", "annotations TRACE --crlf",
		"stats TRACE --format csv --bom --crlf --raw-csv", "show ALONE --start-time 2013-05-06T14:03:05.123 --start-tick 5 --record 24",
	} {
		if code, _, errs := logparse(words(line)...); code != exitOK {
			t.Errorf("%s: exit status %d: %s", line, code, errs)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"show", "save", "stats", "symbols"}
	for written, want := range map[string]string{
		"shwo": "show", "sow": "show", "SHOW": "show", "shows": "show", "sym": "symbols", "symblos": "symbols", "st": "stats",
		"": "", "s": "", "xyz": "", "render": "", strings.Repeat("show", 100): "",
	} {
		if got := nearest(written, words); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"limti", "limit", 1}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// TestHelp asks for the help of commands.
func TestHelp(t *testing.T) {
	for line, want := range map[string]string{
		"": "logparse record ./app", "help": "Available Commands:", "help show": "logparse show LOG... [flags]", "help trace load": "only replaced with --replace",
		"trace": "logparse trace [command]", "completion": "logparse completion [command]", "help completion bash": "bash-completion", "help help": "logparse help [COMMAND...]",
	} {
		if code, out, errs := logparse(strings.Fields(line)...); code != exitOK || errs != "" || !strings.Contains(out, want) {
			t.Errorf("%q: exit status %d: %s%s", line, code, out, errs)
		}
	}
}

// TestCompletion asks as a shell does, and has shells read the scripts.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"s": "sample save show stats symbolize symbols", "show --fo": "--format --follow", "stats x --by ": "function module thread", "tree x --format ": "txt csv jsonl", "trace ": "dump load",
		"help re": "record recorder resolve", "save x --weight ": "ns us calls", "completion ": "bash fish powershell zsh",
	} {
		words := strings.Split(line, " ")
		_, out, _ := logparse(append([]string{"__complete"}, words...)...)
		var got []string
		for _, l := range strings.Split(out, "\n") {
			if l != "" && l[0] != ':' {
				name, _, _ := strings.Cut(l, "\t")
				got = append(got, name)
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%q: %s, want %s", line, g, want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code, script, errs := logparse("completion", shell)
		if code != exitOK || errs != "" || !strings.Contains(script, "logparse") {
			t.Errorf("%s: exit status %d: %.200s%s", shell, code, script, errs)
		}
		path, err := exec.LookPath(shell)
		if errors.Is(err, exec.ErrNotFound) {
			t.Logf("no %s here to read the script", shell)
			continue
		}
		read := exec.Command(path, "-n")
		read.Stdin = strings.NewReader(script)
		if out, err := read.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}
