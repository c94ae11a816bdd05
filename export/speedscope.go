package export

import (
	"context"
	"io"
	"os"
	"strconv"

	"logparser/message"
	"logparser/rows"
)

// writeSpeedscope writes the file format of speedscope, with an evented profile for each thread. The events of a profile must
// stand together, so those of all threads are kept until the file ends. If there are many, they are kept in a temporary file.
func writeSpeedscope(ctx context.Context, out *output, src rows.Source, opt Options) error {
	s := &speedscope{header: &opt.Header, spool: spool{limit: spoolMemory}}
	defer s.spool.remove()
	return writeCalls(ctx, out, src, opt, s)
}

const (
	// spoolMemory is how many bytes of the kept text stay in memory.
	spoolMemory = 8 << 20
	// spoolChunk is how many bytes of a stream are moved to the file at a time.
	spoolChunk = 32 << 10
)

// A spool keeps the texts of many streams until they are written one after the other.
type spool struct {
	streams []stream
	file    *os.File
	removed bool
	// limit is about how many bytes stay in memory.
	limit int64
	// memory is the number of bytes that the streams hold in memory. end is the size of the file.
	memory, end int64
	err         error
}

type stream struct {
	text   []byte
	chunks []span
}

type span struct{ from, n int64 }

// spill moves text to the file if there is too much in memory: the text of stream i if that is large enough, or that of all
// streams.
func (s *spool) spill(i int) {
	switch {
	case s.memory >= 2*s.limit:
		for i := range s.streams {
			s.move(&s.streams[i])
		}
	case s.memory >= s.limit && len(s.streams[i].text) >= spoolChunk:
		s.move(&s.streams[i])
	}
}

func (s *spool) move(st *stream) {
	if len(st.text) == 0 || s.err != nil {
		return
	}
	if s.file == nil {
		if s.file, s.err = os.CreateTemp("", ".logparser-*.tmp"); s.err != nil {
			s.err = message.Errorf("no temporary file can be made in %s (the variable TMPDIR, on Windows TMP, names the folder): %w", os.TempDir(), plain(s.err))
			return
		}
		// If the system can remove an open file, nothing is left even if the process is killed.
		s.removed = os.Remove(s.file.Name()) == nil
	}
	n := int64(len(st.text))
	if _, err := s.file.WriteAt(st.text, s.end); err != nil {
		s.err = message.Errorf("keeping what comes later: %w", err)
		return
	}
	if k := len(st.chunks); k > 0 && st.chunks[k-1].from+st.chunks[k-1].n == s.end {
		st.chunks[k-1].n += n
	} else {
		st.chunks = append(st.chunks, span{s.end, n})
	}
	s.end += n
	s.memory -= n
	if st.text = st.text[:0]; cap(st.text) > 2*spoolChunk {
		st.text = nil
	}
}

func (s *spool) writeTo(w io.Writer, i int) error {
	if s.err != nil {
		return s.err
	}
	for _, c := range s.streams[i].chunks {
		if _, err := io.Copy(w, io.NewSectionReader(s.file, c.from, c.n)); err != nil {
			return err
		}
	}
	_, err := w.Write(s.streams[i].text)
	return err
}

func (s *spool) size() int64 { return s.memory + s.end }

func (s *spool) reset() {
	s.streams = s.streams[:0]
	s.memory, s.end = 0, 0
}

func (s *spool) remove() {
	if s.file != nil {
		s.file.Close()
		if !s.removed {
			os.Remove(s.file.Name())
		}
		s.file = nil
	}
}

type speedscope struct {
	header *rows.Header
	part   int
	begin  int64
	spool  spool
	// frames is the text of the functions of this file. number has the number of each in that list plus 1, by the function's
	// id.
	frames   []byte
	number   []int
	count    int
	profiles []profile
	// profile has the index of each thread's profile in profiles plus 1, by the thread's index.
	profile []int
}

type profile struct {
	track rows.Track
	end   int64
}

func (s *speedscope) head(dst []byte, part int, at int64) []byte {
	s.part, s.begin = part, at
	s.spool.reset()
	s.frames, s.count, s.profiles = s.frames[:0], 0, s.profiles[:0]
	clear(s.number)
	clear(s.profile)
	return dst
}

func (s *speedscope) thread(dst []byte, t *thread) []byte { return dst }

// frame returns the number of a function's frame. It adds the frame if the file does not have it yet.
func (s *speedscope) frame(fn *function) int {
	for len(s.number) <= fn.id {
		s.number = append(s.number, 0)
	}
	if s.number[fn.id] == 0 {
		s.count++
		s.number[fn.id] = s.count
		if s.count > 1 {
			s.frames = append(s.frames, ",\n"...)
		}
		s.frames = rows.AppendJSONString(append(s.frames, `{"name":`...), fn.name)
		s.frames = appendJSONText(s.frames, `,"file":`, fn.source)
		if fn.line > 0 {
			s.frames = rows.AppendLine(append(s.frames, `,"line":`...), fn.line)
		}
		s.frames = append(s.frames, '}')
	}
	return s.number[fn.id] - 1
}

func (s *speedscope) event(t *thread, kind byte, at int64) {
	for len(s.profile) <= t.index {
		s.profile = append(s.profile, 0)
	}
	if s.profile[t.index] == 0 {
		s.profiles = append(s.profiles, profile{track: t.track})
		s.profile[t.index] = len(s.profiles)
		s.spool.streams = append(s.spool.streams, stream{})
	}
	i := s.profile[t.index] - 1
	s.profiles[i].end = at
	st := &s.spool.streams[i]
	before := len(st.text)
	if before > 0 || len(st.chunks) > 0 {
		st.text = append(st.text, ",\n"...)
	}
	st.text = append(st.text, `{"type":"`...)
	st.text = append(st.text, kind)
	st.text = append(st.text, `","frame":`...)
	st.text = strconv.AppendInt(st.text, int64(s.frame(t.stack[len(t.stack)-1].fn)), 10)
	st.text = append(st.text, `,"at":`...)
	st.text = strconv.AppendInt(st.text, at, 10)
	st.text = append(st.text, '}')
	s.spool.memory += int64(len(st.text) - before)
	s.spool.spill(i)
}

func (s *speedscope) enter(dst []byte, t *thread, again bool) []byte {
	s.event(t, 'O', t.stack[len(t.stack)-1].start)
	return dst
}

func (s *speedscope) leave(dst []byte, t *thread, at int64, how ending) []byte {
	s.event(t, 'C', at)
	return dst
}

// anomaly leaves the row out, because the format has nothing for it.
func (s *speedscope) anomaly(dst []byte, t *thread, at int64, fn *function, r *rows.Row) []byte {
	return dst
}

// speedscopeBegin is the beginning of a file, by which it is recognised.
const speedscopeBegin = `{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"LogParser"`

func (s *speedscope) tail(out *output, dst []byte) error {
	dst = append(append(dst, speedscopeBegin...), `,"name":`...)
	name := logName(s.header)
	if s.part > 0 || out.open != nil && out.part > 0 {
		name += ", part " + strconv.Itoa(s.part+1)
	}
	dst = rows.AppendJSONString(dst, name)
	dst = append(dst, ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[\n"...)
	if err := out.write(dst); err != nil {
		return err
	}
	if err := out.write(s.frames); err != nil {
		return err
	}
	dst = append(dst[:0], "\n]},\"profiles\":["...)
	for i, p := range s.profiles {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, "\n{\"type\":\"evented\",\"name\":"...)
		dst = rows.AppendJSONString(dst, fullThreadName(s.header, p.track))
		dst = append(dst, `,"unit":"nanoseconds","startValue":`...)
		dst = strconv.AppendInt(dst, s.begin, 10)
		dst = append(dst, `,"endValue":`...)
		dst = strconv.AppendInt(dst, p.end, 10)
		dst = append(dst, ",\"events\":[\n"...)
		if err := out.write(dst); err != nil {
			return err
		}
		if err := s.spool.writeTo(out, i); err != nil {
			return err
		}
		dst = append(dst[:0], "\n]}"...)
	}
	return out.write(append(dst, "\n]}\n"...))
}

func (s *speedscope) kept() int64 { return s.spool.size() + int64(len(s.frames)) }

// threadName returns the name of a thread, with its id.
func threadName(h *rows.Header, t rows.Track) string {
	if name := h.StackName(t); name != "" {
		return name
	}
	text := "thread " + strconv.FormatUint(uint64(t.ID()), 10)
	if name := h.Threads[t]; name != "" {
		text += " " + name
	}
	return text
}

// fullThreadName returns the name of a thread together with that of its process, if there are several.
func fullThreadName(h *rows.Header, t rows.Track) string {
	if p := h.Process(t); p != nil {
		return "process " + p.Label + ", " + threadName(h, t)
	}
	return threadName(h, t)
}
