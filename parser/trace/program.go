package trace

import "logparser/parser"

var _ parser.ProgramTeller = (*Log)(nil)

// Program returns the process that wrote the log.
func (l *Log) Program(int) parser.Program {
	v := l.view.Load()
	return parser.Program{ID: v.header.PID, Path: v.program}
}
