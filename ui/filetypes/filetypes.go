// Package filetypes lets Windows open logs with LogParser by a double click, for the user alone, and takes that back.
// It steals no type: one that another program opens stays so, and LogParser is offered beside it. On Linux "make install"
// does this, and there is nothing to do here.
package filetypes

// A kind is a type of files.
type kind struct {
	extension string
	// own: the type is LogParser's, and a double click opens it, unless it has another program already.
	own bool
}

var kinds = []kind{{".lptrace", true}, {".lppack", true}, {".dat", false}}

const (
	// program is the name of the type in the registry, executable that of the program.
	program    = "LogParser.Trace.1"
	executable = "LogParser.exe"
)
