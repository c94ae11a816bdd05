// Package crash is the model of a dead process: why it ended, its threads with their registers, its modules, and the saved part
// of its memory.
//
// A [Process] is made by a package for each format: package core reads ELF core files, and package minidump the dumps of
// Windows, Breakpad and Crashpad. Package unwind unwinds the stacks of its threads. [Join] merges the frames with the calls
// that were open in a log.
//
// Dumps come from other machines. Readers check sizes before they allocate, read memory on demand, and use the intact parts of
// a damaged file. [Process.Notes] says what they left out.
package crash

import (
	"io"
	"time"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols/unwind"
)

// A Process is a process as it was saved. Several goroutines may read it at once.
type Process struct {
	// Format is the name of the file's format: "ELF core", "minidump".
	Format string
	// System is the operating system: "Linux", "Windows", "Android", "macOS", "iOS", or "" if it is not known.
	System  string
	Machine unwind.Machine
	// PID is 0 if it is not known.
	PID int64
	// Program is the name of the executable, and CommandLine the command that started it; "" if they are not known. They come
	// from another machine, so they need care when they are printed.
	Program, CommandLine string
	// Time is when the dump was written. It is zero if that is not known.
	Time  time.Time
	Cause Cause
	// Threads has the crashed thread first, if one crashed.
	Threads []Thread
	// Modules are in order of address. Their paths come from another machine.
	Modules []modules.Module
	// Unloaded are modules that were unloaded before, in no order. Several may have lain at an address.
	Unloaded []modules.Module
	Memory   *Memory
	// Notes say what could not be used of the file.
	Notes []message.Text

	// Closer, if not nil, is closed by [Process.Close].
	Closer io.Closer
}

// A Thread is a thread of the process.
type Thread struct {
	ID   uint64
	Name string // "" if it is not known
	// Crashed says that the process ended because of this thread.
	Crashed   bool
	Registers unwind.Registers
}

// Note adds a note, up to a limit.
func (p *Process) Note(pattern string, args ...any) {
	const most = 100
	if len(p.Notes) < most {
		p.Notes = append(p.Notes, message.Textf(pattern, args...))
	}
}

// Crashed returns the thread that ended the process, or nil if it is not known.
func (p *Process) Crashed() *Thread {
	for i := range p.Threads {
		if p.Threads[i].Crashed {
			return &p.Threads[i]
		}
	}
	return nil
}

// Windows reports whether the functions use the calling conventions of Windows.
func (p *Process) Windows() bool { return p.System == "Windows" }

// Close closes the file of the dump.
func (p *Process) Close() error {
	if p.Closer == nil {
		return nil
	}
	return p.Closer.Close()
}
