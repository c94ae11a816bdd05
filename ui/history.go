package ui

// A history is the rows that the user has jumped from and to, as a browser keeps
// pages. The zero value is empty.
type history struct {
	rows []int64
	at   int // index of the row that was come to last
}

// maxHistory is how many rows are remembered.
const maxHistory = 200

// jump notes a jump. What had been gone back from is forgotten.
func (h *history) jump(from, to int64) {
	if len(h.rows) > 0 {
		h.rows = h.rows[:h.at+1]
	}
	for _, row := range []int64{from, to} {
		if row >= 0 && (len(h.rows) == 0 || h.rows[len(h.rows)-1] != row) {
			h.rows = append(h.rows, row)
		}
	}
	if over := len(h.rows) - maxHistory; over > 0 {
		h.rows = append(h.rows[:0], h.rows[over:]...)
	}
	h.at = max(len(h.rows)-1, 0)
}

// back returns the row before, or the row after with forward, -1 for none.
// now is where the user is: having moved from where the last jump led, going
// back leads there first.
func (h *history) step(now int64, forward bool) int64 {
	if len(h.rows) == 0 {
		return -1
	}
	at := h.at
	switch {
	case forward:
		at++
	case now == h.rows[h.at] || now < 0:
		at--
	}
	if at < 0 || at >= len(h.rows) {
		return -1
	}
	h.at = at
	return h.rows[at]
}
