// Testcount turns the event stream of "go test -json" into a short report and
// a count.
//
// It reads the stream on standard input, prints a line for each package, the
// beginning of the output of what failed and a line "failed PACKAGE TEST" for
// it, and writes "PASSED FAILED SKIPPED" to the
// file named by -o. A test that has subtests is not counted itself; its
// subtests are, unless it failed although none of them did. A package that
// fails without a failing test (it does not build, it panics, it runs out of
// time) counts as one failure, and so does a test that began and never ended.
//
// The exit status is 1 if anything failed or the stream held no package.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

// event is a line of the stream; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail, in place of Package
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// counts are the numbers of tests by how they ended.
type counts struct {
	passed, failed, skipped int
}

func (c *counts) add(d counts) {
	c.passed += d.passed
	c.failed += d.failed
	c.skipped += d.skipped
}

// pkg collects the events of one package until its last.
type pkg struct {
	ended  map[string]string           // test to its last action, "" while it runs
	output map[string]*strings.Builder // by test; "" is the package's own
}

// reader accumulates a stream.
type reader struct {
	w      io.Writer
	open   map[string]*pkg
	builds map[string]*strings.Builder
	total  counts
	seen   int // packages that ended
}

func newReader(w io.Writer) *reader {
	return &reader{w: w, open: map[string]*pkg{}, builds: map[string]*strings.Builder{}}
}

func (r *reader) pkg(name string) *pkg {
	p := r.open[name]
	if p == nil {
		p = &pkg{ended: map[string]string{}, output: map[string]*strings.Builder{}}
		r.open[name] = p
	}
	return p
}

func appendTo(m map[string]*strings.Builder, key, s string) {
	b := m[key]
	if b == nil {
		b = new(strings.Builder)
		m[key] = b
	}
	b.WriteString(s)
}

// read consumes the stream to its end. Lines that are no events (the go
// command's own complaints) are passed through.
func (r *reader) read(in io.Reader) error {
	br := bufio.NewReader(in)
	for {
		line, err := br.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.event(e)
			} else {
				fmt.Fprintf(r.w, "%s\n", strings.TrimRight(string(line), "\n"))
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(r.open) {
		r.finish(event{Package: name, Action: "fail", Output: "the stream ended before the package did"})
	}
	return nil
}

func (r *reader) event(e event) {
	switch e.Action {
	case "build-output":
		appendTo(r.builds, e.ImportPath, e.Output)
	case "build-fail":
	case "start":
		r.pkg(e.Package)
	case "run":
		r.pkg(e.Package).ended[e.Test] = ""
	case "output":
		appendTo(r.pkg(e.Package).output, e.Test, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.finish(e)
			return
		}
		p := r.pkg(e.Package)
		p.ended[e.Test] = e.Action
		if e.Action == "pass" {
			delete(p.output, e.Test)
		}
	}
}

// finish counts a package whose last event is e and reports it.
func (r *reader) finish(e event) {
	p := r.pkg(e.Package)
	delete(r.open, e.Package)
	r.seen++

	parent := map[string]bool{}
	failedBelow := map[string]bool{}
	for name, action := range p.ended {
		for i := strings.LastIndexByte(name, '/'); i >= 0; i = strings.LastIndexByte(name[:i], '/') {
			parent[name[:i]] = true
			if action == "fail" || action == "" {
				failedBelow[name[:i]] = true
			}
		}
	}

	var c counts
	var failed, counted []string
	for _, name := range sortedKeys(p.ended) {
		switch action := p.ended[name]; {
		case action == "fail" || action == "":
			failed = append(failed, name)
			if !parent[name] || !failedBelow[name] {
				c.failed++
				counted = append(counted, name)
			}
		case parent[name]:
		case action == "pass":
			c.passed++
		case action == "skip":
			c.skipped++
			fmt.Fprintf(r.w, "skip    %s %s%s\n", e.Package, name, reason(p.output[name]))
		}
	}
	if e.Action == "fail" && c.failed == 0 {
		c.failed = 1
	}
	r.total.add(c)

	switch {
	case e.Action == "fail":
		fmt.Fprintf(r.w, "FAIL    %s (%.1f s)\n", e.Package, e.Elapsed)
		r.show(e.Output)
		if e.FailedBuild != "" {
			r.showBuilder(r.builds[e.FailedBuild])
		}
		for _, name := range failed {
			r.showBuilder(p.output[name])
		}
		r.showBuilder(p.output[""])
		if len(counted) == 0 {
			counted = append(counted, "(the package)")
		}
		for _, name := range counted {
			fmt.Fprintf(r.w, "failed  %s %s\n", e.Package, name)
		}
	case e.Action == "skip" || len(p.ended) == 0:
		fmt.Fprintf(r.w, "none    %s\n", e.Package)
	default:
		fmt.Fprintf(r.w, "ok      %s: %d passed, %d skipped (%.1f s)\n", e.Package, c.passed, c.skipped, e.Elapsed)
	}
}

// reason finds what a skipped test said: the last line of its output that is
// not the runner's own.
func reason(b *strings.Builder) string {
	if b == nil {
		return ""
	}
	said := ""
	for _, line := range strings.Split(b.String(), "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			said = ": " + line
		}
	}
	return said
}

func (r *reader) showBuilder(b *strings.Builder) {
	if b != nil {
		r.show(b.String())
	}
}

// What is shown of one test's output.
const (
	maxLines = 60
	maxLine  = 500 // bytes
)

func (r *reader) show(s string) {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		if i == maxLines {
			fmt.Fprintf(r.w, "        ... and %d more lines\n", len(lines)-maxLines)
			return
		}
		if len(line) > maxLine {
			line = line[:maxLine] + " ..."
		}
		if line != "" {
			fmt.Fprintf(r.w, "        %s\n", line)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func main() {
	out := flag.String("o", "", "write the counts to this `file`")
	flag.Parse()

	r := newReader(os.Stdout)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "testcount: %v\n", err)
		os.Exit(2)
	}
	if r.seen == 0 {
		fmt.Println("FAIL    no package was tested")
		r.total.failed++
	}
	if *out != "" {
		s := fmt.Sprintf("%d %d %d\n", r.total.passed, r.total.failed, r.total.skipped)
		if err := os.WriteFile(*out, []byte(s), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "testcount: %v\n", err)
			os.Exit(2)
		}
	}
	if r.total.failed > 0 {
		os.Exit(1)
	}
}
