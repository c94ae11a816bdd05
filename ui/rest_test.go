package ui

import (
	"sync/atomic"
	"testing"
	"time"

	"fyne.io/fyne/v2/test"
)

// A window in which nothing moves waits for events. What is drawn, and what is posted, ends that.
func TestRest(t *testing.T) {
	waited := 0
	var woken atomic.Int64 // timers' goroutines wake it too
	calm := make(chan func(), 10)
	w := New(test.NewTempApp(t), Options{Post: func(f func()) { calm <- f }, Wake: func() { woken.Add(1) }, Wait: func(most time.Duration) {
		waited++
		if most < restTime || most > longestRest {
			t.Errorf("it waits for %v", most)
		}
	}})
	again := func() {
		t.Helper()
		for waited == 0 {
			select {
			case f := <-calm:
				f()
				w.drawn.asked = time.Now().Add(-time.Hour)
			case <-time.After(time.Minute):
				t.Fatal("it does not come again")
			}
		}
	}
	w.drawn.asked = time.Time{}
	w.drawn.Visible() // as the drawing library asks
	if w.drawn.asked.IsZero() {
		t.Error("that the window was drawn is not seen")
	}
	w.drawn.asked = time.Now().Add(time.Hour) // however long this machine stalls, that is not long ago
	w.rest()
	if waited != 0 {
		t.Error("it waits though the window was drawn just now")
	}
	w.drawn.asked = time.Now().Add(-time.Hour)
	w.rest()
	waited = 0
	again()
	if waited != 1 {
		t.Errorf("waited %d times, though nothing has moved", waited)
	}
	before := woken.Load()
	w.calm(w.rest)
	w.calm(func() {})
	if woken.Load() != before {
		t.Error("it ends its own wait")
	}
	w.post(func() {})
	if woken.Load() == before {
		t.Error("what is posted is not seen until the wait ends")
	}
	// While no event comes it waits longer and longer; an event ends that.
	w.opt.Wait = func(time.Duration) {}
	w.patience = time.Nanosecond
	for range 3 {
		w.drawn.asked = time.Now().Add(-time.Hour)
		w.rest()
	}
	if w.patience != 8*time.Nanosecond {
		t.Errorf("after three waits without an event it waits for %v", w.patience)
	}
	w.patience = longestRest - 1
	w.drawn.asked = time.Now().Add(-time.Hour)
	w.rest()
	if w.patience != restTime {
		t.Errorf("after an event it waits for %v", w.patience)
	}
}
