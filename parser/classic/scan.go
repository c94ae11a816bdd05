package classic

import (
	"context"
	"io"
	"runtime"
	"sync"

	"logparser/filemap"
	"logparser/message"
	"logparser/parser"
)

// Limits on what a scan keeps, so that no file makes it grow without bound.
const (
	maxRuns     = 10_000
	maxSegments = 10_000
	maxEpochs   = 30_000
)

// A segment is a range of records that lie one after the other in the file,
// up to the next segment's first record.
type segment struct {
	first  int64 // record number
	offset int64 // of that record in the file
}

// An epoch is a range of records, up to the next epoch's first, to whose ticks
// the same wraps of the counter are added.
type epoch struct {
	first int64 // record number
	// wraps[0] is for ticks whose highest bit is clear, wraps[1] for the
	// others. They differ after a wrap: late records from before it still
	// come, and have high ticks.
	wraps [2]int64
}

// base returns what to add to ticks in nanoseconds.
func (e epoch) base() [2]int64 {
	const wrap = 1 << 32 * 1_000_000
	return [2]int64{e.wraps[0] * wrap, e.wraps[1] * wrap}
}

// A runStart is where a run begins: at a record whose tick count is less than the
// one before by more than a wrap explains.
type runStart struct {
	first    int64  // record number
	from, to uint32 // the tick counts, equal for the first run
}

// reason says why the run begins, nothing for the first.
func (r runStart) reason() message.Text {
	if r.from == r.to {
		return message.Text{}
	}
	return message.Textf("the tick count goes back from %d to %d", r.from, r.to)
}

// A flaw is a place that could not be read as records.
type flaw struct {
	offset, bytes int64
	kind          flawKind
}

type flawKind uint8

const (
	badRecords flawKind = iota // records that cannot be right, kept in place
	outOfStep                  // bytes skipped to the next record
	cutOff                     // the last record
	zeros                      // the file's end where nothing was written
	padding                    // padding bytes that are missing
)

func (f flaw) text(size int) message.Text {
	switch f.kind {
	case badRecords:
		if n := f.bytes / int64(size); n > 1 {
			return message.Textf("%d records cannot be right (flag byte neither 0 nor 1, or address 0)", n)
		}
		return message.Textf("the record cannot be right (flag byte neither 0 nor 1, or address 0)")
	case cutOff:
		return message.Textf("the last record is cut off")
	case zeros:
		return message.Textf("the end of the file is zero: it was never written")
	case padding:
		return message.Textf("a record lacks bytes of its padding, after which the next begins")
	}
	return message.Textf("bytes out of step with the records were skipped")
}

// A scan goes once over a file and finds its runs, wraps and damage.
//
// Most of a log is plain, and chunks of it are looked at in parallel by look.
// Only those that it calls irregular are gone through record by record.
type scan struct {
	r    io.ReaderAt
	name string
	size int
	// limit is the offset of the first byte not to be read.
	limit int64
	// start is the tick at the start of the run that the modules file
	// describes, nil where it is not known.
	start *uint32

	position
	segments []segment
	epochs   []epoch
	runs     []runStart
	flaws    []flaw

	// block is for the file's bytes from blockAt on, and holds those from held
	// on; peek reads elsewhere. What the mapping shows is not read before
	// somebody wants a closer look.
	block         []byte
	blockAt, held int64
	mapped        *filemap.Mapping
	scratch       []byte
	err           error // of peek

	// tries governs resync: after one that failed the next waits a little,
	// and trouble remembers where it all began.
	nextTry int64
	wait    int64
	trouble *position
	// sound counts the records without trouble since.
	sound int
	// alike is the number of successive records with the same flag, and
	// alikeFrom where they began.
	alike     int
	alikeFlag uint8
	alikeFrom position
	settled   bool // resync is off
	// blind says that a judgement wanted to see what lies beyond the limit, and
	// firm is where the scan stood before.
	blind bool
	firm  firm
	// unsettled is the first record that the scan may still change its mind about.
	unsettled int64
}

// A position is the scan's state at a record; going back to one undoes what
// was found since.
type position struct {
	record, offset int64
	// prev is the tick of the last record that was believed.
	prev     uint32
	havePrev bool
	// wraps counts those of the current run; inWrap says that its epoch is
	// one whose high ticks are from before the last.
	wraps  int64
	inWrap bool

	nSegments, nEpochs, nRuns, nFlaws int
	lastFlaw                          flaw
	flawBytes                         int64
}

func (s *scan) mark() position {
	p := s.position
	p.nSegments, p.nEpochs, p.nRuns, p.nFlaws = len(s.segments), len(s.epochs), len(s.runs), len(s.flaws)
	if p.nFlaws > 0 {
		p.lastFlaw = s.flaws[p.nFlaws-1]
	}
	return p
}

func (s *scan) backTo(p position) {
	s.position = p
	s.segments = s.segments[:p.nSegments]
	s.epochs = s.epochs[:p.nEpochs]
	s.runs = s.runs[:p.nRuns]
	s.flaws = s.flaws[:p.nFlaws]
	if p.nFlaws > 0 {
		s.flaws[p.nFlaws-1] = p.lastFlaw
	}
	s.alike = 0
}

const (
	// chunkRecords is the unit that is regular or irregular.
	chunkRecords = 1024
	// maxChunks bounds what is read at a time: 6 MiB at most.
	maxChunks = 256
)

// begin begins the first run.
func (s *scan) begin() {
	s.segments = append(s.segments, segment{s.record, s.offset})
	s.epochs = append(s.epochs, epoch{first: s.record})
	s.runs = append(s.runs, runStart{first: s.record})
}

// run scans from the current position to the limit. After an error it can be
// called again.
func (s *scan) run(ctx context.Context, progress func(offset int64)) error {
	size := int64(s.size)
	// One more than there are: a resync may find that the record before the
	// first was cut off.
	block := make([]byte, min(s.limit-s.offset+size, maxChunks*chunkRecords*size))
	looks := make([]stretch, maxChunks)
	// A resync throws the rest of a block away, so blocks are small at first
	// and after one.
	chunks := 4
	for s.limit-s.offset >= size {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min((s.limit-s.offset)/size, int64(chunks*chunkRecords))
		s.block, s.blockAt = block[:n*size], s.offset
		if err := s.readBlock(looks); err != nil {
			return err
		}
		inStep, err := s.goThrough(looks)
		if err != nil {
			return err
		}
		if inStep {
			chunks = min(chunks*2, maxChunks)
		} else {
			chunks = 4
		}
		if progress != nil {
			progress(s.offset)
		}
	}
	return nil
}

// readBlock reads the block and looks at its chunks, in parallel.
func (s *scan) readBlock(looks []stretch) error {
	chunkBytes := chunkRecords * s.size
	chunks := (len(s.block) + chunkBytes - 1) / chunkBytes
	workers := min(runtime.GOMAXPROCS(0), 4, (chunks+7)/8)
	errs := make([]error, workers)
	s.held = s.blockAt
	if s.mapped != nil {
		s.held += int64(len(s.block))
	}
	work := func(w int) {
		from, to := chunks*w/workers, chunks*(w+1)/workers
		part := s.block[from*chunkBytes : min(to*chunkBytes, len(s.block))]
		at := s.blockAt + int64(from*chunkBytes)
		// Reading a little and looking at it while the cache holds it.
		for k := from; k < to; k++ {
			b := part[:min(chunkBytes, len(part))]
			part = part[len(b):]
			if s.mapped.Use(at, at+int64(len(b)), func(b []byte) { looks[k] = look(b, s.size) }) != nil {
				if errs[w] = readFull(s.r, s.name, b, at); errs[w] != nil {
					return
				}
				looks[k] = look(b, s.size)
			}
			at += int64(len(b))
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			work(w)
		}()
	}
	work(0)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readFull reads len(b) bytes at the offset; too few is an error that says
// that the file has shrunk.
func readFull(r io.ReaderAt, name string, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF || err == nil:
		return message.InFile(name, message.Errorf("the file ends at byte %d, it has become shorter since it was opened: %w", at+int64(n), ErrShrunk))
	}
	return message.InFile(name, message.Errorf("reading at byte %d: %w", at+int64(n), err))
}

// goThrough takes the block's chunks in order. It returns false when the
// records were found to go on out of step with the block.
func (s *scan) goThrough(looks []stretch) (inStep bool, err error) {
	end := s.blockAt + int64(len(s.block))
	for k := 0; s.offset < end; k++ {
		chunkEnd := min(s.offset+int64(chunkRecords*s.size), end)
		l := looks[k]
		if !l.irregular && s.havePrev && ordinary(s.prev, l.first) {
			n := (chunkEnd - s.offset) / int64(s.size)
			s.record += n
			s.offset = chunkEnd
			s.prev = l.last
			s.calm(chunkRecords)
			s.alike = 0
			if n == chunkRecords {
				s.fix()
			}
			continue
		}
		if s.held > s.offset {
			if err := readFull(s.r, s.name, s.block[s.offset-s.blockAt:], s.offset); err != nil {
				return false, err
			}
			s.held = s.offset
		}
		shifted := s.closely(chunkEnd)
		if s.err != nil {
			return false, s.err
		}
		if shifted {
			return false, nil
		}
	}
	return true, nil
}

// calm notes n records without trouble.
func (s *scan) calm(n int) {
	s.sound += n
	if s.sound >= 16 {
		s.trouble, s.wait, s.nextTry = nil, 0, 0
	}
}

// peek returns the bytes from an offset on, n of them or fewer at the limit.
// They are valid until the next call.
func (s *scan) peek(at int64, n int) []byte {
	if int64(n) > s.limit-at {
		n, s.blind = int(s.limit-at), true
	}
	if n <= 0 || s.err != nil {
		return nil
	}
	if i := at - s.blockAt; at >= s.held && i >= 0 && i+int64(n) <= int64(len(s.block)) {
		return s.block[i : i+int64(n)]
	}
	if cap(s.scratch) < n {
		s.scratch = make([]byte, max(n, 4096))
	}
	b := s.scratch[:n]
	if s.err = readFull(s.r, s.name, b, at); s.err != nil {
		return nil
	}
	return b
}

// closely goes through the records up to the offset end one by one. It
// returns true when it found that the records go on elsewhere.
func (s *scan) closely(end int64) (shifted bool) {
	for s.offset < end {
		b := s.peek(s.offset, s.size)
		if len(b) < s.size {
			return false
		}
		r := parseRecord(b)
		irregular := !plausible(r, s.size) || s.record == 0 || s.havePrev && !steady(tickStep(s.prev, r.tick))
		if s.alike == 0 || r.flag != s.alikeFlag {
			s.alike, s.alikeFlag, s.alikeFrom = 0, r.flag, s.mark()
		}
		s.alike++
		if !s.settled {
			if irregular {
				s.sound = 0
				if s.resync(s.mark(), s.offset) {
					return true
				}
			} else {
				if s.alike < 16 {
					s.calm(1)
				}
				if s.alike == lookGroup && s.resync(s.alikeFrom, s.alikeFrom.offset) {
					return true
				}
			}
			if s.err != nil {
				return false
			}
		}
		if r.damaged() {
			s.flaw(flaw{s.offset, int64(s.size), badRecords})
		} else {
			s.tick(r.tick)
		}
		if s.err != nil {
			return false
		}
		s.record++
		s.offset += int64(s.size)
	}
	return false
}

// flaw notes a flaw; damaged records one after the other are one.
func (s *scan) flaw(f flaw) {
	s.flawBytes += f.bytes
	if n := len(s.flaws); n > 0 && f.kind == badRecords {
		if last := &s.flaws[n-1]; last.kind == badRecords && last.offset+last.bytes == f.offset {
			last.bytes += f.bytes
			return
		}
	}
	if len(s.flaws) < parser.MaxDamage {
		s.flaws = append(s.flaws, f)
	}
}

// tick follows the counter to the record at the current position: it finds
// wraps and new runs, and does not believe single ticks that jump.
func (s *scan) tick(t uint32) {
	if !s.havePrev {
		s.prev, s.havePrev = t, true
		return
	}
	step := tickStep(s.prev, t)
	if !steady(step) {
		before, after := s.ticksAround()
		if len(after) > 0 {
			fromPrev := count(after, func(next uint32) bool { return steady(tickStep(s.prev, next)) })
			fromHere := count(after, func(next uint32) bool {
				step := tickStep(t, next)
				return step >= -backward && step <= longPause
			})
			// Nothing goes on from before a new run.
			if 4*fromPrev >= len(after) || 2*fromHere <= len(after) {
				return // only this one jumps, or it is noise
			}
		}
		if step < 0 {
			switch {
			case onlyPrevJumped(before, t):
			case s.trouble != nil && s.trouble.havePrev && steady(tickStep(s.trouble.prev, t)):
				// It goes on as before the noise.
			case len(after) == 0 && !s.justStarted(t):
				return // the last one of all, or before a stretch of damage
			default:
				s.newRun(t)
				return
			}
		}
	}
	switch {
	case beforeWrap(s.prev) && afterWrap(t) && !s.inWrap:
		s.wrap(t)
	case afterWrap(s.prev) && beforeWrap(t) && !s.inWrap && s.epochs[len(s.epochs)-1].first == s.runs[len(s.runs)-1].first:
		// The run began at the very wrap, with a record from after it.
		if e := &s.epochs[len(s.epochs)-1]; e.wraps == [2]int64{} {
			e.wraps[1] = -1
			s.inWrap = true
		}
	case s.inWrap && t >= 1<<31 && !beforeWrap(t):
		// Half a range later nothing from before the wrap comes any more.
		s.inWrap = false
		s.epoch(epoch{s.record, [2]int64{s.wraps, s.wraps}})
	}
	s.prev = t
}

// justStarted reports whether the modules file was written shortly before t.
func (s *scan) justStarted(t uint32) bool { return s.start != nil && t-*s.start < 60_000 }

func (s *scan) wrap(t uint32) {
	const close = backward
	if s.prev < 1<<32-close || t >= close {
		// Far from the wrap by a single irregular tick's standards.
		_, after := s.ticksAround()
		if len(after) > 0 && 2*count(after, afterWrap) <= len(after) {
			return
		}
	}
	if s.epoch(epoch{s.record, [2]int64{s.wraps + 1, s.wraps}}) {
		s.wraps++
		s.inWrap = true
	}
}

func (s *scan) epoch(e epoch) bool {
	if len(s.epochs) == maxEpochs {
		return false
	}
	s.epochs = append(s.epochs, e)
	return true
}

func (s *scan) newRun(t uint32) {
	if len(s.runs) < maxRuns && len(s.epochs) < maxEpochs {
		s.runs = append(s.runs, runStart{s.record, s.prev, t})
		s.epochs = append(s.epochs, epoch{first: s.record})
		s.wraps, s.inWrap = 0, false
	}
	s.prev = t
}

// ticksAround returns the ticks of the last few undamaged records of the run
// before the current one, oldest first, and of the next few after it.
func (s *scan) ticksAround() (before, after []uint32) {
	size := int64(s.size)
	first := max(s.segments[len(s.segments)-1].first, s.runs[len(s.runs)-1].first)
	back := min(s.record-first, 16)
	b := s.peek(s.offset-back*size, int(back*size))
	for ; len(b) >= s.size; b = b[s.size:] {
		if r := parseRecord(b[:s.size]); !r.damaged() {
			before = append(before, r.tick)
		}
	}
	// Beyond a stretch of damage fewer will do.
	for at, n := s.offset+size, 32; len(after) < 4; n = chunkRecords {
		b := s.peek(at, n*s.size)
		if len(b) < s.size {
			break
		}
		at += int64(len(b))
		for ; len(b) >= s.size && len(after) < 8; b = b[s.size:] {
			if r := parseRecord(b[:s.size]); !r.damaged() {
				after = append(after, r.tick)
			}
		}
	}
	return before, after
}

// count returns for how many of the ticks the test holds.
func count(ticks []uint32, test func(uint32) bool) int {
	n := 0
	for _, t := range ticks {
		if test(t) {
			n++
		}
	}
	return n
}

// onlyPrevJumped tells whether the tick t goes on where the run stood before
// its last record, so that the last one alone was wrong.
func onlyPrevJumped(before []uint32, t uint32) bool {
	n := len(before)
	if n < 2 {
		return false
	}
	older := before[n-2]
	step := tickStep(older, t)
	if !steady(tickStep(older, before[n-1])) {
		return steady(step)
	}
	// A step of less than ten minutes may well be true; then only records
	// that come thick and fast speak against it.
	return n >= 3 && steady(tickStep(before[n-3], older)) && step >= -backward && step <= backward
}
