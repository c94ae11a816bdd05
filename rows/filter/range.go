package filter

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"logparser/message"
	"logparser/rows"
)

// A Measure says what the bounds of a [Range] are.
type Measure uint8

const (
	// Number: a plain number, or nanoseconds of a duration or of elapsed time.
	Number Measure = iota
	// TimeOfDay: nanoseconds since midnight of local time. Low may be greater
	// than High: the range goes past midnight.
	TimeOfDay
	// Wall: local time.
	Wall
	// Unsigned: an address.
	Unsigned
)

// A Range is bounds, both inclusive.
type Range struct {
	Measure Measure
	// Low and High are the bounds, except of Wall and Unsigned, which have their own below.
	Low, High int64
	// From and To are those of Wall; the zero Time is no bound.
	From, To time.Time
	// First and Last are those of Unsigned.
	First, Last uint64
}

// Has reports whether a number lies in a range of numbers, or a time since
// midnight in one of times of day.
func (r *Range) Has(n int64) bool {
	if r.Low > r.High && r.Measure == TimeOfDay {
		return n >= r.Low || n <= r.High
	}
	return n >= r.Low && n <= r.High
}

// reversed reports whether the bounds of a range are the wrong way round, so that it
// holds for nothing.
func (r *Range) reversed() bool {
	switch r.Measure {
	case Number:
		return r.Low > r.High
	case Wall:
		return !r.To.IsZero() && r.From.After(r.To)
	case Unsigned:
		return r.First > r.Last
	}
	return false
}

// HasAddress reports whether an address lies in a range of addresses.
func (r *Range) HasAddress(a uint64) bool { return a >= r.First && a <= r.Last }

// HasTime reports whether a row's time lies in a range of any measure of time.
// Without local time only elapsed time does.
func (r *Range) HasTime(elapsed int64, wall time.Time, hasWall bool) bool {
	switch r.Measure {
	case TimeOfDay:
		return hasWall && r.Has(sinceMidnight(wall))
	case Wall:
		return hasWall && (r.From.IsZero() || !wall.Before(r.From)) && (r.To.IsZero() || !wall.After(r.To))
	}
	return r.Has(elapsed)
}

func sinceMidnight(t time.Time) int64 {
	h, m, s := t.Clock()
	return (int64(h)*3600+int64(m)*60+int64(s))*1e9 + int64(t.Nanosecond())
}

const day = int64(24 * time.Hour)

// A point is one bound as it was written. It covers all that its last digit
// leaves open: 5 ms is 5 to less than 6 ms.
type point struct {
	measure Measure
	n       int64
	step    int64 // of the last digit
	at      time.Time
	address uint64
	// unitless: a number of time whose unit was not said.
	unitless bool
}

// parseRange reads a value with its operator: one point, or two with .. between.
func parseRange(c Column, op, value string) (Range, *Error) {
	low, high, isRange := strings.Cut(value, "..")
	if c == Call && (isRange || op != "" && op != "=") {
		return Range{}, errorAt(0, "one row of the call is expected, not a range")
	}
	if !isRange {
		p, err := parsePoint(c, value, "")
		if err != nil {
			return Range{}, err
		}
		return p.compare(op), nil
	}
	if op != "" {
		return Range{}, errorAt(0, "a range stands without %s", op)
	}
	if low == "" && high == "" {
		return Range{}, errorAt(0, "a range needs a bound, such as 1..2")
	}
	var to, from point
	var err *Error
	unit := ""
	if high != "" {
		if to, err = parsePoint(c, high, ""); err != nil {
			err.Offset += len(low) + 2
			return Range{}, err
		}
		unit = strings.TrimLeft(high, "-.0123456789")
	}
	if low == "" {
		return to.compare("<="), nil
	}
	if to.measure != Number || !c.is(rows.Duration) && c != Time {
		unit = ""
	}
	if from, err = parsePoint(c, low, unit); err != nil {
		return Range{}, err
	}
	if high == "" {
		return from.compare(">="), nil
	}
	if from.measure != to.measure {
		return Range{}, errorAt(len(low)+2, "both bounds of a range must be of one kind")
	}
	r := from.compare(">=")
	end := to.compare("<=")
	r.High, r.To, r.Last = end.High, end.To, end.Last
	return r, nil
}

// compare makes the range of what stands in a relation to a point.
func (p *point) compare(op string) Range {
	r := Range{Measure: p.measure, Low: math.MinInt64, High: math.MaxInt64, Last: math.MaxUint64}
	if p.measure == TimeOfDay {
		r.Low, r.High = 0, day-1
	}
	switch op {
	case "", "=":
		r.Low, r.High, r.From, r.To, r.First, r.Last = p.n, p.n, p.at, p.at, p.address, p.address
		if op == "" {
			r.High += p.step - 1
			if p.measure == Wall {
				r.To = p.at.Add(time.Duration(p.step - 1))
			}
			if p.n < 0 && p.step > 1 { // digits are cut off towards 0
				r.Low, r.High = p.n-(p.step-1), p.n
			}
			if r.High < r.Low {
				r.High = math.MaxInt64
			}
		}
	case ">=":
		r.Low, r.From, r.First = p.n, p.at, p.address
	case "<=":
		r.High, r.To, r.Last = p.n, p.at, p.address
	case ">":
		if p.n == math.MaxInt64 || p.address == math.MaxUint64 || p.measure == TimeOfDay && p.n == day-1 {
			return r.nothing()
		}
		r.Low, r.From, r.First = p.n+1, p.at.Add(1), p.address+1
	case "<":
		if p.n == math.MinInt64 || p.measure == Unsigned && p.address == 0 || p.measure == TimeOfDay && p.n == 0 {
			return r.nothing()
		}
		r.High, r.To, r.Last = p.n-1, p.at.Add(-1), p.address-1
	}
	return r
}

// nothing is the range that has nothing in it.
func (r Range) nothing() Range {
	return Range{Measure: Number, Low: 1, High: 0, First: 1}
}

// parsePoint reads one bound of a range as its column has it. The unit is that of the other bound, for 5..10ms, or "".
func parsePoint(c Column, text, unit string) (point, *Error) {
	switch {
	case c.is(rows.Duration):
		p, err := parseSpan(text, unit)
		if err == nil && p.unitless && p.n == 0 {
			p.step = 1 // no unit's last digit is left open
		} else if err == nil && p.unitless {
			err = errorAt(len(text), "a unit is expected after %s: ns, us, ms, s, m or h", text)
		}
		if err == nil && p.n < 0 {
			err = errorAt(0, "a duration is expected, such as 5ms")
		}
		return p, err
	case c == Time:
		if p, ok := parseWall(text); ok {
			return p, nil
		}
		p, err := parseSpan(text, unit)
		if err != nil {
			err.Text = message.Textf("a time is expected, such as 1.5s, 14:03:07 or 2013-05-12T14:03")
		}
		return p, err
	case c.is(rows.Address):
		n, err := strconv.ParseUint(text, 0, 64)
		if errors.Is(err, strconv.ErrRange) {
			return point{}, errorAt(0, "the number is too large")
		}
		if err != nil {
			return point{}, errorAt(0, "an address is expected, such as 0x401000")
		}
		return point{measure: Unsigned, address: n}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) && n > 0 {
		return point{}, errorAt(0, "the number is too large")
	}
	if err == nil && n < 0 {
		return point{}, errorAt(0, "%s: is never negative", c.String())
	}
	if err != nil || strings.HasPrefix(text, "+") {
		return point{}, errorAt(0, "a number is expected after %s:", c.String())
	}
	return point{n: n, step: 1}, nil
}

var units = map[string]int64{
	"ns": 1, "us": 1e3, "\u00b5s": 1e3, "\u03bcs": 1e3, "ms": 1e6, "s": 1e9,
	"m": 60e9, "min": 60e9, "h": 3600e9,
}

// parseSpan reads a number of some unit of time; unit is the one that is meant
// where none is written, "" for seconds.
func parseSpan(text, unit string) (point, *Error) {
	wrong := errorAt(0, "a duration is expected, such as 5ms")
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ\u00b5\u03bc")
	p := point{}
	written := strings.ToLower(strings.TrimPrefix(text, number))
	if written == "" {
		p.unitless = unit == ""
		written = unit
	}
	if written == "" {
		written = "s"
	}
	scale, ok := units[strings.ToLower(written)]
	if !ok {
		return p, errorAt(len(number), "%q is no unit: ns, us, ms, s, m or h", written)
	}
	digits, negative := strings.CutPrefix(number, "-")
	whole, part, hasPart := strings.Cut(digits, ".")
	if whole == "" || hasPart && part == "" || strings.Trim(whole+part, "0123456789") != "" {
		return p, wrong
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > math.MaxInt64/scale {
		return p, errorAt(0, "the number is too large")
	}
	p.n, p.step = n*scale, scale
	for _, d := range []byte(part) {
		// Dividing by ten is exact for more digits than any clock has.
		p.step /= 10
		add := int64(d-'0') * p.step
		if p.n > math.MaxInt64-add {
			return p, errorAt(0, "the number is too large")
		}
		p.n += add
	}
	p.step = max(p.step, 1)
	if negative {
		p.n = -p.n
	}
	return p, nil
}

// parseWall reads a time of day, a day, or both.
func parseWall(text string) (point, bool) {
	text = strings.Replace(strings.ToUpper(text), "T", " ", 1)
	date, clock, both := strings.Cut(text, " ")
	if !both && strings.Contains(date, ":") {
		n, step, ok := parseClock(date)
		return point{measure: TimeOfDay, n: n, step: step}, ok
	}
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return point{}, false
	}
	p := point{measure: Wall, at: at, step: day}
	if both {
		n, step, ok := parseClock(clock)
		if !ok {
			return p, false
		}
		p.at, p.step = at.Add(time.Duration(n)), step
	}
	return p, true
}

// parseClock reads 14:03, 14:03:07 or 14:03:07.123.
func parseClock(text string) (ns, step int64, ok bool) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		step = 60e9
		if layout == "15:04:05" {
			step = 1e9
		}
		if _, part, has := strings.Cut(text, "."); has {
			for range part {
				step /= 10
			}
			step = max(step, 1)
		}
		return sinceMidnight(t), step, true
	}
	return 0, 0, false
}
