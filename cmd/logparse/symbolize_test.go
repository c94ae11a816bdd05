package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// tracedSource prints its mappings, and a backtrace from a chain of calls whose lines
// are marked: two statements stand in a line of their own behind each call.
const tracedSource = `#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
extern int library(int (*f)(int), int x);
volatile int sink;
static void trace(void) {
  void *b[8];
  int n = backtrace(b, 8); /* call 1 */
  backtrace_symbols_fd(b, n, 1);
  for (int i = 0; i < n; i++) printf("called by %p\n", b[i]);
  fflush(stdout);
}
__attribute__((noinline)) int test1(int x) {
  trace(); /* call 2 */
  sink++;
  return x + 1;
}
__attribute__((noinline)) int test2(int x) {
  int r = test1(x); /* call 3 */
  sink++;
  return r * 2;
}
static void handler(int sig) {
  (void)sig;
  trace(); /* call 5 */
  _exit(0);
}
int main(void) {
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) fputs(line, stdout);
  fflush(stdout);
  sink += library(test2, 1); /* call 4 */
  sink++;
  signal(SIGSEGV, handler);
  *(volatile int *)8 = 1; /* fault */
  return 0;
}
`

const librarySource = `volatile int inside;
int library(int (*f)(int), int x) {
  int r = f(x); /* call in the library */
  inside++;
  return r;
}
`

// markedLine returns the number of the line that has a mark.
func markedLine(source, mark string) int {
	return 1 + strings.Count(source[:strings.Index(source, "/* "+mark+" */")], "\n")
}

// TestSymbolizeBacktrace symbolizes what programs print of themselves. Each frame has
// the line of its call, not that of the statement behind it, also where a library's
// code lies at another offset in the file than in memory, and the frame below that of
// a signal has the line of the fault.
func TestSymbolizeBacktrace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program is for Linux")
	}
	builds := []struct {
		name, compiler string
		args           []string
	}{
		{"gcc, PIE", "gcc", []string{"-O1"}},
		{"gcc, fixed", "gcc", []string{"-O1", "-no-pie"}},
		{"gcc, -O0", "gcc", []string{"-O0"}},
		{"clang, lld", "clang-19", []string{"-O1", "-fuse-ld=lld"}},
	}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			compiler, err := exec.LookPath(b.compiler)
			if err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			write := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return path
			}
			program, library := write("program.c", tracedSource), write("library.c", librarySource)
			build := func(args ...string) {
				cmd := exec.Command(compiler, append(append([]string{"-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"}, b.args...), args...)...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Skipf("%v: %s", err, out)
				}
			}
			build("-fPIC", "-shared", library, "-o", "libtraced.so")
			build(program, "./libtraced.so", "-o", "program")
			cmd := exec.Command("./program")
			cmd.Dir = dir
			text, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			got, errs, code := symbolize(t, bytes.NewReader(text))
			if code != exitOK {
				t.Fatalf("%d: %s", code, errs)
			}
			if plain := withoutNames(got); plain != string(text) {
				t.Fatalf("lines were changed:\n%s", got)
			}
			for _, call := range []struct{ function, file, mark string }{
				{"trace", "program.c", "call 1"}, {"test1", "program.c", "call 2"}, {"test2", "program.c", "call 3"},
				{"main", "program.c", "call 4"}, {"library", "library.c", "call in the library"}, {"handler", "program.c", "call 5"},
			} {
				source := tracedSource
				if call.file == "library.c" {
					source = librarySource
				}
				want := regexp.MustCompile(fmt.Sprintf(`(?m)^(called by|\S+)[ \[(].*=> (.*inlined into )?%s at \S*%s:%d(,|$)`, call.function, call.file, markedLine(source, call.mark)))
				// Each stands in both lists, of the backtrace that it is in.
				if n := len(want.FindAllString(got, -1)); n < 2 {
					t.Errorf("%d lines have %s:\n%s", n, want, got)
				}
			}
			if strings.Contains(got, "__restore_rt") && !strings.Contains(got, fmt.Sprintf("=> main at %s:%d\n", program, markedLine(tracedSource, "fault"))) {
				t.Errorf("no line of the fault:\n%s", got)
			}
			// Without mappings the image's name leads to it.
			var few []string
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "./") {
					few = append(few, line)
				}
			}
			got, _, _ = symbolize(t, strings.NewReader(strings.Join(few, "")), "--image", filepath.Join(dir, "program"), "--image", filepath.Join(dir, "libtraced.so"))
			if want := fmt.Sprintf("=> test2 at %s:%d\n", program, markedLine(tracedSource, "call 3")); !strings.Contains(got, want) {
				t.Errorf("no %q:\n%s", want, got)
			}
		})
	}
}

func symbolize(t *testing.T, in io.Reader, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), append([]string{"symbolize"}, args...), in, &o, &e)
	return o.String(), e.String(), code
}

// withoutNames takes away what was added to lines.
func withoutNames(text string) string {
	return regexp.MustCompile(`(?m)  => .*$`).ReplaceAllString(text, "")
}

// TestSymbolizeLines has what is no address copied as it is: line ends of both kinds,
// none at the end, long lines, bytes that are no text.
func TestSymbolizeLines(t *testing.T) {
	for _, text := range []string{
		"", "\n", "no end", "0x0985", "a\r\n0x0985\r\nb", "\xff\x00\xfe 0x0985\n", strings.Repeat("0x0985 ", longest/4) + "\nshort\n", strings.Repeat("\n", 3000),
	} {
		got, errs, code := symbolize(t, strings.NewReader(text))
		if got != text || errs != "" || code != exitOK {
			t.Errorf("%.40q: %d, %q, %.80q", text, code, errs, got)
		}
	}
}

// TestSymbolizeImage names addresses of an image that the user names, where it lies at
// its own base and elsewhere.
func TestSymbolizeImage(t *testing.T) {
	want, _, _ := resolveLines(t, strings.NewReader("0x985\n"))
	function, _, _ := strings.Cut(strings.Fields(want)[1], "(")
	for text, image := range map[string]string{
		"pc=0x7f0000000985":                 resolveImage + "@7f0000000000",
		"rip: 0x7f0000000985\r":             resolveImage + "@0x7f0000000000",
		"    #0 0x1  (/opt/gcc5.so+0x0985)": resolveImage,
		"gcc5.so+0x0985 as rip 0x7f0985":    resolveImage + "@7f0000",
	} {
		got, errs, code := symbolize(t, strings.NewReader(text), "--image", image)
		if !strings.Contains(got, "  => ") || !strings.Contains(got, function) || code != exitOK {
			t.Errorf("%q: %d, %s, %q", text, code, errs, got)
		}
		out, _, _ := symbolize(t, strings.NewReader(text), "--image", image, "--json")
		var o jsonReference
		first, _, _ := strings.Cut(out, "\n")
		if err := json.Unmarshal([]byte(first), &o); err != nil || o.TextLine != 1 || text[o.TextColumn-1:][:len(o.Text)] != o.Text || o.Status == "" || o.Function == "" {
			t.Errorf("%q: %s: %v", text, out, err)
		}
	}
	if _, errs, code := symbolize(t, strings.NewReader(""), "--image", resolveImage+"@0xzz"); code != exitUsage {
		t.Errorf("%d: %s", code, errs)
	}
	if _, errs, code := symbolize(t, strings.NewReader(""), "--image", "missing"); code != exitError || !strings.Contains(errs, "missing") {
		t.Errorf("%d: %s", code, errs)
	}
}

// TestSymbolizeOtherBuild names nothing by a file of another build.
func TestSymbolizeOtherBuild(t *testing.T) {
	dir, err := filepath.Abs(filepath.Dir(resolveImage))
	if err != nil {
		t.Fatal(err)
	}
	text := "    #0 0x7f0985  (" + filepath.Join(dir, "gcc5.so") + "+0x0985) (BuildId: 0102030405060708090a0b0c0d0e0f1011121314)\n"
	got, errs, code := symbolize(t, strings.NewReader(text))
	if !strings.HasPrefix(got, strings.TrimSuffix(text, "\n")+"  => [mismatched] ") || strings.Contains(got, "checked") || code != exitOK || !strings.Contains(errs, "gcc5.so") {
		t.Errorf("%d, %s: %q", code, errs, got)
	}
	// That is so where the user names the file, too, unless names of other builds are asked for.
	got, _, _ = symbolize(t, strings.NewReader(text), "--image", resolveImage)
	if !strings.Contains(got, "  => [mismatched] ") || strings.Contains(got, "checked") {
		t.Errorf("%q", got)
	}
	got, _, _ = symbolize(t, strings.NewReader(text), "--image", resolveImage, "--load-mismatched")
	if !strings.Contains(got, "[mismatched]") || !strings.Contains(got, "checked") {
		t.Errorf("%q", got)
	}
	got, _, _ = symbolize(t, strings.NewReader(text), "--image", resolveImage, "--json")
	var o jsonReference
	if err := json.Unmarshal([]byte(got), &o); err != nil || o.Status != "mismatched" || o.SymbolFile == "" || o.Function != "" {
		t.Errorf("%q: %v", got, err)
	}
	// A path out of the text is opened only by the rule.
	named := strings.Replace(text, " (BuildId: 0102030405060708090a0b0c0d0e0f1011121314)", "", 1)
	if got, _, _ := symbolize(t, strings.NewReader(named)); !strings.Contains(got, "  => ") {
		t.Errorf("not named: %q", got)
	}
	if got, _, _ := symbolize(t, strings.NewReader(named), "--no-recorded-paths"); got != named {
		t.Errorf("named: %q", got)
	}
}

// TestSymbolizeReport names what a report of macOS says in JSON, whose modules come behind the frames, by a
// symbol file of the same UUID and by none of another.
func TestSymbolizeReport(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "app", "D6D1FEC9A15DE7F38A236898871A2E770", "app.sym")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("MODULE mac arm64 D6D1FEC9A15DE7F38A236898871A2E770 app\nFILE 0 a.c\nFUNC 10 20 0 inner\n10 10 3 0\n20 10 4 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := `{"bug_type":"309"}
{"threads":[{"frames":[{"imageOffset":32,"imageIndex":0},
 {"imageOffset":32,"imageIndex":0}]}],
"usedImages":[{"base":4294967296,"size":16384,"uuid":"d6d1fec9-a15d-e7f3-8a23-6898871a2e77","path":"/App/app"}]}`
	want := strings.Replace(strings.Replace(text, "0},\n", "0},  => inner at a.c:4\n", 1), "0}]}],", "0}]}],  => inner at a.c:3", 1)
	if got, errs, code := symbolize(t, strings.NewReader(text), "--symbols", dir); got != want || code != exitOK {
		t.Errorf("%d, %s\n%s", code, errs, got)
	}
	other := strings.Replace(text, "d6d1fec9", "00d1fec9", 1)
	if got, _, _ := symbolize(t, strings.NewReader(other), "--symbols", dir); strings.Contains(got, "inner") {
		t.Errorf("named:\n%s", got)
	}
}

// TestSymbolizeMicrodump has the frames of a microdump at its end.
func TestSymbolizeMicrodump(t *testing.T) {
	const dumps = "../../../shared/data/dumps"
	text, err := os.ReadFile(filepath.Join(dumps, "microdump-arm64.dmp"))
	if err != nil {
		t.Skip("no conformance data here")
	}
	got, errs, code := symbolize(t, bytes.NewReader(text), "--symbols", filepath.Join(dumps, "symbols", "microdump"))
	if code != exitOK || withoutNames(got) != withoutNames(string(text)) {
		t.Fatalf("%d, %s:\n%s", code, errs, got)
	}
	if !regexp.MustCompile(`END BREAKPAD MICRODUMP-----  => MicrodumpWriterTest_Setup_Test::TestBody at .*:77  => .*  => main at .*gtest.h:2326\s`).MatchString(got) {
		t.Error(got[max(0, len(got)-2000):])
	}
}

// TestSymbolizeLive has the answer to a line before the next one comes.
func TestSymbolizeLive(t *testing.T) {
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	go func() {
		run(context.Background(), []string{"symbolize", "--image", resolveImage + "@0x7f0000000000"}, in, out, io.Discard)
		out.Close()
	}()
	for range 3 {
		io.WriteString(feed, "rip 0x7f0000000985\n")
		got := make([]byte, 1<<10)
		n, err := answers.Read(got)
		if err != nil || !strings.Contains(string(got[:n]), "  => ") {
			t.Fatalf("%q, %v", got[:n], err)
		}
	}
	feed.Close()
	io.Copy(io.Discard, answers)
}

// TestSymbolizeFollow goes on when the file grows, until it is interrupted.
func TestSymbolizeFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answers, out := io.Pipe()
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"symbolize", "--follow", path, "--image", resolveImage + "@0x7f0000000000"}, nil, out, io.Discard)
		out.Close()
	}()
	for range 2 {
		io.WriteString(f, "rip 0x7f0000000985\n")
		got := make([]byte, 1<<10)
		if n, err := answers.Read(got); err != nil || !strings.Contains(string(got[:n]), "  => ") {
			t.Fatalf("%q, %v", got[:n], err)
		}
	}
	cancel()
	go io.Copy(io.Discard, answers)
	if code := <-done; code == exitOK {
		t.Error("an interrupted run ended as if it were done")
	}
	if _, _, code := symbolize(t, nil, "--follow"); code != exitUsage {
		t.Errorf("without a file: %d", code)
	}
}

// TestSymbolizeSpaces has one address of a function said in every way that texts have.
func TestSymbolizeSpaces(t *testing.T) {
	for _, text := range []string{
		"7f0000000000-7f0000002000 r-xp 00000000 08:01 77 /opt/gcc5.so\nrip 0x7f0000000985",
		"app[12]: segfault at 0 ip 00007f0000000985 sp 00007ffd000 error 4 in gcc5.so[985,7f0000000000+2000]",
		"app[12]: segfault at 0 ip 00007f0000000985 sp 00007ffd000 error 4 in gcc5.so[7f0000000000+2000]",
		"./gcc5.so(checked+0x5)[0x7f0000000985]",
		"./gcc5.so(+0x985)[0x7f0000000985]",
		"00 006ffb2c 778624c0 gcc5!checked+0x5",
		"{{{module:1:gcc5.so:elf:}}}{{{mmap:0x7f0000000000:0x2000:load:1:rx:0x0}}}{{{pc:0x7f0000000985}}}",
		"    #0 0x7f0000000985  (/opt/gcc5.so+0x985)",
		"==1==    at 0x108985: ??? (in /opt/gcc5.so)",
		"0   gcc5.so   0x7f0000000985 0x7f0000000000 + 2437",
	} {
		got, errs, code := symbolize(t, strings.NewReader(text), "--image", resolveImage)
		if !regexp.MustCompile(`(?m)  => (\S+ at \S+, inlined into )*checked at \S+:\d+`).MatchString(got) || code != exitOK {
			t.Errorf("%d, %s: %q", code, errs, got)
		}
	}
	for _, text := range []string{"00 006ffb2c 778624c0 gcc5!missing+0x5", "rip 0x7f0000000985", "./gcc5.so(+0xffff985)[0x7f0000000985]", "at 00601099 0099:00000985 /opt/gcc5.so"} {
		if got, _, _ := symbolize(t, strings.NewReader(text), "--image", resolveImage); got != text {
			t.Errorf("%q", got)
		}
	}
}

// TestSymbolizeSection reads an address as the patent's report has it.
func TestSymbolizeSection(t *testing.T) {
	const image = "../../testdata/logtest/windows-x64-clangcl/logtest.exe"
	named := 0
	for offset := 0; offset < 0x400; offset += 0x40 {
		var out bytes.Buffer
		run(context.Background(), []string{"resolve", "--image", image, fmt.Sprintf("%#x", 0x1000+offset), "--json"}, nil, &out, io.Discard)
		var want jsonAddress
		if err := json.Unmarshal(out.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`at 00601099 0001:%08X H:\Log\Debug\LOGTEST.EXE`, offset)
		got, _, _ := symbolize(t, strings.NewReader(text), "--image", image)
		if want.Function == "" {
			continue
		}
		if named++; !strings.Contains(got, "  => "+want.Function) {
			t.Errorf("%q, want %s", got, want.Function)
		}
	}
	if named == 0 {
		t.Error("no function was asked for")
	}
}
