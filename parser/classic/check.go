package classic

import (
	"bytes"
	"os"

	"logparser/message"
	"logparser/parser"
)

// Check implements [parser.Checker].
func (l *Log) Check() error {
	l.growing.Lock()
	defer l.growing.Unlock()
	if l.file == nil {
		return nil
	}
	st, err := parser.StatOpened(l.o.name, l.file)
	if err != nil {
		return err
	}
	return l.compare(st)
}

// compare reports what is wrong with the file if it has become another one than
// was read: the last record is to stand where it stood.
func (l *Log) compare(st os.FileInfo) error {
	o, g := l.o, &l.growth
	if st.Size() == o.stat.Size() && st.ModTime().Equal(o.stat.ModTime()) {
		return nil
	}
	if st.Size() < o.scan.offset {
		return message.InFile(o.name, message.Errorf("it had %d bytes and has %d: %w", o.stat.Size(), st.Size(), ErrShrunk))
	}
	last := make([]byte, len(g.last))
	if err := readFull(o.r, o.name, last, g.lastAt); err != nil {
		return err
	}
	if !bytes.Equal(last, g.last) {
		return message.InFile(o.name, message.Errorf("the record at offset %d has changed: %w", g.lastAt, ErrShrunk))
	}
	return nil
}
