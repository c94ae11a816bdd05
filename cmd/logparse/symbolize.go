package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// A jsonReference is an object of `symbolize --json`; its keys are documented in
// docs/formats.md and stable.
type jsonReference struct {
	TextLine   int    `json:"text_line"`
	TextColumn int    `json:"text_column"`
	Text       string `json:"text"`
	Rule       string `json:"rule"`
	Module     string `json:"module,omitempty"`
	SymbolFile string `json:"symbol_file,omitempty"`
	jsonAddress
}

func newSymbolize() *cobra.Command {
	var in app.Inputs
	var images []string
	var maps string
	var asJSON, follow bool
	cmd := &cobra.Command{
		Use:   "symbolize [FILE]",
		Short: "Add names to the addresses in any text",
		Long: `symbolize copies a text, a file or the standard input, and adds to each line
the names of the addresses in it: function, file, line and the functions that it
was inlined into. Lines are never changed or left out.

It knows backtraces of glibc, gdb, Go, Rust, perf, WinDbg and systemd, reports of
sanitizers, Valgrind, Android, macOS and Java, what the kernel says of faults,
LLVM's symbolizer markup, Breakpad's microdumps, the events of Windows, and
addresses with 0x in any other text. Each has its own rule for return addresses, whose call lies before
them: docs/symbolize.md.

Where modules lay in memory is taken from the text, if it has /proc/PID/maps,
markup or lists of modules; from --maps FILE, a copy of the maps that lies
beside the text, or --maps PID of a process that still runs; or from
--image FILE@BASE. Without any, an --image stands for the addresses that it is
linked to.

A program that the text names without its folder, such as ./app, is looked for
where the text says that it ran, below the current folder, in PATH, and among
what was recorded here. Its names are marked [unverified], unless the text has
its build-id.`,
		Example: `  ./app 2>&1 | logparse symbolize
  logparse symbolize crash.txt --image build/app --symbols build
  logparse symbolize addresses.txt --maps maps.txt
  logparse symbolize trace.txt --image app.exe@0x7ff612340000 --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := givenImages(images)
			if err != nil {
				return usageError{err}
			}
			if follow && (len(args) == 0 || args[0] == "-") {
				return usageError{errors.New("--follow needs a FILE")}
			}
			text := cmd.InOrStdin()
			if len(args) > 0 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				if text = f; follow {
					text = &growing{ctx: cmd.Context(), f: f}
				}
			}
			s, err := app.NewSymbolizer(cmd.Context(), in, given)
			if err != nil {
				return err
			}
			defer s.Close()
			if maps != "" {
				if err := takeMaps(s, maps); err != nil {
					return err
				}
			}
			w := symbolizing{s: s, out: bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16), asJSON: asJSON}
			err = w.run(cmd.Context(), text)
			for _, m := range s.Unresolved() {
				fmt.Fprintf(cmd.ErrOrStderr(), "logparse: %s: %s\n", rows.Visible(m.Path), m.Reason)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&images, "image", nil, "an image of the program, `FILE` or FILE@BASE (repeatable)")
	flags.StringVar(&maps, "maps", "", "where modules lay: `FILE`, a copy of /proc/PID/maps, or the PID of a process")
	addSymbolFlags(cmd, &in)
	flags.BoolVar(&follow, "follow", false, "go on when FILE grows, until interrupted")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object for each address instead of the text")
	return cmd
}

// takeMaps takes the mappings of a file, or of a process.
func takeMaps(s *app.Symbolizer, name string) error {
	path := name
	if _, err := strconv.ParseUint(name, 10, 31); err == nil {
		if _, err := os.Stat(name); err != nil {
			path = filepath.Join("/proc", name, "maps")
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--maps: %w", err)
	}
	defer f.Close()
	n, err := s.TakeMaps(f)
	if err != nil {
		return fmt.Errorf("--maps %s: %w", name, err)
	}
	if n == 0 {
		return fmt.Errorf("--maps %s: no line of it tells where a file lay in memory; it should be a copy of /proc/PID/maps", name)
	}
	return nil
}

// givenImages reads FILE and FILE@BASE.
func givenImages(list []string) (given []app.NamedImage, err error) {
	for _, text := range list {
		g := app.NamedImage{File: text}
		if i := strings.LastIndexByte(text, '@'); i > 0 {
			if base, err := parseHex(text[i+1:]); err == nil {
				g.File, g.Base, g.HasBase = text[:i], base, true
			} else if strings.HasPrefix(strings.ToLower(text[i+1:]), "0x") {
				return nil, fmt.Errorf("--image %s: %q is not a hexadecimal address", text, text[i+1:])
			}
		}
		given = append(given, g)
	}
	return given, nil
}

// symbolizing copies a text with names added.
type symbolizing struct {
	s      *app.Symbolizer
	out    *bufio.Writer
	asJSON bool
	number int // of the line
}

// longest is the longest line that is looked at, in bytes; longer ones are copied.
const longest = 1 << 20

func (w *symbolizing) run(ctx context.Context, text io.Reader) (err error) {
	in := bufio.NewReaderSize(text, longest)
	if in, err = w.takeReport(in); err != nil {
		return err
	}
	whole := true // the next piece begins a line
	for {
		if !lineWaits(in) {
			// Whoever waits for the names of a line that is there gets them.
			if err := w.out.Flush(); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		piece, err := in.ReadSlice('\n')
		ended := err == nil || err == io.EOF
		if whole && ended && len(piece) > 0 {
			if err := w.line(ctx, piece); err != nil {
				return err
			}
		} else if !w.asJSON {
			if _, err := w.out.Write(piece); err != nil {
				return err
			}
		}
		whole = err == nil
		switch err {
		case nil, bufio.ErrBufferFull:
		case io.EOF:
			return w.out.Flush()
		default:
			return errors.Join(w.out.Flush(), err)
		}
	}
}

// takeReport looks at the whole of a report whose addresses cannot be named before its end is there, and
// returns a reader of it.
func (w *symbolizing) takeReport(in *bufio.Reader) (*bufio.Reader, error) {
	if b, err := in.Peek(1); err != nil || b[0] != '{' {
		return in, nil
	}
	head, err := in.ReadSlice('\n')
	report := bytes.Clone(head)
	if err == nil && app.IsWholeReport(report) {
		rest, err := io.ReadAll(io.LimitReader(in, app.MaxWholeReport))
		if report = append(report, rest...); err != nil {
			return nil, err
		}
		w.s.TakeReport(report)
	}
	return bufio.NewReaderSize(io.MultiReader(bytes.NewReader(report), in), longest), nil
}

// line writes a line with what is known of its addresses.
func (w *symbolizing) line(ctx context.Context, line []byte) error {
	w.number++
	text := bytes.TrimRight(line, "\r\n")
	list, err := w.s.Line(ctx, text)
	if err != nil {
		return err
	}
	if len(list) == 0 && !w.asJSON {
		_, err := w.out.Write(line)
		return err
	}
	named := app.NamedLine{Text: string(text), References: list}
	if w.asJSON {
		return w.objects(named.Text, list)
	}
	b := named.AppendNames(append(w.out.AvailableBuffer(), text...))
	_, err = w.out.Write(append(b, line[len(text):]...))
	return err
}

// objects writes an object for each address.
func (w *symbolizing) objects(line string, list []app.TextReference) error {
	for i := range list {
		f := &list[i]
		o := jsonReference{TextLine: w.number, TextColumn: f.Start + 1, Text: line[f.Start:f.End], Rule: f.Kind.String(), Module: f.Module}
		if s := f.Symbol; s != nil {
			o.SymbolFile, o.Status, o.Address = s.File, string(s.Status), fmt.Sprintf("%#x", s.RVA)
			o.setSymbol(&s.Symbol, s.Symbol.Start)
		} else if f.OtherBuild != "" {
			o.SymbolFile, o.Status = f.OtherBuild, "mismatched"
		}
		// The object has nothing that cannot be encoded.
		if err := printJSON(w.out, o); err != nil {
			return err
		}
	}
	return nil
}

// growing reads a file that grows.
type growing struct {
	ctx context.Context
	f   *os.File
}

// Read waits at the end of the file for more.
func (g *growing) Read(p []byte) (int, error) {
	const pause = 100 * time.Millisecond
	for {
		n, err := g.f.Read(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		select {
		case <-g.ctx.Done():
			return 0, g.ctx.Err()
		case <-time.After(pause):
		}
	}
}
