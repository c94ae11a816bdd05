package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestValuesOfSession records a program that forks, and starts another one, by one plan of both: each process has its values, which
// are shown, chosen, summed up and saved for all of them together.
func TestValuesOfSession(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	sources := map[string]string{
		"forks.c": `
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
struct job { const char *name; int n; };
__attribute__((noipa)) int work(struct job j, long by) { return (j.name[0] ? j.n : 0) * (int)by; }
__attribute__((noipa)) int child(int n) { return work((struct job){"child", n}, -1) + 7; }
int main(void) {
  const int sum = work((struct job){"parent", 1}, 10);
  for (int i = 3; i < 5; i++)
    if (fork() == 0) _exit(child(i) > 100);
  while (wait(NULL) > 0) {}
  if (fork() == 0) execl("./other", "other", "text", (char *)NULL);
  while (wait(NULL) > 0) {}
  printf("%d\n", sum);
  return 0;
}
`,
		"other.c": `
#include <string.h>
enum kind { ZERO, ONE, TWO };
__attribute__((noipa)) double other(const char *s, enum kind k) { return (double)strlen(s) / 8 + k; }
int main(int argc, char **argv) { return argc != 2 || other(argv[1], TWO) != 2.5; }
`,
	}
	dir := t.TempDir()
	run := func(command ...string) string {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		if command[0] == "logparse" {
			cmd = process(t, command[1:]...)
		}
		cmd.Dir = dir
		cmd.Stderr = nil
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v %s", command, err, out)
		}
		return string(out)
	}
	if findCompiler("gcc") == "" {
		t.Skip("there is no gcc")
	}
	if err := os.WriteFile(filepath.Join(dir, "hook.c"), []byte("void __return__(void) {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	run("gcc", "-O1", "-shared", "-fPIC", "hook.c", "-o", "libhook.so")
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		run("gcc", "-g", "-O2", "-pg", "-mfentry", "-minstrument-return=call", name, "-o", strings.TrimSuffix(name, ".c"), "-L.", "-lhook", "-Wl,-rpath,"+dir, "-Wl,--build-id")
	}
	run("logparse", "values", "forks", "other", "-o", "both.lpvalues", "--", "*", "!main")
	out, err := recordProcess(t, filepath.Join(dir, "forks"), "--values", "both.lpvalues", "-o", "log", "--head", "0", "./forks").Output()
	if err != nil || string(out) != "10\n" {
		t.Fatalf("%v: %q", err, out)
	}
	shown := func(where string) (calls []string) {
		for line := range strings.Lines(run("logparse", "show", "log", "--where", "event:enter -func:main "+where)) {
			if _, call, ok := strings.Cut(line, "-> "); ok {
				call, _, _ = strings.Cut(call, "  ")
				calls = append(calls, call)
			}
		}
		slices.Sort(calls)
		return calls
	}
	child := []string{
		"child(int n = 3) = 4", "child(int n = 4) = 3", `work(job j = {name = "child", n = 3}, long by = -1) = -3`, `work(job j = {name = "child", n = 4}, long by = -1) = -4`,
	}
	parent, other := `work(job j = {name = "parent", n = 1}, long by = 10) = 10`, `other(char const* s = "text", kind k = TWO) = 2.5`
	for where, want := range map[string][]string{
		"": {child[0], child[1], other, child[2], child[3], parent}, "arg.j.name:child": child[2:], "arg.j.n:>3": child[3:], "result:<0": child[2:],
		"arg.k:TWO": {other}, "arg.s:~ex": {other}, "result:2.5": {other}, "process:other": {other}, "arg.by:>0": {parent},
	} {
		if got := shown(where); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", where, got, want)
		}
	}
	sums := run("logparse", "stats", "log", "--by", "arg.j.name")
	if !strings.Contains(sums, `work(j.name = "child")`) || !strings.Contains(sums, `work(j.name = "parent")`) {
		t.Errorf("the sums are %s", sums)
	}
	for format, want := range map[string]string{
		"csv":   `other,"char const* s = ""text"", kind k = TWO",2.5`,
		"jsonl": `"arguments":{"j":{"name":"child","n":4},"by":-1},"result":{"return":-4}`,
		"json":  `"arguments":{"s":"text","k":"TWO"},"result":{"return":2.5}`,
	} {
		run("logparse", "save", "log", "-o", "saved."+format)
		if text := readFile(t, filepath.Join(dir, "saved."+format)); !strings.Contains(text, want) {
			t.Errorf("%s has no %s", format, want)
		}
	}
}
