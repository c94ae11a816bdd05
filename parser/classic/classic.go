// Package classic reads the binary enter/leave log of the 2013 article:
// LogDetails.dat, fixed records of 16 bytes (32-bit programs) or 24 bytes
// (64-bit programs) and nothing else, with the modules file LogDetails.bin
// beside it. docs/formats.md specifies both.
//
// The format has no header and no magic, so that everything about a file is
// judged by its contents: the size of a record (width.go), where one program
// run ends and the next begins, how often the tick counter wrapped, and where
// bytes were lost or damaged (scan.go), and which run the modules file
// describes (runs.go). Each judgement is reported with its reason in
// [parser.Info].
package classic

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"logparser/filemap"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// Errors of [Open] by which callers decide what to do next.
var (
	// ErrEmpty: the file has no bytes.
	ErrEmpty = message.New("the log is empty")
	// ErrTooShort: the file has less than one record.
	ErrTooShort = message.New("the log is too short")
	// ErrModulesFile: the file given as the log is a modules file.
	ErrModulesFile = message.New("this is a modules file, not a log")
	// ErrText: the file is some other text.
	ErrText = message.New("this looks like text, not a log")
	// ErrProgram: the file is an image of Windows or Linux.
	ErrProgram = message.New("this is a program or library, not a log")
	// ErrOther: the file is of another kind, which follows.
	ErrOther = message.New("this is another kind of file, not a log")
	// ErrFolder: a folder was given.
	ErrFolder = message.New("this is a folder")
	// ErrNotLog: the file's bytes do not look like records.
	ErrNotLog = message.New("this does not look like an enter/leave log")
	// ErrRecordSize: Options.RecordSize is neither 16 nor 24.
	ErrRecordSize = message.New("a record has 16 or 24 bytes")
	// ErrShrunk: the file became shorter while it was read.
	ErrShrunk = parser.ErrShrunk
)

const formatName = "classic"

// Format is the format's entry for the list of formats.
var Format = parser.Format{
	Name:             formatName,
	NeedsModulesFile: true,
	Detect:           Detect,
	Open: func(ctx context.Context, path string, opt parser.Options, p parser.Progress) (parser.Log, error) {
		log, err := Open(ctx, path, opt, p)
		if err != nil {
			return nil, err
		}
		return log, nil
	},
	OpenHead: func(ctx context.Context, path string, opt parser.Options, records int64) (parser.Log, error) {
		log, err := OpenHead(ctx, path, opt, records)
		if log == nil {
			return nil, err
		}
		return log, nil
	},
}

// A Log is an opened classic log. It implements [parser.Grower]: bytes appended
// later are seen after [Log.Grow].
type Log struct {
	o    *opener
	file *os.File // nil in tests
	view atomic.Pointer[view]
	// mapped is the file as it was opened; what was appended since is read.
	mapped *filemap.Mapping
	found  []byte

	growing sync.Mutex
	growth  growthState
}

// A view is what is known of a log at a time. It is immutable.
type view struct {
	r       io.ReaderAt
	name    string
	info    parser.Info
	records int64
	size    int // of a record

	segments  []segment
	epochs    []epoch
	modules   []*modules.Map
	clocks    []timeparse.Clock
	truncated bool
	// described is the run that the modules file describes, spaces its spaces, and reused
	// has its ranges of addresses that modules had one after the other, rising.
	described int
	spaces    []parser.Space
	reused    []reused
}

// Open opens the log at path. It reads all of it once, in big blocks, to find
// runs and damage, as far as Options.Found does not say what these are; p is told
// the bytes done. Options.ModulesFile, if given, must be readable. Errors begin with the
// path of the file that they are about.
func Open(ctx context.Context, path string, opt parser.Options, p parser.Progress) (*Log, error) {
	f, err := openShared(path)
	if err != nil {
		return nil, err
	}
	log, err := openFile(ctx, f, path, opt, math.MaxInt64, p)
	if err != nil {
		f.Close()
		return nil, err
	}
	log.file = f
	return log, nil
}

// openFile opens the first bytes of a file, at most so many.
func openFile(ctx context.Context, f *os.File, path string, opt parser.Options, most int64, p parser.Progress) (*Log, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, message.InFile(path, ErrFolder)
	}
	if !st.Mode().IsRegular() {
		return nil, message.InFile(path, message.New("it is not a regular file"))
	}
	o := &opener{r: f, name: path, size: min(st.Size(), most), opt: opt, progress: p}
	if err := o.checkHead(); err != nil {
		return nil, err
	}
	if opt.ModulesFile != "" {
		o.modulesStat, _ = os.Stat(opt.ModulesFile)
		if o.modules, err = o.readModules(); err != nil {
			return nil, err
		}
	}
	o.stat = st
	o.mapped = filemap.NewWritten(f)
	log, err := o.open(ctx)
	if err != nil {
		o.mapped.Close()
		return nil, err
	}
	log.mapped = o.mapped
	return log, nil
}

// An opener holds what is needed until a log is open, and what is needed to go
// on when it has grown.
type opener struct {
	r        io.ReaderAt
	mapped   *filemap.Mapping // nil where the file is read
	name     string
	size     int64
	opt      parser.Options
	modules  *modules.File // nil for none
	progress parser.Progress

	head  []byte
	width width
	scan  *scan
	log   *view
	// tail is what is left behind the last record, with no bytes for nothing.
	tail  flaw
	ticks bool // modules file or user give the tick at start
	start uint32
	notes []message.Text
	// noTime is Info.NoTime.
	noTime message.Text
	// described is the run that the modules file describes, -1 for none.
	described int
	// stat and modulesStat are the two files' when they were last read.
	stat, modulesStat os.FileInfo
}

const headSize = sampleRecords * Size64

// checkHead turns away what is no log.
func (o *opener) checkHead() error {
	if s := o.opt.RecordSize; s != 0 && s != Size32 && s != Size64 {
		return message.InFile(o.name, message.Errorf("record size %d: %w", s, ErrRecordSize))
	}
	if o.size == 0 {
		return message.InFile(o.name, ErrEmpty)
	}
	o.head = make([]byte, min(o.size, headSize))
	if err := readFull(o.r, o.name, o.head, 0); err != nil {
		return err
	}
	if isProgram(o.head) {
		return message.InFile(o.name, ErrProgram)
	}
	if kind := kindOf(o.head); !kind.IsZero() && o.opt.RecordSize == 0 {
		return message.InFile(o.name, message.Errorf("%w: %s", ErrOther, kind))
	}
	if looksLikeText(o.head) {
		if modules.Looks(o.head) {
			return message.InFile(o.name, ErrModulesFile)
		}
		return message.InFile(o.name, message.Errorf("%w: it begins with %q", ErrText, firstLine(o.head)))
	}
	if o.size < Size32 {
		return message.InFile(o.name, message.Errorf("%d bytes are less than one record: %w", o.size, ErrTooShort))
	}
	return nil
}

// readModules reads the modules file. Where its columns may mean several things,
// the addresses at the log's beginning say which; the width of the records is not
// known yet, so that they are read with both.
func (o *opener) readModules() (*modules.File, error) {
	var wide, narrow []uint64
	for at := 0; at+Size64 <= len(o.head); at += Size64 {
		wide = append(wide, binary.LittleEndian.Uint64(o.head[at:]))
	}
	for at := 0; at+Size32 <= len(o.head); at += Size32 {
		narrow = append(narrow, uint64(binary.LittleEndian.Uint32(o.head[at:])))
	}
	return modules.ReadFile(o.opt.ModulesFile, modules.Options{
		Encoding: o.opt.Encoding, Columns: o.opt.ModulesColumns, Addresses: [][]uint64{wide, narrow},
	})
}

// isProgram recognises images, which by chance may look like a damaged log.
func isProgram(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\x7fELF")) {
		return true
	}
	if len(head) < 0x40 || !bytes.HasPrefix(head, []byte("MZ")) {
		return false
	}
	at := binary.LittleEndian.Uint32(head[0x3c:])
	return at < uint32(len(head)) && bytes.HasPrefix(head[at:], []byte("PE\x00\x00"))
}

func (o *opener) open(ctx context.Context) (*Log, error) {
	if o.modules == nil {
		o.modules = &modules.File{}
	}
	w, err := o.decideWidth(o.head)
	if err != nil {
		return nil, err
	}
	o.width = w
	limit, err := o.written(ctx, 0)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		return nil, message.InFile(o.name, message.Errorf("%w: all of its %d bytes are zero", ErrNotLog, o.size))
	}
	s := &scan{r: o.r, name: o.name, size: w.size, limit: limit, mapped: o.mapped}
	o.ticks, o.start = o.modules.HasTick, o.modules.Tick
	if o.opt.StartTick != nil {
		o.ticks, o.start = true, *o.opt.StartTick
	}
	if o.ticks {
		s.start = &o.start
	}
	report := func(at int64) {
		if o.progress != nil {
			o.progress(at, o.size)
		}
	}
	if !s.restore(o.opt.Found, o.size) {
		if !s.resume(o.opt.Found, o.size) {
			s.begin()
		}
		if err := s.run(ctx, report); err != nil {
			return nil, err
		}
	}
	o.scan = s
	found, err := s.found(o.size)
	if err != nil {
		return nil, err
	}
	if err := o.end(); err != nil {
		return nil, err
	}
	o.log = &view{
		r: o.r, name: o.name, size: w.size, records: s.record,
		segments: slices.Clone(s.segments), epochs: slices.Clone(s.epochs), truncated: w.truncated,
	}
	o.notes = append(o.notes, o.modules.Notes...)
	if err := o.findRuns(); err != nil {
		return nil, err
	}
	info := &o.log.info
	info.Format, info.Why = formatName, w.why
	info.RecordSize = w.size
	o.describe(info)
	report(o.size)
	log := &Log{o: o, found: found}
	log.view.Store(o.log)
	if err := log.remember(); err != nil {
		return nil, err
	}
	return log, nil
}

// describe fills in what a scan has found besides the runs.
func (o *opener) describe(info *parser.Info) {
	s := o.scan
	info.Size, info.Records = o.size, s.record
	info.DamageBytes, info.Notes, info.NoTime = s.flawBytes+o.tail.bytes, slices.Clone(o.notes), o.noTime
	info.Damage = nil
	flaws := s.flaws
	if o.tail.bytes > 0 && len(flaws) < parser.MaxDamage {
		flaws = append(slices.Clip(flaws), o.tail)
	}
	for _, f := range flaws {
		info.Damage = append(info.Damage, parser.Damage{Offset: f.offset, Bytes: f.bytes, Reason: f.text(s.size)})
	}
}

// written returns the end of what was written from an offset on: a file that a
// power failure or a reservation left longer ends in zeros, of which those
// that the last record may have are kept. It returns the offset itself where
// nothing but zeros follows.
func (o *opener) written(ctx context.Context, from int64) (int64, error) {
	end := o.size
	buf := make([]byte, min(1<<20, o.size-from))
	for end > from {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		// The usual case costs little: the first look is a small one.
		b := buf[:min(end-from, int64(len(buf)))]
		if end == o.size {
			b = b[:min(len(b), 256)]
		}
		if err := readFull(o.r, o.name, b, end-int64(len(b))); err != nil {
			return 0, err
		}
		n := len(b)
		for n > 0 && b[n-1] == 0 {
			n--
		}
		end -= int64(len(b) - n)
		if n > 0 {
			break
		}
	}
	if end == from {
		return from, nil
	}
	if o.size-end < 2*Size64 {
		return o.size, nil
	}
	return min(o.size, end+Size64), nil
}

// end settles what is left after the last record.
func (o *opener) end() error {
	s := o.scan
	size := int64(s.size)
	if s.limit < o.size {
		// Of the zeros kept by written a whole record may be among those read.
		var b [Size64]byte
		last := s.segments[len(s.segments)-1]
		for s.record > last.first {
			at := s.offset - size
			if err := readFull(o.r, o.name, b[:size], at); err != nil {
				return err
			}
			if b != [Size64]byte{} {
				break
			}
			s.record--
			s.offset = at
			s.flawBytes -= size
			if n := len(s.flaws); n > 0 && s.flaws[n-1].offset+s.flaws[n-1].bytes == at+size {
				if s.flaws[n-1].bytes -= size; s.flaws[n-1].bytes == 0 {
					s.flaws = s.flaws[:n-1]
				}
			}
		}
		o.tail = flaw{s.offset, o.size - s.offset, zeros}
	} else if s.offset < o.size {
		o.tail = flaw{s.offset, o.size - s.offset, cutOff}
	}
	return nil
}

// Info describes the log. The result is shared: do not change it.
func (l *Log) Info() *parser.Info { return &l.view.Load().info }

// Modules returns the modules of a run.
func (l *Log) Modules(run int) *modules.Map {
	v := l.view.Load()
	if run < 0 || run >= len(v.modules) {
		return noModules
	}
	return v.modules[run]
}

var noModules = modules.NewMap(nil)

// Clock returns the clock of a run.
func (l *Log) Clock(run int) timeparse.Clock {
	v := l.view.Load()
	if run < 0 || run >= len(v.clocks) {
		return timeparse.Clock{}
	}
	return v.clocks[run]
}

// Spaces says that all addresses are return addresses. The run that the modules file describes
// has more than one space where a module came to the addresses of another.
func (l *Log) Spaces(run int) []parser.Space {
	if v := l.view.Load(); v.spaces != nil && run == v.described {
		return v.spaces
	}
	return plainSpaces
}

var plainSpaces = []parser.Space{{Kind: parser.ReturnAddress}}

// ExactLeaves says that a leave may have any address in its function, or its
// caller's.
func (l *Log) ExactLeaves() bool { return false }

// Truncated says that a 64-bit program wrote 16-byte records.
func (l *Log) Truncated() bool { return l.view.Load().truncated }

// Thread implements [parser.Log].
func (l *Log) Thread(key uint32) parser.Thread { return parser.Thread{ID: key} }

// Capabilities implements [parser.Log].
func (l *Log) Capabilities() parser.Capabilities {
	return parser.Capabilities{Grower: l, Checker: l, Scanner: l}
}

// Close closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	l.mapped.Close()
	return l.file.Close()
}

// readBytes is how much of the file is read at a time: it fits the processor's
// second-level cache and is a whole number of records of either size.
const readBytes = 96 * 2048

var buffers = sync.Pool{New: func() any { return new([readBytes]byte) }}

// ReadEvents implements [parser.Log]. It keeps no state between calls.
func (l *Log) ReadEvents(dst []parser.Event, from int64) (int, error) {
	return l.view.Load().readEvents(dst, from, l.mapped)
}

func (l *view) readEvents(dst []parser.Event, from int64, mapped *filemap.Mapping) (int, error) {
	if from < 0 {
		return 0, message.InFile(l.name, message.Errorf("there is no record %d", from))
	}
	var buf *[readBytes]byte
	done := 0
	for done < len(dst) && from < l.records {
		si := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].first > from }) - 1
		end := l.records
		if si+1 < len(l.segments) {
			end = l.segments[si+1].first
		}
		n := min(end-from, int64(len(dst)-done))
		at := l.segments[si].offset + (from-l.segments[si].first)*int64(l.size)
		// A mapping that fails says nothing of why; reading does.
		if mapped.Use(at, at+n*int64(l.size), func(b []byte) { l.decode(dst[done:done+int(n)], b, from) }) != nil {
			if buf == nil {
				buf = buffers.Get().(*[readBytes]byte)
				defer buffers.Put(buf)
			}
			n = min(n, int64(readBytes/l.size))
			b := buf[:n*int64(l.size)]
			if err := readFull(l.r, l.name, b, at); err != nil {
				return done, err
			}
			l.decode(dst[done:done+int(n)], b, from)
		}
		done += int(n)
		from += n
	}
	if done < len(dst) {
		return done, io.EOF
	}
	return done, nil
}

// decode fills dst from the bytes of as many records, the first of which has
// the number from.
func (l *view) decode(dst []parser.Event, b []byte, from int64) {
	if len(l.reused) > 0 {
		defer l.setSpaces(dst, from)
	}
	ei := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].first > from }) - 1
	for len(dst) > 0 {
		n := int64(len(dst))
		if ei+1 < len(l.epochs) {
			n = min(n, l.epochs[ei+1].first-from)
		}
		base := l.epochs[ei].base()
		if l.size == Size32 {
			decode16(dst[:n], b, base)
		} else {
			decode24(dst[:n], b, base)
		}
		dst, b, from = dst[n:], b[n*int64(l.size):], from+n
		ei++
	}
}
