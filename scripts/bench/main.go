// Bench compares logparse with llvm-symbolizer and addr2line, side by side in
// one run, and prints their times, memory and ratios, whether they give the
// same answers, and whether the bars that the project sets itself are met.
//
//	bench [-runs N] [-pdb IMAGE] [-bigpdb IMAGE] [-pe IMAGE] [-dwarf IMAGE] [-compressed IMAGE] ...
//
// Each IMAGE is one comparison; of a PE with a PDB the image is given, and the
// PDB lies beside it under the same name. Programs take turns, each runs as
// often as -runs says, and the median counts. Time is that of the whole
// process: wall is what one waits for, CPU (user and system) what counts on a
// machine that has other work. Memory is the peak of what is resident. The
// files come from the system's cache.
//
// "bench measure", "bench lookups", "bench inflate" and "bench firstname" are
// what it calls itself with, so that no measured process inherits the peak of
// a large one.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// settings are the flags.
type settings struct {
	logparse, llvm, addr2line, addr2linePE string
	resolveFlags                           string
	runs, small, large                     int
	dir                                    string
}

func main() {
	if len(os.Args) > 1 {
		if child := children[os.Args[1]]; child != nil {
			if err := child(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
				os.Exit(1)
			}
			return
		}
	}
	var s settings
	var pdb, bigPDB, pe, dwarf, compressed string
	flag.StringVar(&s.logparse, "logparse", "build/logparse", "the command that is measured")
	flag.StringVar(&s.llvm, "llvm", "", "llvm-symbolizer, none if empty")
	flag.StringVar(&s.addr2line, "addr2line", "", "addr2line for ELF, none if empty")
	flag.StringVar(&s.addr2linePE, "addr2line-pe", "", "addr2line for PE, none if empty")
	flag.StringVar(&s.resolveFlags, "resolve-flags", "", "flags to add to logparse resolve")
	flag.IntVar(&s.runs, "runs", 3, "how often each program runs")
	flag.IntVar(&s.small, "n", 50000, "random addresses of the common comparisons")
	flag.IntVar(&s.large, "large", 1000000, "random addresses of the large DWARF")
	flag.StringVar(&s.dir, "dir", "", "folder for addresses and answers")
	flag.StringVar(&pdb, "pdb", "", "images with a PDB beside them, with commas between")
	flag.StringVar(&bigPDB, "bigpdb", "", "the same of 300 MB or more")
	flag.StringVar(&pe, "pe", "", "PE with DWARF")
	flag.StringVar(&dwarf, "dwarf", "", "large ELF with DWARF that is not compressed")
	flag.StringVar(&compressed, "compressed", "", "the same, compressed")
	flag.Parse()
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "bench")
		if err != nil {
			fail(err)
		}
		defer os.RemoveAll(dir)
		s.dir = dir
	}
	b := &bench{settings: s}
	if pdb != "" {
		for image := range strings.SplitSeq(pdb, ",") {
			b.try(func() error { return b.pdb("PDB: "+filepath.Base(image), image, b.small) })
		}
	}
	if bigPDB != "" {
		b.try(func() error { return b.pdb("large PDB: "+filepath.Base(bigPDB), bigPDB, b.small/50) })
		b.try(func() error { return b.firstName(bigPDB) })
	}
	if pe != "" {
		b.try(func() error { return b.dwarfLookups("PE with DWARF: "+filepath.Base(pe), pe, s.small, 0) })
	}
	if dwarf != "" {
		b.try(func() error { return b.firstAnswer(dwarf) })
	}
	if compressed != "" {
		b.try(func() error { return b.firstCompressed(compressed) })
	}
	if dwarf != "" {
		b.try(func() error { return b.dwarfLookups("large DWARF: random addresses", dwarf, s.large, 10) })
	}
	b.verdicts()
	if b.failed {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// bench is a run over all comparisons.
type bench struct {
	settings
	bars   []string
	failed bool
}

func (b *bench) try(f func() error) {
	if err := f(); err != nil {
		fmt.Println("not measured:", err)
		b.failed = true
	}
}

// bar notes what the project sets itself and what came out.
func (b *bench) bar(what string, met bool, format string, args ...any) {
	word := "met   "
	if !met {
		word = "MISSED"
	}
	b.bars = append(b.bars, fmt.Sprintf("%s  %s: %s", word, what, fmt.Sprintf(format, args...)))
}

func (b *bench) verdicts() {
	fmt.Println("\nBars")
	for _, line := range b.bars {
		fmt.Println("  " + line)
	}
}

// resolve is the command line of our own program.
func (b *bench) resolve(image string, more ...string) []string {
	argv := []string{b.logparse, "resolve", "--image", image}
	argv = append(argv, strings.Fields(b.resolveFlags)...)
	return append(argv, more...)
}

// pdbOf is the PDB beside an image.
func pdbOf(image string) string { return strings.TrimSuffix(image, filepath.Ext(image)) + ".pdb" }

func (b *bench) pdb(title, image string, n int) error {
	a, err := pdbAddresses(pdbOf(image), n)
	if err != nil {
		return err
	}
	all, one, err := a.write(b.dir)
	if err != nil {
		return err
	}
	ours := program{name: "logparse resolve", argv: b.resolve(pdbOf(image)), stdin: all}
	oursOne := program{name: "logparse resolve", argv: ours.argv, stdin: one}
	fmt.Printf("\n%s (%s), %d distinct random addresses\n", title, megabytes(pdbOf(image)), len(a.rvas))
	programs, ones := []program{ours}, []program{oursOne}
	if b.llvm != "" {
		argv := []string{b.llvm, "--relative-address", "--obj=" + image}
		programs = append(programs, program{name: filepath.Base(b.llvm), argv: argv, stdin: all})
		ones = append(ones, program{name: filepath.Base(b.llvm), argv: argv, stdin: one})
	}
	rows, err := b.compare(programs, len(a.rvas))
	if err != nil {
		return err
	}
	first, err := measureAll(ones, b.runs)
	if err != nil {
		return err
	}
	in, err := b.inProcess(pdbOf(image), all)
	if err != nil {
		return err
	}
	fmt.Printf("  steady state, look-ups a second of CPU: in the process %s warm, %s the first time", rate(in.Warm), rate(in.Cold))
	steady := make([]float64, len(rows))
	for i := range rows {
		steady[i] = marginal(rows[i], first[i], len(a.rvas))
		fmt.Printf("; %s %s", rows[i].name, rate(steady[i]))
	}
	fmt.Println()
	if len(rows) > 1 {
		fmt.Printf("  ratio of steady states: in the process %.0f warm, %.0f the first time; by the command, with its output, %.0f\n",
			in.Warm/steady[1], in.Cold/steady[1], steady[0]/steady[1])
		b.bar(title+", look-ups a second, 50 x llvm-symbolizer's", in.Warm >= 50*steady[1], "%.0f x in the process; by the command with its output %.0f x", in.Warm/steady[1], steady[0]/steady[1])
		return b.agree(image, pdbOf(image), a, true)
	}
	return nil
}

func (b *bench) firstName(image string) error {
	a, err := pdbAddresses(pdbOf(image), 1000)
	if err != nil {
		return err
	}
	_, one, err := a.write(b.dir)
	if err != nil {
		return err
	}
	fmt.Printf("\nfirst name of a PDB of %s\n", megabytes(pdbOf(image)))
	self, err := os.Executable()
	if err != nil {
		return err
	}
	programs := []program{
		{name: "logparse resolve", argv: b.resolve(pdbOf(image)), stdin: one},
		{name: "its reader alone", argv: []string{self, "firstname", pdbOf(image), fmt.Sprintf("%#x", a.rvas[0])}},
	}
	if b.llvm != "" {
		programs = append(programs, program{name: filepath.Base(b.llvm), argv: []string{b.llvm, "--relative-address", "--obj=" + image}, stdin: one})
	}
	rows, err := b.compare(programs, 1)
	if err != nil {
		return err
	}
	b.bar("first name of a PDB of 300 MB in less than 100 ms and 100 MB, by the command", rows[0].wall < 0.1 && rows[0].mb < 100,
		"%.0f ms (%.0f of CPU), %.0f MB", 1000*rows[0].wall, 1000*rows[0].cpu, rows[0].mb)
	b.bar("the same by the reader alone", rows[1].wall < 0.1 && rows[1].mb < 100,
		"%.0f ms (%.0f of CPU), %.0f MB", 1000*rows[1].wall, 1000*rows[1].cpu, rows[1].mb)
	return nil
}

// others are llvm-symbolizer and addr2line for an image with DWARF.
func (b *bench) others(a *addresses, image, vas string) []program {
	var programs []program
	if b.llvm != "" {
		programs = append(programs, program{name: filepath.Base(b.llvm), argv: []string{b.llvm, "--obj=" + image}, stdin: vas})
	}
	tool := b.addr2line
	if a.pe {
		tool = b.addr2linePE
	}
	if tool != "" {
		programs = append(programs, program{name: filepath.Base(tool), argv: []string{tool, "-f", "-i", "-C", "-e", image}, stdin: vas})
	}
	return programs
}

// dwarfLookups compares random look-ups with inlined calls. times is how many
// times faster than llvm-symbolizer it should be, 0 for no bar. addr2line,
// which is slower by orders on large files, is left out of those.
func (b *bench) dwarfLookups(title, image string, n, times int) error {
	a, err := imageAddresses(image, n)
	if err != nil {
		return err
	}
	all, _, err := a.write(b.dir)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s (%s), %d distinct random addresses with inlined calls\n", title, megabytes(image), len(a.rvas))
	programs := []program{{name: "logparse resolve", argv: b.resolve(image), stdin: all}}
	others := b.others(a, image, all+".va")
	if times > 0 && len(others) > 1 {
		others = others[:1]
	}
	rows, err := b.compare(append(programs, others...), len(a.rvas))
	if err != nil {
		return err
	}
	if times > 0 && len(rows) > 1 {
		b.bar(fmt.Sprintf("%s, from start to end %d x faster than llvm-symbolizer", title, times),
			rows[0].cpu*float64(times) <= rows[1].cpu, "%.1f x by CPU, %.1f x by the clock", rows[1].cpu/rows[0].cpu, rows[1].wall/rows[0].wall)
		b.bar(title+", half of its peak memory", rows[0].mb*2 <= rows[1].mb, "%.0f of %.0f MB", rows[0].mb, rows[1].mb)
	}
	if b.llvm == "" {
		return nil
	}
	return b.agree(image, image, a, false)
}

// firstAnswer measures one address of a large file.
func (b *bench) firstAnswer(image string) error {
	a, err := imageAddresses(image, 1000)
	if err != nil {
		return err
	}
	_, one, err := a.write(b.dir)
	if err != nil {
		return err
	}
	fmt.Printf("\nlarge DWARF, not compressed (%s): first full answer\n", megabytes(image))
	programs := []program{{name: "logparse resolve", argv: b.resolve(image), stdin: one}}
	rows, err := b.compare(append(programs, b.others(a, image, one+".va")...), 1)
	if err != nil {
		return err
	}
	b.bar("large DWARF, not compressed: first full answer in less than 0.3 s and 200 MB", rows[0].wall < 0.3 && rows[0].mb < 200, "%.2f s (%.2f of CPU), %.0f MB", rows[0].wall, rows[0].cpu, rows[0].mb)
	return nil
}

// firstCompressed measures one address of a large file that has to be inflated
// first: with an empty cache and, if there is one, from the cache.
func (b *bench) firstCompressed(image string) error {
	a, err := imageAddresses(image, 1000)
	if err != nil {
		return err
	}
	_, one, err := a.write(b.dir)
	if err != nil {
		return err
	}
	fmt.Printf("\nlarge DWARF, compressed (%s): first answers\n", megabytes(image))
	cache := filepath.Join(b.dir, "cache")
	cached := b.resolve(image, "--symbol-cache", cache)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	rva := fmt.Sprintf("%#x", a.rvas[0])
	programs := []program{
		{name: "logparse resolve", argv: b.resolve(image), stdin: one},
		{name: "... filling --symbol-cache", argv: cached, stdin: one, before: func() error { return os.RemoveAll(cache) }},
		{name: "... from --symbol-cache", argv: cached, stdin: one},
		{name: "... --names-only", argv: b.resolve(image, "--names-only"), stdin: one},
		{name: "the symbol table's reader alone", argv: []string{self, "firstname", image, rva}},
		{name: "inflating .debug_info alone", argv: []string{self, "inflate", image, ".debug_info"}},
		{name: "inflating all that look-ups need", argv: append([]string{self, "inflate", image}, needed...)},
	}
	rows, err := b.compare(append(programs, b.others(a, image, one+".va")...), 1)
	if err != nil {
		return err
	}
	b.bar("compressed: the symbol table's name in less than 0.3 s", rows[3].wall < 0.3, "%.2f s (%.2f of CPU)", rows[3].wall, rows[3].cpu)
	b.bar("compressed: the full answer within 1.2 x of inflating what is needed", rows[0].cpu <= 1.2*rows[6].cpu, "%.2f x by CPU, %.2f x by the clock", rows[0].cpu/rows[6].cpu, rows[0].wall/rows[6].wall)
	b.bar("compressed, from the cache: first full answer in less than 0.3 s and 200 MB", rows[2].wall < 0.3 && rows[2].mb < 200, "%.2f s (%.2f of CPU), %.0f MB", rows[2].wall, rows[2].cpu, rows[2].mb)
	return nil
}

// needed are the sections that look-ups by address read.
var needed = []string{".debug_info", ".debug_abbrev", ".debug_aranges", ".debug_line", ".debug_line_str", ".debug_str", ".debug_rnglists", ".debug_ranges"}

func megabytes(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "absent"
	}
	return fmt.Sprintf("%.1f MB", float64(info.Size())/1e6)
}

func rate(r float64) string {
	switch {
	case r >= 1e6:
		return fmt.Sprintf("%.2f million", r/1e6)
	case r >= 1e3:
		return fmt.Sprintf("%.1f thousand", r/1e3)
	}
	return fmt.Sprintf("%.0f", r)
}
