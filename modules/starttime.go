package modules

import (
	"regexp"
	"strings"
)

var (
	// tickForm is a labelled tick at the end of a line.
	tickForm = regexp.MustCompile(`(?i)^(.*?)[\s,;|，；]*(?:get\s*tick\s*count|tick\s*count|ticks?|滴答数?|开机毫秒)(?:\s+at\s+start)?\s*[:=：＝]\s*(-?\d+|0x[0-9a-f]+)\s*(?:ms)?$`)
	// timeLabelForm is what may stand before a start time.
	timeLabelForm = regexp.MustCompile(`(?i)^[\p{L}_ ]{0,40}(?:time|date|start|started|时间|日期)[\p{L}_ ]{0,20}\s*[:=：＝]\s*`)
	// timeOfDayForm is a time without its date, perhaps with the tick.
	timeOfDayForm = regexp.MustCompile(`^\d{1,2}:\d{2}:\d{2}(?:[.,:]\d{1,9})?(?:[\s,;|]+\d+)?$`)
	// dateForm is a date at the beginning of a line, before a time or nothing.
	dateForm = regexp.MustCompile(`^(?:\d{4}\s*[-/.年]\s*\d{1,2}\s*[-/.月]\s*\d{1,2}日?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?:$|[Tt\s,]+\d{1,2}\s*[:时]|[\s,]*$|[Tt\s]+$)`)
)

// ctimeForm is what ctime prints; date puts a zone before the year.
const ctimeForm = `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d(?: [A-Z]{2,5})? \d{4}`

// ctimeLine is a line with a time as ctime prints it, whatever it is called, perhaps with the tick behind it.
var ctimeLine = regexp.MustCompile(`^(?:[\p{L}_ ]{0,60}[:=：＝]\s*)?(` + ctimeForm + `)(?:[\s,;|]+(-?\d+|0x[0-9a-fA-F]+))?$`)

// maxTimeLine bounds a line with a time, in bytes.
const maxTimeLine = 200

// cutTime takes a line that has the start time, the tick behind or below it, or
// the two; it leaves a line of one number alone to its caller, since that may be
// a module's. It goes by form: package timeparse reads the text.
func cutTime(line string) (text, tick string, ok bool) {
	if len(line) > maxTimeLine {
		return "", "", false
	}
	// Most lines are a module's: the expressions are asked only where they may match.
	if strings.Contains(line, "ick") || strings.Contains(line, "ICK") || strings.Contains(line, "滴") || strings.Contains(line, "毫秒") {
		if m := tickForm.FindStringSubmatch(line); m != nil {
			tick = m[2]
			if line = strings.Trim(m[1], separators); line == "" {
				return "", tick, true
			}
		}
	}
	if m := ctimeLine.FindStringSubmatch(line); m != nil && (tick == "" || m[2] == "") {
		return m[1], tick + m[2], true
	}
	rest := line
	if c := line[0]; c < '0' || c > '9' {
		m := timeLabelForm.FindString(line)
		if m == "" {
			return "", "", false
		}
		if rest = strings.TrimSpace(line[len(m):]); rest == "" || rest[0] < '0' || rest[0] > '9' {
			return "", "", false
		}
	}
	switch {
	case isISODate(rest), dateForm.MatchString(rest), isSystemTime(rest), timeOfDayForm.MatchString(rest):
	default:
		return "", "", false
	}
	if tick == "" {
		rest, tick = splitTick(rest)
	}
	return rest, tick, true
}

// isISODate recognises a date that begins with the year.
func isISODate(s string) bool {
	return len(s) >= 10 && isDigits(s[:4]) && s[4] == '-' && isDigits(s[5:7]) && s[7] == '-'
}

// isSystemTime recognises the eight numbers of a SYSTEMTIME, perhaps with the
// tick as a ninth.
func isSystemTime(s string) bool {
	n := 0
	for s != "" {
		var f string
		if f, s = cutField(s); !isDigits(f) || len(f) > 10 {
			return false
		}
		n++
	}
	return n == 8 || n == 9
}

// splitTick takes the tick off the end of a line that has time and tick.
func splitTick(s string) (text, tick string) {
	i := strings.LastIndexAny(s, separators)
	if i < 0 || !isInteger(s[i+1:]) {
		return s, ""
	}
	head := strings.TrimRight(s[:i], separators)
	if strings.ContainsAny(s, ":时") {
		// The last number of "2026-11-21 11:22" holds the colon itself, and
		// "+0800" is a zone.
		if strings.ContainsAny(head, ":时") && s[i+1] != '+' && s[i+1] != '-' {
			return head, s[i+1:]
		}
		return s, ""
	}
	if len(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) })) == 9 {
		return head, s[i+1:]
	}
	return s, ""
}
