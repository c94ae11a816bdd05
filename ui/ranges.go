package ui

import (
	"strconv"
	"strings"

	"logparser/rows/filter"
)

// timeUnits are those that a range is written in, in nanoseconds.
var timeUnits = []struct {
	ns     int64
	digits int // of a nanosecond
	name   string
}{{1e9, 9, "s"}, {1e6, 6, "ms"}, {1e3, 3, "us"}, {1, 0, "ns"}}

// spanTerm returns the term that a time or a duration lies between two bounds in
// nanoseconds, both inclusive, written as short as is exact.
func spanTerm(c filter.Column, low, high int64) (*filter.Expr, error) {
	u := timeUnits[len(timeUnits)-1]
	for _, larger := range timeUnits {
		if high >= larger.ns {
			u = larger
			break
		}
	}
	return filter.InRange(c, decimals(low, u.ns, u.digits)+u.name, decimals(high, u.ns, u.digits)+u.name)
}

// decimals writes a number of nanoseconds in a unit that has so many digits.
func decimals(n, unit int64, digits int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	whole := sign + strconv.FormatInt(n/unit, 10)
	if n%unit == 0 {
		return whole
	}
	part := strconv.FormatInt(unit+n%unit, 10)[1:]
	return whole + "." + strings.TrimRight(part[:digits], "0")
}
