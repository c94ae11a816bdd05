package trace

import "testing"

// TestReadingsWait has readings that begin where others end.
func TestReadingsWait(t *testing.T) {
	l, v := &Log{}, &view{}
	first := l.queue(v, 0, 10)
	last := first
	for i := range int64(mostBehind) {
		r := l.queue(v, 10+10*i, 20+10*i)
		if r.before != last {
			t.Fatalf("reading %d does not wait for the one before", i+1)
		}
		last = r
	}
	others := map[string]*reading{
		"behind too many":               l.queue(v, last.end, last.end+10),
		"of another view":               l.queue(&view{}, 10, 20),
		"that begins where none ends":   l.queue(v, 15, 20),
		"of the beginning":              l.queue(v, 0, 5),
		"that a cursor is there for":    nil,
		"behind one that is there":      nil,
		"behind one that was the first": nil,
	}
	l.cursors = []*cursor{{v: v, next: 10}}
	others["that a cursor is there for"] = l.queue(v, 10, 20)
	l.cursors = nil
	l.end(first)
	others["behind one that was the first"] = l.queue(v, 10, 12)
	others["behind one that is there"] = l.queue(v, 5, 7)
	for name, r := range others {
		if (r.before != nil) != (name == "behind one that is there") {
			t.Errorf("the reading %s: waits %t", name, r.before != nil)
		}
	}
	done := make(chan bool)
	go func() {
		l.end(l.begin(v, 7, 9))
		done <- true
	}()
	l.end(others["behind one that is there"])
	<-done
	for len(l.readings) > 0 {
		l.end(l.readings[0])
	}
}
