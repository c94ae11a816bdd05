package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fyne.io/fyne/v2/test"

	"logparser/internal/testlog/tracetest"
	"logparser/ui/control"
)

// TestCrashView opens a log that ended in a crash: the window says so and offers the view, whose frames
// lead to the rows of their calls.
func TestCrashView(t *testing.T) {
	log := filepath.Join(t.TempDir(), "app.lptrace")
	if err := os.WriteFile(log, tracetest.Crashed(tracetest.Smashed()), 0o666); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	r.Open([]string{log})
	r.waitTrace("loaded")
	m := r.ctl.State().Message
	if m == nil || m.Offer != control.OfferCrash || !strings.Contains(m.Next, "write to address 0x8") {
		t.Fatalf("the message is %+v", m)
	}
	test.Tap(button(t, r.win.Content(), "Show the crash"))
	if got := r.views.shown(); got != viewCrash {
		t.Fatalf("shown is %s", got)
	}
	r.waitTrace("crash 2")
	r.wait("the frames", func() bool { return r.views.crash.Frames.Len() > 0 })
	var calls []int64
	for i := range int64(r.views.crash.Frames.Len()) {
		if f := r.views.crash.Frames.At(i); f.LogRow > 0 {
			calls = append(calls, f.LogRow-1)
		}
	}
	if len(calls) != 3 || calls[0] != 2 || calls[2] != 0 {
		t.Fatalf("the calls of the stack are rows %v", calls)
	}
	r.views.crash.OnOpen(calls[1])
	if r.views.shown() != viewTable || r.table.currentRow() != 1 {
		t.Errorf("the table shows row %d", r.table.currentRow())
	}
}

// TestDumpInWindow opens a dump of a process that recorded nothing.
func TestDumpInWindow(t *testing.T) {
	dump := filepath.Join("..", "..", "shared", "data", "dumps", "linux_null_read_av.dmp")
	if _, err := os.Stat(dump); err != nil {
		t.Skip("no conformance data here")
	}
	r := newRig(t, nil)
	r.Open([]string{dump})
	r.waitTrace("loaded")
	if m := r.ctl.State().Message; m == nil || m.Offer != control.OfferCrash || !strings.Contains(m.Next, "SIGSEGV") {
		t.Fatalf("the message is %+v", m)
	}
	r.views.show(viewCrash)
	r.wait("the frames", func() bool { return r.views.crash.Frames.Len() > 0 })
	if len(r.ctl.State().Modules) == 0 {
		t.Error("no modules are shown")
	}
}
