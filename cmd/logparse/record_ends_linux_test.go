package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dying is a program whose children end in all ways, each in a call that it has made before: by themselves, by a signal
// after a time, killed while they hang, as another program. The last one has ended long before its parent waits for it.
const dying = `
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void exits(void) { usleep(20000); _exit(7); }
__attribute__((noinline)) void dies(void) { usleep(100000); raise(SIGKILL); }
__attribute__((noinline)) void hangs(void) { for (;;) pause(); }
__attribute__((noinline)) void becomes(char *self) { usleep(20000); execl(self, self, "again", NULL); }
__attribute__((noinline)) void waits_long(void) { usleep(20000); _exit(9); }
__attribute__((noinline)) void again(void) { usleep(100000); raise(SIGTERM); }
int main(int argc, char **argv) {
  if (argc > 1) again();
  pid_t p[5];
  for (int i = 0; i < 5; i++)
    if (!(p[i] = fork())) {
      if (i == 0) exits();
      if (i == 1) dies();
      if (i == 2) hangs();
      if (i == 3) becomes(argv[0]);
      waits_long();
    }
  usleep(150000);
  kill(p[2], SIGKILL);
  for (int i = 0; i < 5; i++) waitpid(p[i], NULL, 0);
  return 3;
}
`

// TestRecordChildrenEnd looks at the logs of processes that the command is not the parent of: they say how these ended, and
// calls that were open then last until then.
func TestRecordChildrenEnd(t *testing.T) {
	program := compile(t, dying, withHooks)
	dir := filepath.Join(t.TempDir(), "out")
	cmd := recordProcess(t, program, "-q", "-o", dir, "./program")
	if out, _ := cmd.CombinedOutput(); len(out) > 0 || cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v: %s", cmd.ProcessState, out)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.lptrace"))
	if err != nil || len(logs) != 7 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	wants := map[string]struct {
		note  string
		lasts float64 // at least, microseconds
	}{
		"exits": {"the process ended with status 7", 20_000}, "dies": {"signal 9 ended the process", 100_000}, "hangs": {"signal 9 ended the process", 100_000},
		"becomes": {"the process became another program", 20_000}, "again": {"signal 15 ended the process", 100_000},
		"waits_long": {"the process ended with status 9", 20_000}, "main": {"the process ended with status 3", 150_000},
	}
	for _, log := range logs {
		_, info, _ := logparse("info", log)
		_, shown, _ := logparse("show", log, "--json", "--where", "event:enter")
		lines := strings.Split(strings.TrimSpace(shown), "\n")
		var row struct {
			Function string
			Duration float64 `json:"duration_us"`
			Note     string
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &row); err != nil {
			t.Fatalf("%v: %s", err, shown)
		}
		want, ok := wants[row.Function]
		if !ok {
			t.Fatalf("%s: %s", log, shown)
		}
		delete(wants, row.Function)
		if !strings.Contains(info, want.note) || strings.Contains(info, "still runs or was killed") || row.Duration < want.lasts || row.Duration > 10_000_000 || strings.Contains(shown, "≥") {
			t.Errorf("%s: %s\n%s", row.Function, shown, info)
		}
	}
	if len(wants) > 0 {
		t.Errorf("there is no log of %v", wants)
	}
}

// TestRecordNamespace records processes that know themselves by other ids than the system does: no other process's end is
// written into their logs.
func TestRecordNamespace(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("it takes unshare, and root")
	}
	program := compile(t, endings, withHooks)
	dir := filepath.Join(t.TempDir(), "out")
	cmd := recordProcess(t, program, "-q", "-o", dir, unshare, "--fork", "--pid", "--mount-proc", "sh", "-c", "./program 4 0; ./program 0 9; exit 0")
	if out, err := cmd.CombinedOutput(); err != nil && strings.Contains(string(out), "not permitted") {
		t.Skipf("%s", out)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.lptrace"))
	if err != nil || len(logs) != 2 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	for _, log := range logs {
		_, info, _ := logparse("info", log)
		if strings.Contains(info, "the process ended") && !strings.Contains(info, "the process ended with status 4") {
			t.Errorf("%s", info)
		}
	}
}
