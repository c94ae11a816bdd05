package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"logparser/symbols/demangle"
)

// sample is how many addresses are compared.
const sample = 2000

// agree asks both programs for a sample of the addresses and prints how many
// of their answers are the same: the function that contains the address and the
// innermost inlined one, by their names without parameters, and the line. In
// PDB files llvm-symbolizer 14 and 19 leave inlined calls out whose ranges
// their site gives by one length at the end (seen in the site's records).
func (b *bench) agree(image, file string, a *addresses, relative bool) error {
	rvas := a.rvas[:min(sample, len(a.rvas))]
	in := filepath.Join(b.dir, "sample")
	if err := writeAddresses(in, rvas, 0); err != nil {
		return err
	}
	if err := writeAddresses(in+".va", rvas, a.base); err != nil {
		return err
	}
	type frame struct {
		FunctionName string
		Line         int
	}
	var theirs []struct{ Symbol []frame }
	argv := []string{b.llvm, "--output-style=JSON", "--obj=" + image}
	stdin := in + ".va"
	if relative {
		argv, stdin = append(argv, "--relative-address"), in
	}
	err := output(argv, stdin, func(line []byte) error {
		var r struct{ Symbol []frame }
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		theirs = append(theirs, r)
		return nil
	})
	if err != nil {
		return err
	}
	type answer struct {
		Function string
		Aliases  []string
		Line     int
		Inlined  []struct{ Function string }
	}
	i, outers, names, lines, fewer, both, shown := 0, 0, 0, 0, 0, 0, 0
	err = output(b.resolve(file, "--json", "--aliases"), in, func(line []byte) error {
		var r answer
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if i >= len(theirs) {
			return fmt.Errorf("more answers than from %s", b.llvm)
		}
		t := theirs[i].Symbol
		i++
		if r.Function == "" || len(t) == 0 || t[0].FunctionName == "" {
			return nil
		}
		both++
		outer := r.Function
		if n := len(r.Inlined); n > 0 {
			outer = r.Inlined[n-1].Function
		}
		if theirs := t[len(t)-1].FunctionName; same(outer, theirs) || slices.ContainsFunc(r.Aliases, func(a string) bool { return same(a, theirs) }) {
			outers++
		} else if shown++; shown <= 5 {
			fmt.Printf("  differs: %#x %s, %s says %s\n", rvas[i-1], outer, filepath.Base(b.llvm), theirs)
		}
		if len(t) < len(r.Inlined)+1 {
			fewer++
			return nil
		}
		if same(r.Function, t[0].FunctionName) {
			names++
		}
		if r.Line == t[0].Line {
			lines++
		}
		return nil
	})
	if err != nil {
		return err
	}
	part := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	fmt.Printf("  answers of both for %d of %d addresses: %.2f %% in the same function; %s has fewer inlined calls at %d; elsewhere %.2f %% the same innermost function, %.2f %% the same line\n",
		both, len(rvas), part(outers, both), filepath.Base(b.llvm), fewer, part(names, both-fewer), part(lines, both-fewer))
	return nil
}

// spelling brings the ways in which tools write one name together.
var spelling = strings.NewReplacer("`anonymous namespace'", "(anonymous namespace)",
	"class ", "", "struct ", "", "union ", "", "enum ", "", "__ptr64", "", "const ", "", " const", "", " ", "")

// same compares names without parameters, blanks, qualifiers and class
// keywords.
func same(ours, theirs string) bool {
	plain := func(s string) string { return strings.ReplaceAll(spelling.Replace(demangle.Name(s)), " ", "") }
	// The tools number lambdas in different ways; their scopes have to do.
	if scope, _, ok := strings.Cut(ours, "{lambda"); ok {
		if other, _, ok := strings.Cut(theirs, "'lambda"); ok {
			return plain(scope) == plain(other)
		}
	}
	return plain(ours) == plain(theirs) || spelling.Replace(ours) == spelling.Replace(theirs)
}

func output(argv []string, stdin string, line func([]byte) error) error {
	f, err := os.Open(stdin)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = f
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if err := line(sc.Bytes()); err != nil {
			return err
		}
	}
	return sc.Err()
}
