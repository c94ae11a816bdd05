package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"logparser/symbols/image"
	"logparser/symbols/store"
)

// whereSource prints a backtrace of itself as glibc does, then where the frames are as bare addresses; with an argument it waits for its
// standard input to end before it goes. The calls are marked.
const whereSource = `#include <execinfo.h>
#include <stdio.h>
volatile int sink;
static __attribute__((noinline)) void trace(void) {
  void *b[8];
  int n = backtrace(b, 8); /* call 1 */
  backtrace_symbols_fd(b, n, 1);
  for (int i = 0; i < 3; i++) printf("called by %p\n", b[i]);
  fflush(stdout);
}
static __attribute__((noinline)) int test1(int x) {
  trace(); /* call 2 */
  sink++;
  return x + 1;
}
int main(int argc, char **argv) {
  char line[512];
  if (argc > 2) {
    FILE *to = fopen(argv[2], "w"), *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) fputs(line, to);
    fclose(to);
  }
  sink += test1(argc); /* call 3 */
  sink++;
  if (argc > 1) while (fgets(line, sizeof line, stdin)) ;
  return 0;
}
`

// buildWhere compiles whereSource below a folder.
func buildWhere(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, "where.c")
	if err := os.WriteFile(source, []byte(whereSource), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(gcc, append(args, "-g", "-O1", "-fno-optimize-sibling-calls", source, "-o", path)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// whereOutput runs a program in a folder by a name.
func whereOutput(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// checkWhere holds that the three frames of the program are named in each list of them, with this before each name.
func checkWhere(t *testing.T, got, before string, times int) {
	t.Helper()
	for i, function := range []string{"trace", "test1", "main"} {
		want := fmt.Sprintf("=> %s%s at ", before, function)
		line := fmt.Sprintf("where.c:%d\n", markedLine(whereSource, "call "+strconv.Itoa(i+1)))
		n := 0
		for l := range strings.Lines(got) {
			if strings.Contains(l, want) && strings.HasSuffix(l, line) {
				n++
			}
		}
		if n != times {
			t.Errorf("%d lines have %q … %q, want %d:\n%s", n, want, line, times, got)
		}
	}
}

// TestSymbolizeWhere names the frames of programs that texts name as they were started, wherever they lie; without a build-id they are
// marked, unless the text tells the place.
func TestSymbolizeWhere(t *testing.T) {
	const mark = "[unverified] "
	tests := []struct {
		name string
		// built is where the program lies, run the folder that it runs in, and start how it is started.
		built, run, start string
		// folder is where the text is read, and text is what it has before the frames.
		folder, text string
		before       string
	}{
		{"in its folder", "bt", ".", "./bt", ".", "", mark},
		{"in a folder below", "build/out/bt", ".", "build/out/bt", ".", "", mark},
		{"run in a folder below", "build/out/bt", "build/out", "./bt", ".", "", mark},
		{"run above", "build/out/bt", ".", "build/out/bt", "build/out", "", mark},
		{"run beside", "bin/bt", "lib", "../bin/bt", "bin", "", mark},
		{"by PATH", "bin/bt", ".", "bt", "elsewhere", "", mark},
		{"the text tells the folder", "bin/bt", "bin", "./bt", "elsewhere", "PWD=$/bin\n", ""},
		{"the text tells the program", "bin/bt", "bin", "./bt", "elsewhere", "    Executable: $/bin/bt\n", ""},
		{"elsewhere", "bin/bt", "bin", "./bt", "elsewhere", "", "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			buildWhere(t, dir, tt.built)
			for _, f := range []string{"lib", "elsewhere", tt.run} {
				if err := os.MkdirAll(filepath.Join(dir, f), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			if tt.start == "bt" {
				t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
			}
			var frames strings.Builder
			for l := range strings.Lines(whereOutput(t, filepath.Join(dir, tt.run), tt.start)) {
				if strings.Contains(l, "bt(") {
					frames.WriteString(l)
				}
			}
			text := strings.ReplaceAll(tt.text, "$", dir) + frames.String()
			t.Chdir(filepath.Join(dir, tt.folder))
			got, errs, _ := symbolize(t, strings.NewReader(text))
			if withoutNames(got) != text {
				t.Errorf("lines were changed:\n%s", got)
			}
			if tt.before == "none" {
				if got != text || !strings.Contains(errs, "bt: ") {
					t.Errorf("named:\n%s%s", got, errs)
				}
				return
			}
			checkWhere(t, got, tt.before, 1)
			if got, _, _ := symbolize(t, strings.NewReader(text), "--no-recorded-paths"); got != text {
				t.Errorf("named although no path of the text may be opened:\n%s", got)
			}
		})
	}
}

// TestSymbolizeWhereByBuildID takes the program whose build-id the text has, of several of one name, and no other.
func TestSymbolizeWhereByBuildID(t *testing.T) {
	dir := t.TempDir()
	buildWhere(t, dir, "one/bt")
	buildWhere(t, dir, "two/bt", "-DSECOND", "-O2")
	var id, offset string
	for l := range strings.Lines(whereOutput(t, filepath.Join(dir, "two"), "./bt")) {
		if strings.HasPrefix(l, "./bt(+") && offset == "" {
			_, offset, _ = strings.Cut(l, "(+")
			offset, _, _ = strings.Cut(offset, ")")
		}
	}
	f, err := store.OpenFile(filepath.Join(dir, "two/bt"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	id = hex.EncodeToString([]byte(img.Identity.BuildID))
	t.Chdir(dir)
	line := func(id string) string {
		return fmt.Sprintf("#1  0x000055d0a1f01399 n/a (bt + %s) (BuildId: %s)\n", offset, id)
	}
	if got, _, _ := symbolize(t, strings.NewReader(line(id))); !strings.Contains(got, fmt.Sprintf("  => trace at %s/where.c:%d\n", dir, markedLine(whereSource, "call 1"))) {
		t.Errorf("not named: %s", got)
	}
	if got, _, _ := symbolize(t, strings.NewReader(line("ab"+id[2:]))); !strings.Contains(got, "[mismatched]") || strings.Contains(got, "where.c") {
		t.Errorf("named by another build: %s", got)
	}
}

// TestSymbolizeMaps takes mappings that stand beside the text: a copy of them, and those of a process that still runs.
func TestSymbolizeMaps(t *testing.T) {
	for _, args := range [][]string{nil, {"-no-pie"}} {
		dir := t.TempDir()
		buildWhere(t, dir, "bt", args...)
		maps := filepath.Join(dir, "maps.txt")
		cmd := exec.Command("./bt", "wait", maps)
		cmd.Dir = dir
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer stop.Stop()
		var text strings.Builder
		for lines := bufio.NewScanner(out); strings.Count(text.String(), "called by") < 3 && lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "called by") {
				text.WriteString(lines.Text() + "\n")
			}
		}
		t.Chdir(t.TempDir())
		for _, from := range []string{maps, strconv.Itoa(cmd.Process.Pid)} {
			got, errs, code := symbolize(t, strings.NewReader(text.String()), "--maps", from)
			if code != exitOK {
				t.Errorf("%d: %s", code, errs)
			}
			checkWhere(t, got, "", 1)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		nothing := filepath.Join(dir, "where.c")
		for _, from := range []string{nothing, filepath.Join(dir, "absent"), strconv.Itoa(cmd.Process.Pid)} {
			if _, errs, code := symbolize(t, strings.NewReader(text.String()), "--maps", from); code == exitOK || !strings.Contains(errs, "--maps") {
				t.Errorf("%s: %d, %s", from, code, errs)
			}
		}
	}
}
