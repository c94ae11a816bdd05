package app

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
)

// nameLines names the lines of a text.
func nameLines(t *testing.T, in Inputs, text string) []NamedLine {
	t.Helper()
	named, err := NameText(t.Context(), in, nil, strings.NewReader(text), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return named.Lines
}

// TestTextOfRecorded finds a program that a text names without its folder by what a log in this folder has recorded.
func TestTextOfRecorded(t *testing.T) {
	program, err := filepath.Abs(filepath.Join(linuxFolder, "logtest"))
	if err != nil {
		t.Fatal(err)
	}
	at := elfSymbol(t, program, "main")
	text := fmt.Sprintf("./logtest(+%#x)[%#x]\n", at.Value+at.Size/2, 0x7f0000000000+at.Value+at.Size/2)
	id := hex.EncodeToString([]byte(identityOf(t, linuxFolder, "logtest").BuildID))
	for _, recorded := range []bool{false, true} {
		t.Chdir(t.TempDir())
		if recorded {
			m := &tracetest.Memory{}
			w := tracetest.NewWriter(m)
			w.Clock(1000, 1000, 1_700_000_000_000_000_000, 0)
			w.Load(1000, 1, 0x400000, 0x10000, program, "build-id:"+id)
			w.Thread(1, 0, 7).Enter(2000, 0x401000, tracetest.Entry)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir("old.rec", 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("old.rec/logtest.lptrace", m.Bytes, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		line := nameLines(t, Inputs{}, text)[0]
		if got := string(line.AppendNames(nil)); strings.HasPrefix(got, "  => [unverified] main at ") != recorded {
			t.Errorf("recorded %v: %q", recorded, got)
		}
	}
}

// moduleSource is what modules of the kernel are: a relocatable file with several sections of code.
const moduleSource = `int seen;
__attribute__((section(".init.text"))) int drv_init(void) { seen = 1; return 0; }
__attribute__((noinline)) int drv_read(int n) { seen += n; return n; }
int drv_write(int n) {
  seen = drv_read(n); /* call */
  return seen * 3;
}
__attribute__((section(".exit.text"))) void drv_exit(void) { seen = 0; }
`

// TestNamesOfDebuggers finds files whose names kernels and debuggers have changed: no extension, and _ for what cannot be in a symbol's name.
func TestNamesOfDebuggers(t *testing.T) {
	dir := t.TempDir()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("drv.c", []byte(moduleSource))
	cmd := exec.Command(gcc, "-c", "-g", "-O1", "drv.c", "-o", "snd-drv.ko")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"logtest.exe", "logtest.pdb"} {
		data, err := os.ReadFile(filepath.Join("../testdata/logtest/windows-x64-clang", name))
		if err != nil {
			t.Fatal(err)
		}
		write(strings.Replace(name, "log", "log-2.", 1), data)
	}
	exe := filepath.Join(dir, "log-2.test.exe")
	at := procedureAt(t, exe, "main") + 8
	text := "[   12.5] RIP: 0010:drv_write+0x9/0x1c [snd_drv]\n drv_init+0x2/0x10 [snd_drv 0a0b]\n" +
		fmt.Sprintf("00 006ffb2c 778624c0 log_2_test+%#x\n", at)
	lines := nameLines(t, Inputs{Symbols: []string{dir}}, text)
	source := filepath.Join(dir, "drv.c")
	for i, want := range []string{"drv_write at " + source + ":5", "drv_init at " + source + ":2", "main at "} {
		if got := string(lines[i].AppendNames(nil)); !strings.HasPrefix(got, "  => "+want) {
			t.Errorf("%q: %q, want %q", lines[i].Text, got, want)
		}
	}
}
