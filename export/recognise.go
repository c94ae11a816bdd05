package export

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"logparser/rows"
)

// endLen is how many bytes at the beginning and at the end of a file are examined.
const endLen = 64 << 10

// Recognise returns the name of the format in which a file was saved. It examines the content of the file, not its name. The
// result is "" if the file was written neither by this package nor by the commands that write csv, txt or jsonl themselves:
// statistics, call trees and annotations. empty says that the file has no bytes.
func Recognise(path string) (format string, empty bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return "", err == nil, err
	}
	n := min(info.Size(), endLen)
	head, err := io.ReadAll(io.NewSectionReader(f, 0, n))
	if err != nil {
		return "", false, err
	}
	tail, err := io.ReadAll(io.NewSectionReader(f, info.Size()-n, n))
	if err != nil {
		return "", false, err
	}
	return recognise(head, tail), false, nil
}

func recognise(head, tail []byte) string {
	text := bytes.TrimPrefix(head, []byte(byteOrderMark))
	begins := func(s string) bool { return bytes.HasPrefix(text, []byte(s)) }
	switch {
	case begins("PAR1") && bytes.HasSuffix(tail, []byte("PAR1")):
		if bytes.Contains(tail, []byte("LogParser")) {
			return "parquet"
		}
	case begins(pageBegin):
		return "html"
	case begins(chromeBegin):
		return "chrome"
	case begins(speedscopeBegin):
		return "speedscope"
	case begins(callgrindBegin):
		return "callgrind"
	case looksPerfetto(head):
		return "perfetto"
	case looksCSV(text):
		return "csv"
	case looksJSONL(text):
		return "jsonl"
	case looksTXT(text):
		return "txt"
	case tracerLine.Match(text):
		return "tracer"
	case looksFolded(text):
		return "folded"
	}
	return ""
}

// tracerLine is the first line that writeTracer writes, maybe behind a process.
var tracerLine = regexp.MustCompile(`^([^\n]* )?T0x[0-9a-f]+: 0x[0-9a-f]+ `)

// looksPerfetto examines the first packet, which contains the names of the arguments.
func looksPerfetto(head []byte) bool {
	if len(head) == 0 || head[0] != tracePacket<<3|2 {
		return false
	}
	for _, name := range argNames {
		if !bytes.Contains(head, appendBytes(nil, internedName, name)) {
			return false
		}
	}
	return true
}

// tables are the first columns of the text tables: rows, statistics, call trees and annotations.
var tables = []struct{ csv, txt []string }{
	{[]string{"index", "time", "thread", "event", "depth"}, []string{"index", "time", "thread", "duration", "call", "source", "module"}},
	{[]string{"function", "module", "source", "line", "thread", "calls"}, []string{"calls", "total", "nonrecursive", "self", "mean"}},
	{[]string{"function", "module", "source", "line", "thread", "calls"}, []string{"thread", "calls", "total", "nonrecursive", "self", "mean"}},
	{[]string{"depth", "function", "module", "source", "line", "thread", "calls"}, []string{"total", "%", "self", "calls", "function"}},
	{annotationColumns[:6], []string{"time", "thread", "value", "text"}},
	{annotationColumns[:6], []string{"time", "row", "thread", "value", "text"}},
}

func looksCSV(text []byte) bool {
	line, _, _ := strings.Cut(string(text), "\n")
	columns := strings.Split(strings.TrimRight(line, "\r"), ",")
	for _, t := range tables {
		if len(columns) >= len(t.csv) && slices.Equal(columns[:len(t.csv)], t.csv) {
			return true
		}
	}
	return areColumns(columns)
}

// areColumns reports whether names are names of columns of rows, and at least three, so that it is no coincidence.
func areColumns(names []string) bool {
	corrected := &rows.Header{Corrected: true}
	return len(names) >= 3 && !slices.ContainsFunc(names, func(name string) bool {
		c := rows.ColumnOf(name)
		return c == nil && name != corrected.ColumnName(rows.ColumnOf("duration")) && name != corrected.ColumnName(rows.ColumnOf("self")) ||
			c != nil && c.Kind == rows.Duration && name == c.Name
	})
}

// looksJSONL examines the keys of the first object.
func looksJSONL(text []byte) bool {
	var keys map[string]json.RawMessage
	if len(text) == 0 || text[0] != '{' || json.NewDecoder(bytes.NewReader(text)).Decode(&keys) != nil {
		return false
	}
	for _, wanted := range [][]string{{"index", "time", "event", "depth", "address"}, {"calls", "timed", "total_us"},
		{"calls", "timed", "total_corrected_us"}, {"time", "thread", "kind", "text"}} {
		if !slices.ContainsFunc(wanted, func(k string) bool { return keys[k] == nil }) {
			return true
		}
	}
	return areColumns(slices.Collect(maps.Keys(keys)))
}

// looksTXT looks for the header of a table of rows, or for the titles of another table, which may come after a few other lines.
func looksTXT(text []byte) bool {
	lines := strings.Split(string(text), "\n")
	inputs := slices.ContainsFunc([]string{"Log:", "Modules:", "Note:", "Rows:"}, func(s string) bool { return strings.HasPrefix(lines[0], s) })
	for i, line := range lines {
		words := strings.Fields(line)
		if inputs && len(words) == 2 && words[0] == "Rows:" {
			return true
		}
		for _, t := range tables[1:] {
			if i < 20 && len(words) >= len(t.txt) && slices.Equal(words[:len(t.txt)], t.txt) {
				return true
			}
		}
	}
	return false
}

// collapsedLine matches a stack of at least two names, such as a process and a function, and its weight.
var collapsedLine = regexp.MustCompile(`^[^;]+(;[^;]+)+ [0-9]+$`)

// looksFolded reports whether each line is a stack, because the format has no header.
func looksFolded(text []byte) bool {
	lines := strings.Split(string(text), "\n")
	for _, line := range lines[:len(lines)-1] { // the last line is empty, or cut off
		if !collapsedLine.MatchString(line) || rows.Visible(line) != line {
			return false
		}
	}
	return len(lines) > 1
}
