package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
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
	var isReturn, asJSON bool
	cmd := &cobra.Command{
		Use:   "resolve --image FILE [ADDRESS...]",
		Short: "Look up addresses of an image by hand",
		Long: `resolve looks up module-relative addresses (RVAs, hexadecimal with or without
0x), from its arguments or one a line from the standard input. FILE is an
image (.exe, .dll, ELF) or a file of symbols itself (.pdb, .debug). It prints
the function, file and line, and the functions that it was inlined into.

An address that lies where the image was linked to, as nm and objdump show it
(0x401136 of a program linked to 0x400000), is taken for that: the image's
base is subtracted.`,
		Example: `  logparse resolve --image app.exe 0x1125 0x2340
  logparse resolve --image app.pdb --json < addresses.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if image == "" {
				return usageError{errors.New("resolve needs --image FILE")}
			}
			img, err := app.OpenImage(cmd.Context(), image, in)
			if err != nil {
				return err
			}
			defer img.Close()
			r := resolver{img: img, isReturn: isReturn, asJSON: asJSON, out: bufio.NewWriter(cmd.OutOrStdout())}
			if b := img.Binding(); b.Table == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "logparse: warning: %s: %s\n", image, b.Reason)
			}
			if len(args) > 0 {
				for _, a := range args {
					if err := r.resolve(a); err != nil {
						return usageError{err}
					}
				}
				return r.out.Flush()
			}
			return r.resolveAll(cmd.InOrStdin())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&image, "image", "", "the image or symbol `file`")
	addSymbolFlags(cmd, &in)
	flags.BoolVar(&isReturn, "return", false, "the addresses are return addresses: look up the byte before")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

type resolver struct {
	img              *app.Image
	isReturn, asJSON bool
	out              *bufio.Writer
}

// maxLine bounds a line of the standard input.
const maxLine = 1 << 16

func (r *resolver) resolveAll(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	wrong, first := 0, 0
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		// A line that is no address has an answer of its own, so that answers
		// and lines stay in step.
		if err := r.resolve(text); err != nil {
			if wrong++; wrong == 1 {
				first = n
			}
			if err := r.put(jsonAddress{Address: text, Status: string(r.img.Binding().Status), Error: "not a hexadecimal address"}); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(lines.Err(), r.out.Flush()); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("standard input: %d lines are no hexadecimal addresses, the first is line %d", wrong, first)
	}
	return nil
}

// resolve prints what is known of one address.
func (r *resolver) resolve(text string) error {
	rva, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
	if err != nil {
		return fmt.Errorf("%q is not a hexadecimal address", text)
	}
	look := rva
	if r.isReturn {
		look--
	}
	a := jsonAddress{Address: fmt.Sprintf("%#x", rva), Status: string(r.img.Binding().Status)}
	sym, err := r.img.Lookup(r.img.RVA(look))
	switch {
	case err == nil:
		top := sym.Frames[0]
		a.Function, a.Signature, a.Source, a.Line = top.Function, top.Signature, top.File, top.Line
		a.Start, a.Size, a.Aliases, a.Kind = fmt.Sprintf("%#x", sym.Start), sym.Size, sym.Aliases, string(sym.Kind)
		for _, f := range sym.Frames[1:] {
			a.Inlined = append(a.Inlined, jsonFrame{f.Function, f.File, f.Line})
		}
	case !errors.Is(err, app.ErrNoSymbol):
		a.Error = err.Error()
	}
	return r.put(a)
}

// put prints an answer.
func (r *resolver) put(a jsonAddress) error {
	if r.asJSON {
		encode := json.NewEncoder(r.out)
		encode.SetEscapeHTML(false)
		return encode.Encode(a)
	}
	return r.print(a)
}

func (r *resolver) print(a jsonAddress) error {
	name := a.Signature
	if name == "" {
		name = a.Function
	}
	switch {
	case a.Error != "":
		name = "?? (" + a.Error + ")"
	case name == "":
		name = "??"
	}
	fmt.Fprintf(r.out, "%s  %s%s\n", a.Address, name, place(a.Source, a.Line))
	for _, f := range a.Inlined {
		fmt.Fprintf(r.out, "%*s  inlined into %s%s\n", len(a.Address), "", f.Function, place(f.Source, f.Line))
	}
	for _, alias := range a.Aliases {
		_, err := fmt.Fprintf(r.out, "%*s  also %s\n", len(a.Address), "", alias)
		if err != nil {
			return err
		}
	}
	return nil
}

// place writes a source position behind a name.
func place(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return "  " + file
	}
	return fmt.Sprintf("  %s:%d", file, line)
}
