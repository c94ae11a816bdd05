// Package symtest reads the expected tables that symbol readers are tested
// against, and says when two names mean the same function. Only tests import
// it.
//
// Its input is Breakpad's text format for symbols, as dump_syms writes it: one
// record a line, the first word names its kind.
//
//	MODULE os arch id name
//	FILE number path
//	INLINE_ORIGIN number name
//	FUNC [m] address size parameter-bytes name
//	INLINE depth call-line call-file origin [address size]...
//	address size line file
//	PUBLIC [m] address parameter-bytes name
//
// Addresses, sizes and parameter bytes are hexadecimal, lines and numbers of
// files and origins decimal. Addresses are RVAs. INFO and STACK records are
// passed over.
//
// [Compare] holds a reader against such a table. The rule that conformance is
// judged by:
//
//   - The name is the outermost frame's, that of the procedure that contains
//     the address: tables of PDB files know no inlined calls. An alias, which
//     is another function that the linker folded onto the same address,
//     counts as well.
//   - Names are compared without storage class, access, return type, calling
//     convention in front, class keywords and blanks (see [Plain]).
//     Parameters are compared where table and reader both have them, without
//     class keywords and blanks, with const behind the type it qualifies (see
//     [Parameters]).
//   - A line row agrees if its file and line are answered at every byte of
//     it: of the innermost frame where the table lists inlined calls, of the
//     outermost, which has the call's line, where it does not.
//   - A size agrees if the contiguous piece of the function begins and ends
//     where the table's row does. Programs that OMAP has rearranged are
//     compared piece by piece.
//   - Whatever else differs needs a cause. The test beside each reader names
//     the causes that it accepts and recognises each by something in the
//     file; a difference that none of them fits fails the test.
package symtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A Table is a .sym file.
type Table struct {
	// OS, Arch, ID and Name are the fields of the MODULE record.
	OS, Arch, ID, Name string
	Funcs              []Func
	Publics            []Public
}

// A Func is a FUNC record with what belongs to it.
type Func struct {
	// Multiple says that the writer knew of other names for this address.
	Multiple      bool
	Address, Size uint64
	Name          string
	Lines         []Line
	Inlines       []Inline
}

// A Line is a line row: Size bytes from Address were made from Line of File.
type Line struct {
	Address, Size uint64
	File          string
	Line          int
}

// An Inline is an inlined call: its body's ranges, and where it was called.
// Depth is 0 for calls made by the function itself.
type Inline struct {
	Depth    int
	CallLine int
	CallFile string
	Origin   string
	Ranges   []Range
}

// A Range is Size bytes from Address.
type Range struct{ Address, Size uint64 }

// A Public is a PUBLIC record: a name without a size.
type Public struct {
	Multiple bool
	Address  uint64
	Name     string
}

// Path returns the path of a file of the conformance data, given relative to
// its folder. The test is skipped where the file is absent.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("symtest: no go.mod above the test's folder")
		}
		dir = parent
	}
	path := filepath.Join(append([]string{dir, "..", "shared", "data"}, elem...)...)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("conformance data absent: %s", filepath.Join(elem...))
	}
	return path
}

// Load reads a table of the conformance data, given relative to its folder.
// The test is skipped where the file is absent.
func Load(t testing.TB, elem ...string) *Table {
	t.Helper()
	f, err := os.Open(Path(t, elem...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Parse reads a .sym file.
func Parse(r io.Reader) (*Table, error) {
	t := &Table{}
	files := map[int]string{}
	origins := map[int]string{}
	type inlineRef struct{ fn, inline, file, origin int }
	var refs []inlineRef
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSuffix(scan.Text(), "\r")
		p := fields{rest: line}
		switch kind := p.word(); kind {
		case "", "INFO", "STACK":
		case "MODULE":
			t.OS, t.Arch, t.ID, t.Name = p.word(), p.word(), p.word(), p.rest
		case "FILE":
			num := p.dec()
			files[num] = p.rest
		case "INLINE_ORIGIN":
			num := p.dec()
			origins[num] = p.rest
		case "FUNC":
			f := Func{Multiple: p.multiple(), Address: p.hex(), Size: p.hex()}
			p.hex()
			f.Name = p.rest
			t.Funcs = append(t.Funcs, f)
		case "PUBLIC":
			f := Public{Multiple: p.multiple(), Address: p.hex()}
			p.hex()
			f.Name = p.rest
			t.Publics = append(t.Publics, f)
		case "INLINE":
			if len(t.Funcs) == 0 {
				return nil, fmt.Errorf("symtest: line %d: INLINE before any FUNC", n)
			}
			in := Inline{Depth: p.dec(), CallLine: p.dec()}
			ref := inlineRef{fn: len(t.Funcs) - 1, file: p.dec(), origin: p.dec()}
			for p.rest != "" {
				in.Ranges = append(in.Ranges, Range{p.hex(), p.hex()})
			}
			f := &t.Funcs[ref.fn]
			ref.inline = len(f.Inlines)
			f.Inlines = append(f.Inlines, in)
			refs = append(refs, ref)
		default:
			if len(t.Funcs) == 0 {
				return nil, fmt.Errorf("symtest: line %d: unknown record %q", n, kind)
			}
			p = fields{rest: line}
			l := Line{Address: p.hex(), Size: p.hex(), Line: p.dec()}
			l.File = files[p.dec()]
			f := &t.Funcs[len(t.Funcs)-1]
			f.Lines = append(f.Lines, l)
		}
		if p.err != nil {
			return nil, fmt.Errorf("symtest: line %d: %w", n, p.err)
		}
	}
	for _, r := range refs {
		in := &t.Funcs[r.fn].Inlines[r.inline]
		in.CallFile, in.Origin = files[r.file], origins[r.origin]
	}
	return t, scan.Err()
}

// fields cuts a line into words.
type fields struct {
	rest string
	err  error
}

func (p *fields) word() string {
	w, rest, _ := strings.Cut(p.rest, " ")
	p.rest = rest
	return w
}

func (p *fields) multiple() bool {
	if strings.HasPrefix(p.rest, "m ") {
		p.word()
		return true
	}
	return false
}

func (p *fields) hex() uint64 {
	v, err := strconv.ParseUint(p.word(), 16, 64)
	if err != nil && p.err == nil {
		p.err = err
	}
	return v
}

func (p *fields) dec() int {
	v, err := strconv.Atoi(p.word())
	if err != nil && p.err == nil {
		p.err = err
	}
	return v
}
