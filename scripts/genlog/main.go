// Genlog makes logs for measurements: a classic log and its modules file,
// in the shape of a large program or of tracers' benchmarks. With -calls it
// also writes how often each function was called, as it wrote the log, to hold
// a reader's count against. With -trace the log has the events of a trace.
//
//	go run ./scripts/genlog -records 51000000 -tiny -calls calls.txt FOLDER
//	go run ./scripts/genlog -trace graph.lptrace FOLDER
package main

import (
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"logparser/internal/testlog/classictest"
)

func main() {
	var s classictest.Spec
	flag.Int64Var(&s.Records, "records", 51_000_000, "number of records")
	flag.IntVar(&s.RecordSize, "size", 16, "bytes of a record, 16 or 24")
	flag.IntVar(&s.Threads, "threads", 4, "number of threads")
	flag.IntVar(&s.Functions, "functions", 1000, "number of functions")
	flag.IntVar(&s.MaxDepth, "depth", 40, "greatest depth of a stack")
	flag.IntVar(&s.PerMillisecond, "rate", 6000, "records a millisecond")
	flag.Uint64Var(&s.Seed, "seed", 1, "chooses the calls")
	calls := flag.String("calls", "", "a file for lines \"MODULE+OFFSET CALLS\", in order of the text")
	flag.BoolVar(&s.Tiny, "tiny", false, "tiny functions in loops, as tracers are measured with")
	from := flag.String("trace", "", "a trace whose events are written instead, in 24 bytes each")
	flag.Parse()
	if flag.NArg() != 1 || s.RecordSize != 16 && s.RecordSize != 24 || s.Records <= 0 || s.Threads <= 0 || s.Functions <= 0 || s.MaxDepth <= 0 {
		fmt.Fprintln(os.Stderr, "usage: genlog [flags] FOLDER")
		flag.PrintDefaults()
		os.Exit(2)
	}
	if err := os.MkdirAll(flag.Arg(0), 0o777); err != nil {
		fail(err)
	}
	if *from != "" {
		log, err := convert(*from, flag.Arg(0))
		if err != nil {
			fail(err)
		}
		fmt.Println(log)
		return
	}
	log := filepath.Join(flag.Arg(0), classictest.LogName)
	c := counter{size: s.RecordSize, of: make(map[uint64]*int64)}
	generate := classictest.Generate
	if *calls != "" {
		generate = func(w io.Writer, s classictest.Spec) error {
			return classictest.Generate(io.MultiWriter(w, &c), s)
		}
	}
	write(log, s, generate)
	write(filepath.Join(flag.Arg(0), classictest.ModulesName), s, classictest.WriteModules)
	if *calls != "" {
		if err := os.WriteFile(*calls, c.table(s.ModuleSpans()), 0o666); err != nil {
			fail(err)
		}
	}
	fmt.Println(log)
}

func write(path string, s classictest.Spec, generate func(io.Writer, classictest.Spec) error) {
	f, err := os.Create(path)
	if err != nil {
		fail(err)
	}
	if err := cmp.Or(generate(f, s), f.Close()); err != nil {
		fail(err)
	}
}

// A counter counts the enters of each address in the records written to it.
type counter struct {
	size int
	rest []byte // the beginning of a record
	of   map[uint64]*int64
}

func (c *counter) Write(p []byte) (int, error) {
	n := len(p)
	if len(c.rest) > 0 {
		p = append(c.rest, p...)
	}
	for ; len(p) >= c.size; p = p[c.size:] {
		address, flagAt := uint64(binary.LittleEndian.Uint32(p)), 12
		if c.size == 24 {
			address, flagAt = binary.LittleEndian.Uint64(p), 16
		}
		if p[flagAt] != 1 {
			continue
		}
		k := c.of[address]
		if k == nil {
			k = new(int64)
			c.of[address] = k
		}
		*k++
	}
	c.rest = append(c.rest[:0], p...)
	return n, nil
}

func (c *counter) table(modules []classictest.ModuleSpan) []byte {
	var lines []string
	for address, n := range c.of {
		for _, m := range modules {
			if address >= m.Base && address-m.Base < m.Size {
				name := m.Path[strings.LastIndexByte(m.Path, '\\')+1:]
				lines = append(lines, fmt.Sprintf("%s+%#x %d\n", name, address-m.Base, *n))
			}
		}
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "genlog:", err)
	os.Exit(1)
}
