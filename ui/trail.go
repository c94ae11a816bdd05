package ui

// A trail is the rows that the user has jumped from and to, as a browser keeps
// pages. The zero value is empty.
type trail struct {
	rows []int64
	at   int // index of the row that was come to last
}

// maxTrail is how many rows are remembered.
const maxTrail = 200

// jump notes a jump. What had been gone back from is forgotten.
func (t *trail) jump(from, to int64) {
	if len(t.rows) > 0 {
		t.rows = t.rows[:t.at+1]
	}
	for _, row := range []int64{from, to} {
		if row >= 0 && (len(t.rows) == 0 || t.rows[len(t.rows)-1] != row) {
			t.rows = append(t.rows, row)
		}
	}
	if over := len(t.rows) - maxTrail; over > 0 {
		t.rows = append(t.rows[:0], t.rows[over:]...)
	}
	t.at = max(len(t.rows)-1, 0)
}

// back returns the row before, or the row after with forward, -1 for none.
// now is where the user is: having moved from where the last jump led, going
// back leads there first.
func (t *trail) step(now int64, forward bool) int64 {
	if len(t.rows) == 0 {
		return -1
	}
	at := t.at
	switch {
	case forward:
		at++
	case now == t.rows[t.at] || now < 0:
		at--
	}
	if at < 0 || at >= len(t.rows) {
		return -1
	}
	t.at = at
	return t.rows[at]
}
