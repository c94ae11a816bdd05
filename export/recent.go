package export

import "logparser/rows"

// recent keeps the text of names that rows of one address share: what is made
// of function, module, source, line, address and symbols, for the addresses
// seen last.
type recent [1 << recentBits]struct {
	row  rows.Row
	text []byte
}

const (
	recentBits = 10
	// maxRecent bounds a text that is kept, in bytes.
	maxRecent = 2048
)

// append appends the row's text, which is made by make if it is not kept.
func (k *recent) append(dst []byte, r *rows.Row, make func(dst []byte, r *rows.Row) []byte) []byte {
	m := &k[recentIndex(r.Address)]
	if m.text == nil || !sameNames(&m.row, r) {
		m.row = *r
		m.text = make(m.text[:0], r)
	}
	dst = append(dst, m.text...)
	if len(m.text) > maxRecent {
		m.row, m.text = rows.Row{}, nil
	}
	return dst
}

// recentIndex picks an address's place among 1 << recentBits.
func recentIndex(address uint64) uint64 { return address * 0x9e3779b97f4a7c15 >> (64 - recentBits) }

// sameNames reports whether two rows are equal from function to symbols. It is
// quick, because equal strings are mostly the same string.
func sameNames(a, b *rows.Row) bool {
	return a.Address == b.Address && a.Line == b.Line && a.Function == b.Function &&
		a.Source == b.Source && a.Module == b.Module && a.Symbols == b.Symbols
}
