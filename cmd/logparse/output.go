package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"logparser/message"
	"logparser/rows"
)

// messages is the standard error: each write is one message of one line. What a
// terminal would act upon is replaced in it, whichever file it came from. The file that the standard
// input is kept in is called that.
type messages struct{ w io.Writer }

func (m *messages) Write(p []byte) (int, error) {
	text, end := strings.CutSuffix(string(p), "\n")
	if path := spooled.Load(); path != nil {
		text = strings.ReplaceAll(text, *path, spooledName)
	}
	shown := rows.Visible(text)
	if end {
		shown += "\n"
	}
	if _, err := io.WriteString(m.w, shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// terminalOutput returns the standard output, and what to do at the end. What is
// printed on a terminal is made visible, in whatever format it is.
func terminalOutput(out io.Writer) (io.Writer, func() error) {
	if !rows.IsTerminal(out) {
		return out, func() error { return nil }
	}
	shown := rows.NewVisibleWriter(out)
	return shown, shown.Flush
}

// sayError writes an error as a message; of errors that were joined, a message
// each. One that wraps several in a sentence of its own is one.
func sayError(errs io.Writer, err error) {
	_, sentence := err.(interface{ Message() message.Text })
	if list, ok := err.(interface{ Unwrap() []error }); ok && !sentence {
		for _, e := range list.Unwrap() {
			sayError(errs, e)
		}
		return
	}
	fmt.Fprintln(errs, "logparse:", hint(err))
}

// printJSON writes an object as a line.
func printJSON(w io.Writer, object any) error {
	var b bytes.Buffer
	encode := json.NewEncoder(&b)
	encode.SetEscapeHTML(false)
	if err := encode.Encode(object); err != nil {
		return err
	}
	_, err := w.Write(rows.VisibleJSON(b.Bytes()))
	return err
}
