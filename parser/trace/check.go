package trace

import (
	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Check implements [parser.Checker]. A file that has lost bytes behind its last record is no error, because the recorder cuts
// those off when the program ends.
func (l *Log) Check() error {
	l.growing.Lock()
	defer l.growing.Unlock()
	if l.file == nil {
		return nil
	}
	st, err := parser.StatOpened(l.name, l.file)
	if err != nil {
		return err
	}
	w, was := l.growth.w, l.view.Load().header
	end := int64(0)
	for i := range w.process {
		end = max(end, w.process[i].end())
	}
	for _, s := range w.all {
		for i := range s.chunks {
			end = max(end, s.chunks[i].end())
		}
	}
	if st.Size() < min(end, w.size) {
		return message.InFile(l.name, message.Errorf("its records ended at byte %d, and it has %d bytes: %w", min(end, w.size), st.Size(), parser.ErrShrunk))
	}
	b := make([]byte, wire.HeaderSize)
	if n, err := l.file.ReadAt(b, 0); n < len(b) {
		return err
	}
	h, err := wire.ParseHeader(b)
	if w.ok && (err != nil || h.PID != was.PID || h.Started != was.Started || h.Begin != was.Begin) {
		return message.InFile(l.name, message.Errorf("the header is another one: %w", parser.ErrShrunk))
	}
	return nil
}
