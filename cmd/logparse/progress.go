package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"logparser/app"
	"logparser/rows"
)

// progressDelay is how long work may take before its progress is shown.
const progressDelay = 700 * time.Millisecond

// A progress shows a line on a terminal for work that takes a while. On
// anything but a terminal it shows nothing.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	started time.Time
	shown   bool
}

func newProgress(w io.Writer) *progress {
	p := &progress{started: time.Now()}
	// Its line has nothing that comes from a file, and is made of what a message
	// may not have.
	if m, ok := w.(*messages); ok {
		w = m.w
	}
	if rows.IsTerminal(w) {
		p.w = w
	}
	return p
}

var stageWords = map[app.Stage]string{
	app.StageOpen:    "reading",
	app.StagePair:    "pairing",
	app.StageSymbols: "finding symbols",
	app.StageResolve: "naming",
	app.StageFetch:   "asking the symbol server",
	app.StageFilter:  "filtering",
	app.StageEncode:  "keeping symbols",
	app.StageSave:    "writing",
}

func (p *progress) report(stage app.Stage, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || total <= 0 && stage != app.StageFetch || time.Since(p.started) < progressDelay {
		return
	}
	p.shown = true
	if total <= 0 { // servers need not say how large a file is
		fmt.Fprintf(p.w, "\r\x1b[K%s, %.1f MB", stageWords[stage], float64(done)/1e6)
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s %d%%", stageWords[stage], done*100/total)
}

// clear wipes the line.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
