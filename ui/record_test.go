package ui

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
)

const shortProgram = `
#include <unistd.h>
int step(int x) { return x + 1; }
int main(void) {
	step(1);
	for (int i = 0; i < 6000; i++) { usleep(10000); }
	return 0;
}
`

// programToRecord builds a program that runs for a minute.
func programToRecord(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("a program is built and run")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "p.c")
	if err := os.WriteFile(source, []byte(shortProgram), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-g", "-finstrument-functions", source, "-o", filepath.Join(dir, "p")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// TestRecord records a program by the dialog, follows it, is asked before the window is closed, and stops it.
func TestRecord(t *testing.T) {
	dir := programToRecord(t)
	r := newRig(t, nil)
	t.Cleanup(func() {
		r.recording.recorder.Stop()
		r.wait("the program's end", func() bool { return !r.recording.busy() })
	})
	r.actions.act("record")
	f := r.recording.form
	if f == nil || !f.start.Disabled() {
		t.Fatal("the form can be sent without a program")
	}
	f.chosen(filepath.Join(dir, "p"))
	if f.work.Text != dir {
		t.Errorf("the working folder is %q", f.work.Text)
	}
	r.waitTrace("way in p calls the hooks of -finstrument-functions")
	if f.start.Disabled() || !strings.Contains(f.way.Text, "the recorder is preloaded") {
		t.Errorf("way in: %q", f.way.Text)
	}
	f.except.SetText("st*")
	test.Tap(&f.start.Button)
	if r.dialogs.modal() || !r.recording.busy() || r.actions.byName["record"].can() {
		t.Error("the program was not started")
	}
	r.wait("following", func() bool { return r.ctl.State().Follow.On && r.ctl.State().Rows.Len() == 1 }) // main, without step
	if b := r.status.record; !b.Visible() || b.Text != "Stop p" || !strings.Contains(b.Hint(), "Ctrl+Shift+X") {
		t.Errorf("button %q, %t", b.Text, b.Visible())
	}
	r.close()
	if !r.recording.asking || !r.dialogs.modal() {
		t.Error("closing the window did not ask")
	}
	r.dialogs.top.Hide()
	if r.recording.asking || r.dialogs.modal() {
		t.Error("the question is still open")
	}
	test.Tap(&r.status.record.Button)
	r.wait("how it ended", func() bool { return strings.HasPrefix(r.status.message.Text, "p was stopped (signal 15)") })
	if r.status.record.Visible() || r.ctl.State().Follow.On || !r.actions.byName["record"].can() {
		t.Error("something goes on after the end")
	}
	// What was asked is kept for the next time.
	r.actions.act("record")
	if f := r.recording.form; f.program.Text != filepath.Join(dir, "p") || f.except.Text != "st*" {
		t.Errorf("kept: %+v", f.request())
	}
	r.typeKey(fyne.KeyEscape)
	if r.dialogs.modal() {
		t.Error("Escape does not close the form")
	}
}
