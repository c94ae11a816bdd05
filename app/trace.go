package app

import (
	"context"
	"errors"
	"io"
	"os"

	"logparser/export"
	"logparser/parser/trace"
	"logparser/parser/trace/tracetext"
)

// DumpTrace writes a trace as text that says all that is in its file.
func DumpTrace(ctx context.Context, path string, w io.Writer) error {
	if err := isRegular(path); err != nil {
		return &InputError{path, unwrapPath(err), ""}
	}
	f, err := os.Open(path)
	if err != nil {
		return &InputError{path, unwrapPath(err), ""}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return &InputError{path, unwrapPath(err), ""}
	}
	var head [64]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return &InputError{path, unwrapPath(err), ""}
	}
	if trace.Detect(head[:n], st.Size()) == 0 {
		return &InputError{path, trace.ErrNotTrace, "give a .lptrace file"}
	}
	return tracetext.Dump(ctx, w, f, st.Size())
}

// LoadTrace makes a trace of the text that DumpTrace writes, or that was
// written by hand. The file is written whole or not at all.
func LoadTrace(ctx context.Context, text, path string) error {
	f, err := os.Open(text)
	if err != nil {
		return &InputError{text, unwrapPath(err), ""}
	}
	defer f.Close()
	b, err := tracetext.Load(f)
	if err != nil {
		return &InputError{text, err, ""}
	}
	if info, err := f.Stat(); err == nil {
		if target, err := os.Stat(path); err == nil && os.SameFile(info, target) {
			return &InputError{path, errors.New("it is the text itself"), "save under another name"}
		}
	}
	return export.WriteFile(ctx, path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
