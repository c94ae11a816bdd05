package app

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"

	"logparser/export"
	"logparser/parser/trace"
	"logparser/parser/trace/tracetext"
)

// DumpTrace writes a trace as text that says all that is in its file.
func DumpTrace(ctx context.Context, path string, w io.Writer) error {
	if err := isRegular(path); err != nil {
		return &InputError{OtherInput, path, unwrapPath(err)}
	}
	f, st, err := openInput(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [64]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return &InputError{OtherInput, path, unwrapPath(err)}
	}
	if trace.Detect(head[:n], st.Size()) == 0 {
		return &InputError{LogInput, path, ErrNotTrace}
	}
	return tracetext.Dump(ctx, w, f, st.Size())
}

// LoadTrace makes a trace of the text that DumpTrace writes, or that was
// written by hand. The file is written whole or not at all; another file of that
// name is left and the error is an [*InputError], unless replace is set.
func LoadTrace(ctx context.Context, text, path string, replace bool) error {
	// A pipe is as good as a file.
	if info, err := os.Stat(text); err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 {
		return &InputError{OtherInput, text, isRegular(text)}
	}
	f, err := os.Open(text)
	if err != nil {
		return &InputError{OtherInput, text, unwrapPath(err)}
	}
	defer f.Close()
	b, err := tracetext.Load(f)
	if err != nil {
		return &InputError{OtherInput, text, err}
	}
	if target, err := os.Stat(path); err == nil {
		if info, err := f.Stat(); err == nil && os.SameFile(info, target) {
			return &InputError{OtherInput, path, ErrIsInput}
		}
		if target.Mode().IsRegular() && !replace {
			if target.Size() == int64(len(b)) {
				if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, b) {
					return nil
				}
			}
			return &InputError{OtherInput, path, ErrOtherFile}
		}
	}
	return export.WriteFile(ctx, path, 0, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
