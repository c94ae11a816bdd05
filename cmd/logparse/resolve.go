package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// jsonFrame and jsonAddress are the objects of `resolve --json`; their keys
// are documented in docs/formats.md and stable.
type jsonFrame struct {
	Function string `json:"function"`
	Source   string `json:"source,omitempty"`
	Line     int    `json:"line,omitempty"`
}

type jsonAddress struct {
	Address   string      `json:"address"`
	Function  string      `json:"function,omitempty"`
	Signature string      `json:"signature,omitempty"`
	Source    string      `json:"source,omitempty"`
	Line      int         `json:"line,omitempty"`
	Start     string      `json:"start,omitempty"`
	Size      uint64      `json:"size,omitempty"`
	Aliases   []string    `json:"aliases,omitempty"`
	Inlined   []jsonFrame `json:"inlined,omitempty"`
	Kind      string      `json:"kind,omitempty"`
	Status    string      `json:"status"`
	Error     string      `json:"error,omitempty"`
}

func newResolve() *cobra.Command {
	var image string
	var in app.Inputs
	var isReturn, asJSON, namesOnly, aliases bool
	cmd := &cobra.Command{
		Use:   "resolve --image FILE [ADDRESS...]",
		Short: "Look up addresses of an image by hand",
		Long: `resolve looks up module-relative addresses (RVAs, hexadecimal with or without
0x), from its arguments or one a line from the standard input. FILE is an
image (.exe, .dll, ELF) or a file of symbols itself (.pdb, .debug). It prints
the function, file and line, and the functions that it was inlined into.

An address may be an offset in a section, .text+0x10. Objects and kernel
modules (.o, .ko of ELF) have no others: where several of their sections have
code at an offset, the section must be said.

An address that lies where the image was linked to, as nm and objdump show it
(0x401136 of a program linked to 0x400000), is taken for that: the image's
base is subtracted. In an image larger than its base an address may be either:
it is what leads to code, and of ELF the linked one if both do; +0x1136 is an
RVA in any case.

Linkers fold functions of the same code into one. The others of them ("also")
are listed where that takes no time. A PDB with more than 32 MB of symbols has
to be read as a whole for it, which --aliases does before the first answer.`,
		Example: `  logparse resolve --image app.exe 0x1125 0x2340
  logparse resolve --image app.pdb --json < addresses.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if image == "" {
				return usageError{errors.New("resolve needs --image FILE")}
			}
			img, err := app.OpenImage(cmd.Context(), image, in)
			var wrong *app.InputError
			if errors.As(err, &wrong) && !errors.Is(err, app.ErrTemporary) {
				return hinted{err, "give a PE or ELF image, a .pdb or a .debug file"}
			}
			if err != nil {
				return err
			}
			defer img.Close()
			if aliases {
				if err := img.ReadAliases(); err != nil {
					return err
				}
			}
			r := resolver{img: img, isReturn: isReturn, asJSON: asJSON, namesOnly: namesOnly, out: cmd.OutOrStdout()}
			if b := img.Binding(); b.Table == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "logparse: warning: %s: %s\n", image, b.Reason)
			}
			if len(args) > 0 {
				var block []question
				for _, a := range args {
					q, err := parseAddress(a)
					if err != nil {
						return usageError{err}
					}
					block = append(block, q)
				}
				return r.answer(cmd.Context(), block)
			}
			return r.resolveAll(cmd.Context(), cmd.InOrStdin())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&image, "image", "", "the image or symbol `file`")
	addSymbolFlags(cmd, &in)
	flags.BoolVar(&isReturn, "return", false, "the addresses are return addresses: look up the byte before")
	flags.BoolVar(&namesOnly, "names-only", false, "print only the containing function, without lines and inlined calls")
	flags.BoolVar(&aliases, "aliases", false, "list folded functions of large PDBs too; reads the whole file first")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

type resolver struct {
	img *app.Image

	isReturn, asJSON, namesOnly bool

	out io.Writer
	// texts are what a round of answers is written to, in order.
	texts [][]byte
}

// maxLine bounds a line of the standard input.
const maxLine = 1 << 16

// A question is an address as it was asked, in a section where that was said,
// or a text that is none.
type question struct {
	address uint64
	section string
	// relative says that the address is an RVA, whatever it may also be.
	relative bool
	wrong    string
	// failure says why the address cannot be looked up.
	failure error
}

// text returns the question as it is repeated.
func (q *question) text() string {
	switch {
	case q.wrong != "":
		return q.wrong
	case q.section != "", q.relative:
		return fmt.Sprintf("%s+%#x", q.section, q.address)
	}
	return fmt.Sprintf("%#x", q.address)
}

// reason returns why there is no answer, "" where nothing is known there.
func (q *question) reason() string {
	switch {
	case q.wrong != "":
		return notAnAddress
	case q.failure != nil && !errors.Is(q.failure, app.ErrNoSymbol):
		return q.failure.Error()
	}
	return ""
}

// maxBlock bounds the addresses that are looked up together.
const maxBlock = 1 << 17

// resolveAll answers the lines of the standard input in their order. Addresses
// are looked up together, as many as there are at a time, so that whoever
// waits for an answer gets it.
func (r *resolver) resolveAll(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	var block []question
	wrong, first := 0, 0
	var failure error
	for n := 1; failure == nil; n++ {
		if len(block) == maxBlock || len(block) > 0 && !lineWaits(lines) {
			if err := r.answer(ctx, block); err != nil {
				return err
			}
			block = block[:0]
		}
		var line []byte
		line, failure = readLine(lines)
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		q, err := parseAddress(string(text))
		if err != nil {
			// A line that is no address has an answer of its own, so that
			// answers and lines stay in step.
			q.wrong = string(text)
			if wrong++; wrong == 1 {
				first = n
			}
		}
		block = append(block, q)
	}
	if failure == io.EOF {
		failure = nil
	}
	if err := errors.Join(r.answer(ctx, block), failure); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("standard input: %d lines are no hexadecimal addresses, the first is line %d", wrong, first)
	}
	return nil
}

// lineWaits reports whether a line can be read without waiting for more input.
func lineWaits(in *bufio.Reader) bool {
	b, _ := in.Peek(in.Buffered())
	return bytes.IndexByte(b, '\n') >= 0
}

// readLine reads a line; it is good until the next call.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err == bufio.ErrBufferFull || len(line) > maxLine {
		return nil, bufio.ErrTooLong
	}
	return line, err
}

func parseAddress(text string) (question, error) {
	section, digits := "", text
	relative := strings.HasPrefix(text, "+")
	if relative {
		digits = text[1:]
	}
	if i := strings.LastIndexByte(text, '+'); i > 0 {
		section, digits = text[:i], text[i+1:]
	}
	address, err := parseHex(digits)
	if err != nil {
		return question{}, fmt.Errorf("%q is not a hexadecimal address, such as 0x1125", text)
	}
	return question{address: address, section: section, relative: relative}, nil
}

// parseHex reads a hexadecimal number, with or without 0x.
func parseHex(text string) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
}

// What is formatted between two writes: so many texts of so many answers each.
const (
	answersAText = 256
	textsARound  = 32
)

// answer looks addresses up and prints what is known of them.
func (r *resolver) answer(ctx context.Context, block []question) error {
	rvas := make([]uint64, 0, len(block))
	for i := range block {
		q := &block[i]
		look := q.address
		if r.isReturn {
			look--
		}
		if q.wrong != "" {
			continue
		}
		rva, err := look, error(nil)
		if !q.relative {
			rva, err = r.img.Place(q.section, look)
		}
		if q.failure = err; err == nil {
			rvas = append(rvas, rva)
		}
	}
	type answer struct {
		sym app.Symbol
		err error
	}
	answers := make([]answer, len(rvas))
	lookup := r.img.LookupAll
	if r.namesOnly {
		lookup = r.img.NamesAll
	}
	err := lookup(ctx, rvas, func(i int, sym app.Symbol, err error) { answers[i] = answer{sym, err} })
	if err != nil {
		return err
	}
	next := 0
	order := make([]int, len(block))
	for i, q := range block {
		order[i] = -1
		if q.wrong == "" && q.failure == nil {
			order[i] = next
			next++
		}
	}
	if r.texts == nil {
		r.texts = make([][]byte, textsARound)
	}
	for from := 0; from < len(block); from += answersAText * textsARound {
		rest := block[from:min(from+answersAText*textsARound, len(block))]
		texts := r.texts[:(len(rest)+answersAText-1)/answersAText]
		var next atomic.Int64
		format := func() {
			var ahead byte
			for n := int(next.Add(1)) - 1; n < len(texts); n = int(next.Add(1)) - 1 {
				text := texts[n][:0]
				for i := n * answersAText; i < min(len(rest), (n+1)*answersAText); i++ {
					if next := from + i + 1; next < len(order) && order[next] >= 0 {
						ahead += touch(&answers[order[next]].sym)
					}
					if k := order[from+i]; k >= 0 {
						text = r.append(text, rest[i], &answers[k].sym, answers[k].err)
					} else {
						text = r.append(text, rest[i], nil, nil)
					}
				}
				texts[n] = text
			}
			runtime.KeepAlive(ahead)
		}
		var others sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), len(texts)) - 1 {
			others.Add(1)
			go func() {
				defer others.Done()
				format()
			}()
		}
		format()
		others.Wait()
		for _, text := range texts {
			if _, err := r.out.Write(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// touch reads the beginnings of a symbol's names. Those of many random addresses are in no cache: the processor
// fetches all of an answer's at once while it writes the answer before, and not one after another.
func touch(sym *app.Symbol) (ahead byte) {
	for i := range sym.Frames {
		if name := sym.Frames[i].Function; name != "" {
			ahead += name[0]
		}
	}
	return ahead
}

// append appends the answer to a question.
func (r *resolver) append(b []byte, q question, sym *app.Symbol, err error) []byte {
	if !r.asJSON {
		return appendText(b, q, sym, err)
	}
	a := jsonAddress{Address: q.text(), Status: string(r.img.Binding().Status)}
	switch {
	case sym == nil:
		a.Error = q.reason()
	case err == nil:
		a.setSymbol(sym, r.img.Offset(sym.Start))
	case !errors.Is(err, app.ErrNoSymbol):
		a.Error = err.Error()
	}
	out := bytes.NewBuffer(b)
	// The object has nothing that cannot be encoded.
	_ = printJSON(out, a)
	return out.Bytes()
}

// setSymbol sets what a symbol tells, whose part begins at start.
func (a *jsonAddress) setSymbol(sym *app.Symbol, start uint64) {
	top := sym.Frames[0]
	a.Function, a.Signature, a.Source, a.Line = top.Function, top.Signature, top.File, top.Line
	a.Start, a.Size, a.Aliases, a.Kind = fmt.Sprintf("%#x", start), sym.Size, sym.Aliases, string(sym.Kind)
	for _, f := range sym.Frames[1:] {
		a.Inlined = append(a.Inlined, jsonFrame{f.Function, f.File, f.Line})
	}
}

const notAnAddress = "not a hexadecimal address"

func appendText(b []byte, q question, sym *app.Symbol, err error) []byte {
	if sym == nil && q.reason() != "" {
		return fmt.Appendf(b, "%s  ?? (%s)\n", rows.Visible(q.text()), rows.Visible(q.reason()))
	}
	start := len(b)
	if q.section != "" {
		b = append(append(b, rows.Visible(q.section)...), '+')
	}
	b = append(b, "0x"...)
	b = strconv.AppendUint(b, q.address, 16)
	indent := len(b) - start
	b = append(b, "  "...)
	if sym == nil || err != nil {
		b = append(b, "??"...)
		if err != nil && !errors.Is(err, app.ErrNoSymbol) {
			b = append(append(append(b, " ("...), rows.Visible(err.Error())...), ')')
		}
		return append(b, '\n')
	}
	for i := range sym.Frames {
		f := &sym.Frames[i]
		name, file := f.Function, f.File
		if i == 0 && f.Signature != "" {
			name = f.Signature
		}
		if !sym.Printable {
			name, file = rows.Visible(name), rows.Visible(file)
		}
		if i > 0 {
			b = append(appendBlanks(b, indent), "  inlined into "...)
		} else if name == "" {
			name = "??"
		}
		b = append(appendVisiblePlace(append(b, name...), "  ", file, f.Line), '\n')
	}
	for _, alias := range sym.Aliases {
		b = append(append(append(appendBlanks(b, indent), "  also "...), rows.Visible(alias)...), '\n')
	}
	return b
}

func appendBlanks(b []byte, n int) []byte {
	const blanks = "                    "
	return append(b, blanks[:min(n, len(blanks))]...)
}

// appendVisiblePlace writes a source position behind a name and what stands between them. Nothing of the file's path has to be
// replaced to be printed.
func appendVisiblePlace(b []byte, between, file string, line int) []byte {
	if file == "" {
		return b
	}
	b = append(append(b, between...), file...)
	if line == 0 {
		return b
	}
	return strconv.AppendInt(append(b, ':'), int64(line), 10)
}
