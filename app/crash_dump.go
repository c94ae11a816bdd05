package app

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"

	"logparser/crash"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// ErrDump says that a file is not a log but shows a dead process.
var ErrDump = message.New("this is a dump of a dead process, not a log")

// IsDump reports whether a file begins as a dump does that [OpenCrash] opens.
func IsDump(head []byte) bool {
	for _, format := range dumpFormats {
		if format.detect(head) {
			return true
		}
	}
	return false
}

// OpenLogOrDump is [Open] for who shows both: of a dump it makes a session without rows, whose
// modules are the dump's and whose crash is the process that it shows.
func OpenLogOrDump(ctx context.Context, in Inputs, p Progress) (*Session, error) {
	if head, _, err := readHead(in.Log); err == nil && IsDump(head) && len(in.Others) == 0 {
		return openDump(in)
	}
	return Open(ctx, in, p)
}

func openDump(in Inputs) (*Session, error) {
	f, err := os.Open(in.Log)
	if err != nil {
		return nil, err
	}
	process, err := readDump(f)
	if err != nil {
		f.Close()
		return nil, &InputError{LogInput, in.Log, unwrapPath(err)}
	}
	process.Closer = f
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	in.Modules, in.Run, in.Corrected = "", "", false
	log := &dumpLog{process: process, modules: modules.NewMap(process.Modules), info: parser.Info{
		Format: process.Format, Size: info.Size(), Runs: []parser.Run{{HasModules: true}}, Notes: process.Notes}}
	s := &Session{log: log, ownModules: true, in: in, dump: process, work: make(chan struct{}, 1)}
	if err := s.choose(""); err != nil {
		log.Close()
		return nil, err
	}
	return s, nil
}

// IsDump reports whether the session is of a dump and not of a log.
func (s *Session) IsDump() bool { return s.dump != nil }

// A dumpLog is the log of a process that recorded nothing: it has modules and no events.
type dumpLog struct {
	process *crash.Process
	modules *modules.Map
	info    parser.Info
}

// Info implements [parser.Log].
func (l *dumpLog) Info() *parser.Info { return &l.info }

// ReadEvents implements [parser.Log].
func (*dumpLog) ReadEvents([]parser.Event, int64) (int, error) { return 0, io.EOF }

// Modules implements [parser.Log].
func (l *dumpLog) Modules(int) *modules.Map { return l.modules }

// Clock implements [parser.Log].
func (*dumpLog) Clock(int) timeparse.Clock { return timeparse.Clock{} }

// Spaces implements [parser.Log].
func (*dumpLog) Spaces(int) []parser.Space { return []parser.Space{{Time: math.MinInt64}} }

// Thread implements [parser.Log].
func (*dumpLog) Thread(key uint32) parser.Thread { return parser.Thread{ID: key} }

// ExactLeaves implements [parser.Log].
func (*dumpLog) ExactLeaves() bool { return false }

// Truncated implements [parser.Log].
func (*dumpLog) Truncated() bool { return false }

// Capabilities implements [parser.Log].
func (*dumpLog) Capabilities() parser.Capabilities { return parser.Capabilities{} }

// Close implements [parser.Log].
func (l *dumpLog) Close() error { return l.process.Close() }

// ofDump returns the process that a dump shows with its symbols. The file is closed with the session.
func (s *Session) ofDump(ctx context.Context) *Crash {
	in := s.Inputs()
	p := *s.dump
	p.Closer = nil
	return newCrash(ctx, &p, in.Log, in, nil)
}

// CrashReport reports the crash that the session tells of, with the calls that its log has open.
// What opt says of a log is replaced. The session is loaded. The second report is the same, in words that say translates.
func (s *Session) CrashReport(ctx context.Context, opt ReportOptions, say func(message.Text) string) (plain, said *CrashReport, err error) {
	c, err := s.OpenCrash(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	if opt.Log, opt.OpenCalls = "", nil; s.dump == nil {
		opt.TakeLog(s)
	}
	opt.Say = nil
	if plain, err = c.Report(opt); err != nil {
		return nil, nil, err
	}
	opt.Say = say
	said, err = c.Report(opt)
	return plain, said, err
}

// WriteCrashText writes a report as text.
func WriteCrashText(r *CrashReport) (string, error) {
	var b bytes.Buffer
	if err := writeReport(&b, r, CrashFormats()[0]); err != nil {
		return "", err
	}
	return b.String(), nil
}
