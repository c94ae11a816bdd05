// Genlog makes logs for measurements: a classic log and its modules file,
// in the shape of a large program or of tracers' benchmarks.
//
//	go run ./scripts/genlog -records 51000000 -tiny FOLDER
package main

import (
	"flag"
	"fmt"
	"os"

	"logparser/parser/classic/classictest"
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
	flag.BoolVar(&s.Tiny, "tiny", false, "tiny functions in loops, as tracers are measured with")
	flag.Parse()
	if flag.NArg() != 1 || s.RecordSize != 16 && s.RecordSize != 24 || s.Records <= 0 || s.Threads <= 0 || s.Functions <= 0 || s.MaxDepth <= 0 {
		fmt.Fprintln(os.Stderr, "usage: genlog [flags] FOLDER")
		flag.PrintDefaults()
		os.Exit(2)
	}
	if err := os.MkdirAll(flag.Arg(0), 0o777); err != nil {
		fail(err)
	}
	log, _, err := classictest.WriteFiles(flag.Arg(0), s)
	if err != nil {
		fail(err)
	}
	fmt.Println(log)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "genlog:", err)
	os.Exit(1)
}
