package timeline

import (
	"slices"

	"logparser/app"
	"logparser/rows"
)

// An ordered source has the lanes of another in the order that the user wants.
type ordered struct {
	Source
	lanes  []app.Lane
	places []int // the number that each lane has in the other
}

// Lanes implements [Source].
func (o *ordered) Lanes() []app.Lane { return o.lanes }

// Spans implements [Source].
func (o *ordered) Spans(dst []app.Span, lane int, from, to int64, pixels int) ([]app.Span, bool, error) {
	if lane < 0 || lane >= len(o.places) {
		return dst, false, nil
	}
	return o.Source.Spans(dst, o.places[lane], from, to, pixels)
}

// arrangeSource puts the lanes of the log in the order that is wanted. Threads that nobody
// has moved come behind those before them in the log.
func (t *Timeline) arrangeSource() {
	t.src = t.log
	if t.log == nil || len(t.order) == 0 {
		return
	}
	lanes := t.log.Lanes()
	o := &ordered{Source: t.log}
	left := make([]int, len(lanes))
	for i := range left {
		left[i] = i
	}
	for _, track := range t.order {
		if k := slices.IndexFunc(left, func(i int) bool { return lanes[i].Track() == track }); k >= 0 {
			o.places = append(o.places, left[k])
			left = slices.Delete(left, k, k+1)
		}
	}
	o.places = append(o.places, left...)
	for _, i := range o.places {
		o.lanes = append(o.lanes, lanes[i])
	}
	t.src = o
}

// MoveLane moves a thread's lane by so many places down, up if negative.
func (t *Timeline) MoveLane(thread rows.Track, by int) {
	order := make([]rows.Track, len(t.layout.lanes))
	for i := range order {
		order[i] = t.layout.lanes[i].Track()
	}
	at := slices.Index(order, thread)
	if at < 0 {
		return
	}
	to := min(max(at+by, 0), len(order)-1)
	// Lanes that are hidden are no places.
	for to > 0 && to < len(order)-1 && t.layout.lanes[to].shown() == 0 {
		if by > 0 {
			to++
		} else {
			to--
		}
	}
	if to == at {
		return
	}
	order = slices.Insert(slices.Delete(order, at, at+1), to, thread)
	t.order = order
	t.chosen = nil
	t.Reload()
}

// Order returns the threads in the order that the user wants, nil for that of the log.
func (t *Timeline) Order() []rows.Track { return t.order }

// SetOrder puts the lanes of threads in an order.
func (t *Timeline) SetOrder(order []rows.Track) {
	t.order = order
	t.chosen = nil
	t.Reload()
}

// SetFitted lets lanes be no higher than what is seen of them needs, and hides those that have
// no call in the time that is seen. Lanes that the user has made so high stay so.
func (t *Timeline) SetFitted(on bool) {
	if t.layout.fitted != on {
		t.layout.fitted = on
		t.fit()
		t.layout.place()
		t.changed()
	}
}

// Fitted reports whether lanes are as high as what is seen of them.
func (t *Timeline) Fitted() bool { return t.layout.fitted }

// Hidden counts the lanes that have no call in the time that is seen.
func (t *Timeline) Hidden() int {
	n := 0
	for i := range t.layout.lanes {
		if t.layout.lanes[i].shown() == 0 {
			n++
		}
	}
	return n
}

// fit finds how high lanes have to be for what is seen of them, as far as that is known.
func (t *Timeline) fit() {
	if !t.layout.fitted || t.picture.perPx <= 0 {
		return
	}
	first, last := t.axis.seen()
	if first < t.picture.from || last > t.picture.to {
		return
	}
	moved := false
	for lane, spans := range t.picture.spans {
		if lane >= len(t.layout.lanes) {
			continue
		}
		deepest := 0
		for i := range spans {
			if spans[i].To >= first && spans[i].From <= last {
				deepest = max(deepest, spans[i].Deepest+1)
			}
		}
		if l := &t.layout.lanes[lane]; !l.known || l.seen != deepest {
			l.known, l.seen = true, deepest
			moved = true
		}
	}
	if moved {
		t.layout.place()
		if t.OnFitted != nil {
			t.OnFitted(t.Hidden())
		}
	}
}
