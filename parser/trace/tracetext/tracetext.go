// Package tracetext writes a trace as text, and makes a trace from such text. It
// is for examining what a recorder wrote, and for writing tests by hand.
//
// The text contains the whole used part of a file: if a recorder wrote the
// trace, Load makes the same bytes from the text that Dump wrote, except behind
// the records of a chunk. A line is the file, a chunk or a record:
//
//	file rate=1000000000 state=1
//	chunk process
//	clock @1000 ns=1000 wall=1700000000000000000 ahead=3600
//	load @1000 module=1 base=0x400000 size=0x1000 path="/bin/a" identity="build-id:0a"
//	chunk events stream=1 thread=4711 base=1000
//	window w0 entry 0x400000
//	enter +5 w0 0x10
//	leave +7
//	enter @2000 entry 0x400020
//
// A missing field gets a value that makes the file valid. Times are in
// units: + is relative to the last record, and @ is absolute. A comment begins
// with #. docs/formats.md explains the rest.
package tracetext

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// errSyntax is wrapped by the errors of [Load] about a line.
var errSyntax = errors.New("syntax error")

// words splits a line at blanks, except within double quotes.
func words(line string) ([]string, error) {
	var list []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' {
			return list, nil
		}
		n := 0
		for n < len(line) && line[n] != ' ' && line[n] != '\t' && line[n] != '\r' {
			if line[n] == '"' {
				q, err := strconv.QuotedPrefix(line[n:])
				if err != nil {
					return nil, fmt.Errorf("%w: a quote without its end", errSyntax)
				}
				n += len(q)
				continue
			}
			n++
		}
		list = append(list, line[:n])
		line = line[n:]
	}
}

// A line has the words of a line after its name. They are taken one by one.
type line struct {
	plain  []string
	fields map[string]string
	err    error
}

func parseLine(list []string) *line {
	l := &line{fields: make(map[string]string)}
	for _, w := range list {
		if name, value, ok := strings.Cut(w, "="); ok && !strings.HasPrefix(w, `"`) {
			l.fields[name] = value
		} else {
			l.plain = append(l.plain, w)
		}
	}
	return l
}

func (l *line) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("%w: "+format, append([]any{errSyntax}, args...)...)
	}
}

// next takes the next word that has no name. what is what the word should be, for errors.
func (l *line) next(what string) string {
	if len(l.plain) == 0 {
		l.fail("%s is missing", what)
		return ""
	}
	w := l.plain[0]
	l.plain = l.plain[1:]
	return w
}

func (l *line) number(word, what string, bits int) uint64 {
	if l.err != nil {
		return 0
	}
	v, err := strconv.ParseUint(word, 0, bits)
	if err != nil {
		l.fail("%s: %q is not a number of %d bits", what, word, bits)
	}
	return v
}

func (l *line) signed(word, what string, bits int) int64 {
	if l.err != nil {
		return 0
	}
	v, err := strconv.ParseInt(word, 0, bits)
	if err != nil {
		l.fail("%s: %q is not a number of %d bits", what, word, bits)
	}
	return v
}

func (l *line) text(word, what string) string {
	if l.err != nil {
		return ""
	}
	s, err := strconv.Unquote(word)
	if err != nil {
		l.fail("%s: %s is not a quoted text", what, word)
	}
	return s
}

func (l *line) bytes(word, what string) []byte {
	b, err := hex.DecodeString(word)
	if err != nil {
		l.fail("%s: %q is not hexadecimal", what, word)
	}
	return b
}

// field takes the number with a name. It returns otherwise if there is none.
func (l *line) field(name string, bits int, otherwise uint64) uint64 {
	w, ok := l.fields[name]
	if !ok {
		return otherwise
	}
	delete(l.fields, name)
	return l.number(w, name, bits)
}

// end reports an error if words are left.
func (l *line) end() error {
	if l.err == nil && len(l.plain) > 0 {
		l.fail("%q is too much", l.plain[0])
	}
	for name := range l.fields {
		if l.err == nil {
			l.fail("there is no field %q here", name)
		}
	}
	return l.err
}
