package export

import "logparser/rows"

// maxLookedAt is how many rows are looked at for the shallowest of them. A longer table begins with the outermost calls, or is indented as if it did.
const maxLookedAt = 1 << 20

// shallowest returns the least depth of the rows of a table, from which a table for people is indented: what a filter leaves of deep calls would else
// stand in one column. It is 0 for tables that grow, whose later rows may be shallower.
func shallowest(src rows.Source, n int64, opt *Options) int {
	if n == 0 || n > maxLookedAt || opt.NoHead || opt.From > 0 || opt.MostRows > 0 {
		return 0
	}
	least := -1
	buf := make([]rows.Row, min(n, 1024))
	for from := int64(0); from < n; {
		got, _ := src.Read(buf[:min(int64(len(buf)), n-from)], from)
		if got <= 0 {
			return 0
		}
		for i := range buf[:got] {
			if r := &buf[i]; r.Event != rows.Unknown && (least < 0 || r.Depth < least) {
				if least = r.Depth; least <= 0 {
					return 0
				}
			}
		}
		from += int64(got)
		if from == int64(got) {
			buf = make([]rows.Row, min(n, 1<<14)) // most tables have an outermost call among their first rows
		}
	}
	return max(least, 0)
}
