package probes

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"logparser/modules"
	"logparser/parser"
)

// Names says what the events of probes are. Whoever makes probes writes it down beside them, as
// lines that may also stand in the log itself.
type Names struct {
	Images []Image
	Events []Event
}

// An Image is a program or library that has probes.
type Image struct {
	Path string
	// Size is what the image takes in memory, bytes.
	Size     uint64
	Identity modules.Identity
}

// An Event is what a probe makes when it is hit.
type Event struct {
	Name string
	Kind parser.Kind
	// Image is an index into Names.Images, -1 where it is none: the kernel.
	Image int
	// Start is the RVA of the function, Probe that of the probe.
	Start, Probe uint64
	Function     string
	Arguments    []Argument
}

// An Argument is a value that an event has.
type Argument struct {
	// Printed is what the event calls it, Name the parameter and Type its type.
	Printed, Name, Type string
}

// firstLine begins what Write writes.
const firstLine = "lp 1 logparse probes"

// IsNames reports whether a file that begins so has names, as [Names.Write] writes them without a prefix.
func IsNames(head []byte) bool { return strings.HasPrefix(string(head), firstLine) }

// Bounds of what is read.
const (
	maxImages    = 1000
	maxEvents    = 100_000
	maxArguments = 128 // of an event
	maxText      = 4096
)

// Write writes the lines, each behind a prefix such as "# ".
func (n *Names) Write(w io.Writer, prefix string) error {
	out := bufio.NewWriter(w)
	quote := strconv.Quote
	if strings.HasPrefix(prefix, "$$") {
		// With ; a comment of WinDbg ends, and a command begins.
		quote = func(text string) string { return strings.ReplaceAll(strconv.Quote(text), ";", `\x3b`) }
	}
	fmt.Fprintf(out, "%s%s\n", prefix, firstLine)
	for i, m := range n.Images {
		fmt.Fprintf(out, "%slp I %d %d %s %s\n", prefix, i, m.Size, identityText(m.Identity), quote(m.Path))
	}
	for i := range n.Events {
		e := &n.Events[i]
		kind := "E"
		if e.Kind == parser.Leave {
			kind = "L"
		}
		fmt.Fprintf(out, "%slp N %s %s %d 0x%x 0x%x %s\n", prefix, e.Name, kind, e.Image, e.Start, e.Probe, quote(e.Function))
		for _, a := range e.Arguments {
			fmt.Fprintf(out, "%slp A %s %s %s %s\n", prefix, e.Name, a.Printed, quote(a.Name), quote(a.Type))
		}
	}
	return out.Flush()
}

func identityText(id modules.Identity) string {
	if id.IsZero() {
		return "-"
	}
	return id.String()
}

// A namesReader takes the lines of Names, which may come in any number of pieces.
type namesReader struct {
	Names
	// images are indexes into Names.Images by the numbers of the lines, events into
	// Names.Events by their names.
	images map[int]int
	events map[string]int
}

// isNames reports whether a line is one of Names, without a comment's mark before it.
func isNames(line []byte) bool {
	return len(line) > 5 && line[0] == 'l' && line[1] == 'p' && line[2] == ' ' && line[4] == ' ' && bytes.IndexByte([]byte("1INA"), line[3]) >= 0
}

// uncommented takes the mark of a comment off a line.
func uncommented(line []byte) []byte {
	for len(line) > 0 && (line[0] == '#' || line[0] == '/' || line[0] == '$' || line[0] == ' ') {
		line = line[1:]
	}
	return line
}

// line takes a line; what is wrong in it has no effect.
func (r *namesReader) line(text string) {
	if len(text) > maxText {
		return
	}
	if r.events == nil {
		r.images, r.events = make(map[int]int), make(map[string]int)
	}
	words := splitQuoted(text)
	switch {
	case len(words) == 6 && words[1] == "I" && len(r.Images) < maxImages:
		number, err1 := strconv.Atoi(words[2])
		size, err2 := strconv.ParseUint(words[3], 10, 63)
		if err1 != nil || err2 != nil {
			return
		}
		image := Image{Path: words[5], Size: size}
		if words[4] != "-" {
			id, err := modules.ParseIdentity(words[4])
			if err != nil {
				return
			}
			image.Identity = id
		}
		for i := range r.Images {
			if r.Images[i] == image {
				r.images[number] = i
				return
			}
		}
		r.images[number] = len(r.Images)
		r.Images = append(r.Images, image)
	case len(words) == 8 && words[1] == "N":
		number, err1 := strconv.Atoi(words[4])
		start, err2 := strconv.ParseUint(words[5], 0, 64)
		probe, err3 := strconv.ParseUint(words[6], 0, 64)
		if err1 != nil || err2 != nil || err3 != nil || words[2] == "" {
			return
		}
		e := Event{Name: words[2], Image: -1, Start: start, Probe: probe, Function: words[7]}
		if i, ok := r.images[number]; ok {
			e.Image = i
		}
		if words[3] == "L" {
			e.Kind = parser.Leave
		}
		if i, ok := r.events[e.Name]; ok {
			r.Events[i] = e
		} else if len(r.Events) < maxEvents {
			r.events[e.Name] = len(r.Events)
			r.Events = append(r.Events, e)
		}
	case len(words) == 6 && words[1] == "A":
		if i, ok := r.events[words[2]]; ok && len(r.Events[i].Arguments) < maxArguments {
			r.Events[i].Arguments = append(r.Events[i].Arguments, Argument{words[3], words[4], words[5]})
		}
	}
}

// splitQuoted splits a line at blanks outside of quotation marks, which it takes off.
func splitQuoted(text string) (words []string) {
	for len(words) < 10 {
		text = strings.TrimLeft(text, " ")
		if text == "" {
			break
		}
		if text[0] == '"' {
			q, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil
			}
			w, _ := strconv.Unquote(q)
			words, text = append(words, w), text[len(q):]
			continue
		}
		w, rest, _ := strings.Cut(text, " ")
		words, text = append(words, w), rest
	}
	return words
}

// ReadNames reads the lines of Names out of a text.
func ReadNames(in io.Reader) (*Names, error) {
	var r namesReader
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if line := uncommented(lines.Bytes()); isNames(line) {
			r.line(string(line))
		}
	}
	return &r.Names, lines.Err()
}
