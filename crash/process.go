// Package crash is the model of a dead process: why it ended, its threads with
// their registers, its modules, and what was saved of its memory.
//
// A [Process] is made by a reader of one format: package core reads ELF core
// files, package minidump those of Windows, Breakpad and Crashpad. The stacks
// of its threads are unwound by package unwind, and [Join] lays the calls that a log has as
// open beside the frames.
//
// Dumps come from other machines: readers check sizes before they allocate, read
// memory where it is asked for, and keep what is sound of a damaged file. What
// they had to leave out stands in [Process.Notes].
package crash

import (
	"io"
	"time"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols/unwind"
)

// A Process is a process as it was when it was saved. It may be read by several
// goroutines at once.
type Process struct {
	// Format is the file's format in a few words: "ELF core", "minidump".
	Format string
	// System is the operating system: "Linux", "Windows", "Android", "macOS", "" where
	// that is not known.
	System  string
	Machine unwind.Machine
	// PID is 0 where it is not known.
	PID int64
	// Program is the name of the executable, CommandLine what it was started
	// with; "" where they are not known. They come from another machine.
	Program, CommandLine string
	// Time is when the dump was written, zero where that is not known.
	Time  time.Time
	Cause Cause
	// Threads has the crashed thread first, as far as one did.
	Threads []Thread
	// Modules are the images, by address. Their paths come from another machine.
	Modules []modules.Module
	Memory  *Memory
	// Notes say what of the file could not be used.
	Notes []message.Text

	// Closer, if not nil, is closed by [Process.Close].
	Closer io.Closer
}

// A Thread is one thread.
type Thread struct {
	ID   uint64
	Name string // "" where it is not known
	// Crashed says that the process ended because of this thread.
	Crashed   bool
	Registers unwind.Registers
}

// Note adds a note.
func (p *Process) Note(pattern string, args ...any) {
	const most = 100
	if len(p.Notes) < most {
		p.Notes = append(p.Notes, message.Textf(pattern, args...))
	}
}

// Crashed returns the thread that the process ended because of, nil where that is not
// known.
func (p *Process) Crashed() *Thread {
	for i := range p.Threads {
		if p.Threads[i].Crashed {
			return &p.Threads[i]
		}
	}
	return nil
}

// Windows reports whether functions keep to Windows' conventions.
func (p *Process) Windows() bool { return p.System == "Windows" }

// Close closes the file that the process is read from.
func (p *Process) Close() error {
	if p.Closer == nil {
		return nil
	}
	return p.Closer.Close()
}
