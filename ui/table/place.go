package table

import (
	"math"
	"strconv"
	"strings"
	"time"

	"logparser/message"
)

// A Place is where a user wants to go: to a row, to an elapsed time, or to a
// time of day.
type Place struct {
	Kind PlaceKind
	// N is the row, or nanoseconds.
	N int64
}

// A PlaceKind says what a Place counts.
type PlaceKind int

const (
	ByRow PlaceKind = iota
	ByElapsed
	ByClock
)

// ErrPlace says that a text names no place.
var ErrPlace = message.New("neither a row nor a time")

// ParsePlace reads a place: 123456 or 123,456 is a row, 12.5s, 250ms, 3us, 7ns
// and +12.5 are elapsed times, 14:03:22.5 and 14:03 times of day.
func ParsePlace(text string) (Place, error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, ":") {
		ns, err := parseClock(text)
		return Place{ByClock, ns}, err
	}
	for _, unit := range []struct {
		suffix string
		ns     int64
	}{{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}} {
		if number, ok := strings.CutSuffix(strings.ToLower(text), unit.suffix); ok {
			ns, err := parseDecimal(strings.TrimPrefix(strings.TrimSpace(number), "+"), unit.ns)
			return Place{ByElapsed, ns}, err
		}
	}
	if number, ok := strings.CutPrefix(text, "+"); ok {
		ns, err := parseDecimal(number, 1e9)
		return Place{ByElapsed, ns}, err
	}
	digits := strings.NewReplacer(",", "", " ", "", "_", "", "#", "").Replace(text)
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return Place{}, ErrPlace
	}
	return Place{ByRow, n}, nil
}

// parseDecimal reads a number of units exactly, without floating point.
func parseDecimal(s string, unit int64) (int64, error) {
	whole, frac, _ := strings.Cut(s, ".")
	n := int64(0)
	if whole != "" {
		var err error
		if n, err = strconv.ParseInt(whole, 10, 64); err != nil || n < 0 || n > math.MaxInt64/unit-1 {
			return 0, ErrPlace
		}
	} else if frac == "" {
		return 0, ErrPlace
	}
	n *= unit
	for _, c := range frac {
		if c < '0' || c > '9' {
			return 0, ErrPlace
		}
		unit /= 10
		n += int64(c-'0') * unit
	}
	return n, nil
}

// parseClock reads hh:mm, hh:mm:ss or hh:mm:ss.fraction as nanoseconds since
// midnight.
func parseClock(s string) (int64, error) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, ErrPlace
	}
	h, err := strconv.ParseUint(parts[0], 10, 8)
	if err != nil || h > 23 {
		return 0, ErrPlace
	}
	m, err := strconv.ParseUint(parts[1], 10, 8)
	if err != nil || m > 59 {
		return 0, ErrPlace
	}
	ns := int64(h*60+m) * 60e9
	if len(parts) == 3 {
		sec, err := parseDecimal(parts[2], 1e9)
		if err != nil || sec >= 61e9 {
			return 0, ErrPlace
		}
		ns += sec
	}
	return ns, nil
}

// Elapsed returns the time since the first row at which the clock of the log
// shows a time of day for the first time, given the wall clock at the first row.
func Elapsed(clock int64, start time.Time) int64 {
	y, m, d := start.Date()
	elapsed := time.Date(y, m, d, 0, 0, 0, 0, start.Location()).Add(time.Duration(clock)).Sub(start)
	if elapsed < 0 {
		elapsed += 24 * time.Hour
	}
	return int64(elapsed)
}
