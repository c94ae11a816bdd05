package timeparse

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"logparser/message"
)

// ErrSyntax is wrapped by errors about text that is not a start time.
var ErrSyntax = message.New("not a time: want year-month-day hour:minute[:second[.fraction]] or the eight numbers of a SYSTEMTIME")

// A Start is a start time as text had it.
type Start struct {
	// Time is the civil local time. Its location is UTC and means nothing.
	Time time.Time
	// Zone is the zone that the text named ("Z", "+08:00"), "" for none. It
	// has no influence on Time.
	Zone string
	// WrongWeekday says that a SYSTEMTIME's day of the week does not fit its date.
	WrongWeekday bool
}

// ParseStart reads a local time: ISO 8601 with a blank or a T between date and
// time ("2026-11-21 11:22:33.456"), or the eight decimal numbers of a Windows
// SYSTEMTIME in the order of its fields (year, month, day of week, day, hour,
// minute, second, millisecond) with blanks, tabs or commas between. Seconds
// and fraction may be missing from the ISO form; digits beyond nanoseconds are
// dropped. Other usual forms are read where they can only mean one moment: the
// year first with slashes, dots or 年月日, the day first with dots, either with
// slashes where one of the two numbers is no month, a time with AM or PM, and what
// ctime and date print ("Sat Nov 21 11:22:33 2026"). Behind a colon instead of a point
// stand milliseconds, as the article of 2013 writes them: in "08:10:22:10" ten.
func ParseStart(s string) (Start, error) {
	s = withPoint(strings.TrimSpace(s))
	if timeOfDay.MatchString(s) {
		return Start{}, message.Errorf("%q has no date: %w", clip(s), ErrSyntax)
	}
	if fields := Fields(s); len(fields) == 8 {
		return ParseSystemTime(fields)
	}
	start, err := parseISO(s)
	if err == nil {
		return start, nil
	}
	iso, otherErr := toISO(s)
	if otherErr != nil {
		return Start{}, otherErr
	}
	if iso == "" {
		return Start{}, err
	}
	return parseISO(iso)
}

// colonForm is a time with its milliseconds behind a colon, and timeOfDay one of which nothing tells the day.
var (
	colonForm = regexp.MustCompile(`(?:^|[^\d:])(\d{1,2}:\d{2}:\d{2}):(\d{1,3})(?:$|[^\d:.,])`)
	timeOfDay = regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$`)
)

// withPoint puts milliseconds that stand behind a colon behind a point.
func withPoint(s string) string {
	m := colonForm.FindStringSubmatchIndex(s)
	if m == nil {
		return s
	}
	return fmt.Sprintf("%s.%03s%s", s[:m[3]], s[m[4]:m[5]], s[m[5]:])
}

// otherForm has the three numbers of a date with what divides them, hour, minute,
// second with its fraction, and what follows.
var otherForm = regexp.MustCompile(`^(\d{1,4})([-/.]|\s*年\s*)(\d{1,2})([-/.]|\s*月\s*)(\d{1,4})\s*日?[Tt,\s]*(上午|下午)?\s*(\d{1,2})[:时](\d{1,2})(?:[:分](\d{1,2}(?:[.,]\d+)?))?[秒分]?\s*(?i:(AM|PM))?\s*([-+Zz].*)?$`)

// ctimeMonths are the months as ctime writes them.
const ctimeMonths = "JanFebMarAprMayJunJulAugSepOctNovDec"

// ctimeForm is what ctime prints; date puts a zone before the year.
var ctimeForm = regexp.MustCompile(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(\d{1,2}) (\d\d:\d\d:\d\d)(?: [A-Z]{2,5})? (\d{4})$`)

// toISO brings another form of a time to that of ISO 8601; iso is "" for a text
// that is none of them. A date that may have the day or the month first is an
// error.
func toISO(s string) (iso string, err error) {
	if m := ctimeForm.FindStringSubmatch(s); m != nil {
		day, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%s-%02d-%02d %s", m[4], 1+strings.Index(ctimeMonths, m[1])/3, day, m[3]), nil
	}
	m := otherForm.FindStringSubmatch(s)
	if m == nil || strings.TrimSpace(m[2]) != strings.TrimSpace(m[4]) && strings.TrimSpace(m[2]) != "年" {
		return "", nil
	}
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	year, month, day := number(m[1]), number(m[3]), number(m[5])
	switch {
	case len(m[1]) == 4 && len(m[5]) <= 2:
	case len(m[1]) <= 2 && len(m[5]) == 4:
		year, day = day, year
		if m[2] == "." {
			break // the day comes first wherever dots are written
		}
		if day <= 12 && month <= 12 && day != month {
			return "", message.Errorf("%q may have the day or the month first: %w", clip(s), ErrSyntax)
		}
		if day <= 12 {
			month, day = day, month
		}
	default:
		return "", nil
	}
	hour := number(m[7])
	switch half := strings.ToUpper(m[10] + m[6]); {
	case half == "":
	case hour < 1 || hour > 12:
		return "", nil
	case half == "PM" || half == "下午":
		hour = hour%12 + 12
	default:
		hour %= 12
	}
	second, fraction, _ := strings.Cut(strings.ReplaceAll(m[9], ",", "."), ".")
	if fraction != "" {
		fraction = "." + fraction
	}
	return fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d%s%s", year, month, day, hour, number(m[8]), number(second), fraction, m[11]), nil
}

// Fields splits a line of numbers at blanks, tabs and commas.
func Fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
}

// ParseSystemTime reads the eight fields of a SYSTEMTIME.
func ParseSystemTime(fields []string) (Start, error) {
	if len(fields) != 8 {
		return Start{}, message.Errorf("a SYSTEMTIME has 8 numbers, not %d: %w", len(fields), ErrSyntax)
	}
	limits := [8]struct {
		name     message.Text
		min, max int
	}{
		{message.Textf("year"), 1601, 9999}, {message.Textf("month"), 1, 12}, {message.Textf("day of week"), 0, 6}, {message.Textf("day"), 1, 31},
		{message.Textf("hour"), 0, 23}, {message.Textf("minute"), 0, 59}, {message.Textf("second"), 0, 59}, {message.Textf("millisecond"), 0, 999},
	}
	var v [8]int
	for i, f := range fields {
		// Atoi alone would take a sign.
		if !digits(f) {
			return Start{}, message.Errorf("%s %q: %w", limits[i].name, clip(f), ErrSyntax)
		}
		n, err := strconv.Atoi(f)
		if err != nil || n < limits[i].min || n > limits[i].max {
			return Start{}, message.Errorf("%s %s is out of range: %w", limits[i].name, clip(f), ErrSyntax)
		}
		v[i] = n
	}
	t, err := civil(v[0], v[1], v[3], v[4], v[5], v[6], v[7]*1e6)
	if err != nil {
		return Start{}, err
	}
	return Start{Time: t, WrongWeekday: int(t.Weekday()) != v[2]}, nil
}

func civil(year, month, day, hour, minute, second, nano int) (time.Time, error) {
	t := time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	// Date moves the 31st of a short month into the next one.
	if d := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC); d.Day() != day || int(d.Month()) != month {
		return time.Time{}, message.Errorf("there is no %04d-%02d-%02d: %w", year, month, day, ErrSyntax)
	}
	return t, nil
}

func parseISO(s string) (Start, error) {
	bad := message.Errorf("%q: %w", clip(s), ErrSyntax)
	p := isoText{s}
	year, ok1 := p.number(4)
	ok2 := p.skip("-")
	month, ok3 := p.number(2)
	ok4 := p.skip("-")
	day, ok5 := p.number(2)
	ok6 := p.skip(" tT")
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) {
		return Start{}, bad
	}
	p.rest = strings.TrimLeft(p.rest, " \t")
	hour, ok1 := p.number(2)
	ok2 = p.skip(":")
	minute, ok3 := p.number(2)
	if !(ok1 && ok2 && ok3) {
		return Start{}, bad
	}
	var second, nano int
	if p.skip(":") {
		var ok bool
		if second, ok = p.number(2); !ok {
			return Start{}, bad
		}
		if p.skip(".,") {
			if nano, ok = p.fraction(); !ok {
				return Start{}, bad
			}
		}
	}
	zone := strings.TrimSpace(p.rest)
	if !isZone(zone) {
		return Start{}, bad
	}
	// A leap second is written 60; it becomes the first of the next minute.
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 || year == 0 {
		return Start{}, message.Errorf("%q is out of range: %w", clip(s), ErrSyntax)
	}
	t, err := civil(year, month, day, hour, minute, second, nano)
	if err != nil {
		return Start{}, err
	}
	return Start{Time: t, Zone: zone}, nil
}

type isoText struct{ rest string }

func (p *isoText) skip(any string) bool {
	if p.rest == "" || strings.IndexByte(any, p.rest[0]) < 0 {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// number takes exactly n digits.
func (p *isoText) number(n int) (int, bool) {
	if len(p.rest) < n || !digits(p.rest[:n]) {
		return 0, false
	}
	v, _ := strconv.Atoi(p.rest[:n])
	p.rest = p.rest[n:]
	return v, true
}

func (p *isoText) fraction() (nano int, ok bool) {
	n := 0
	for ; n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9'; n++ {
		if n < 9 {
			nano = nano*10 + int(p.rest[n]-'0')
		}
	}
	for i := n; i < 9; i++ {
		nano *= 10
	}
	p.rest = p.rest[n:]
	return nano, n > 0
}

// isZone accepts "", "Z", "+hh", "+hhmm" and "+hh:mm", also with a minus.
func isZone(s string) bool {
	if s == "" || s == "Z" || s == "z" {
		return true
	}
	if s[0] != '+' && s[0] != '-' {
		return false
	}
	switch h := s[1:]; len(h) {
	case 2, 4:
		return digits(h)
	case 5:
		return digits(h[:2]) && h[2] == ':' && digits(h[3:])
	}
	return false
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// clip keeps hostile text out of messages.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
