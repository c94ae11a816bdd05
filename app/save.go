package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"logparser/export"
	"logparser/rows"
)

// SaveOptions are the user's choices for a saved file.
type SaveOptions = export.Options

// Save writes all rows in the named format (see [SaveFormats]) to a file,
// whole or not at all. It loads first if Load has not ended. opt.Header and
// opt.Progress are filled in.
func (s *Session) Save(ctx context.Context, path, format string, opt SaveOptions, p Progress) error {
	write, err := s.writer(ctx, format, &opt, p)
	if err != nil {
		return err
	}
	if err := s.checkTarget(path); err != nil {
		return err
	}
	return export.WriteFile(ctx, path, write)
}

// ErrIsInput says that a file to be saved is one that the session reads.
var ErrIsInput = errors.New("it is one of the files that are being read")

// checkTarget refuses to save over the session's own inputs.
func (s *Session) checkTarget(path string) error {
	target, err := os.Stat(path)
	if err != nil {
		return nil
	}
	in := s.Inputs()
	files := []string{in.Log, in.Modules}
	for _, m := range s.Modules() {
		files = append(files, m.SymbolFile)
	}
	for _, f := range files {
		if info, err := os.Stat(f); f != "" && err == nil && os.SameFile(info, target) {
			return &InputError{path, ErrIsInput, "save under another name"}
		}
	}
	return nil
}

// Write is Save to an open writer.
func (s *Session) Write(ctx context.Context, w io.Writer, format string, opt SaveOptions, p Progress) error {
	write, err := s.writer(ctx, format, &opt, p)
	if err != nil {
		return err
	}
	return write(w)
}

// writer waits for the names and returns the function that writes the rows.
func (s *Session) writer(ctx context.Context, format string, opt *SaveOptions, p Progress) (func(io.Writer) error, error) {
	for _, f := range export.Formats() {
		if f.Name != format {
			continue
		}
		if err := s.Load(ctx, p); err != nil {
			return nil, err
		}
		opt.Header, opt.Progress = s.Header(), p.of(StageSave)
		return func(w io.Writer) error { return f.Write(ctx, w, s.Rows(), *opt) }, nil
	}
	return nil, fmt.Errorf("no format is called %q", format)
}

// Header returns the head of saved files. It names files by their base names,
// so that it is the same on every system.
func (s *Session) Header() rows.Header {
	in, info := s.Inputs(), s.Info()
	h := rows.Header{Log: filepath.Base(in.Log), Format: info.Format}
	if info.RecordSize > 0 {
		h.Format += fmt.Sprintf(", %d-byte records", info.RecordSize)
	}
	if in.Modules != "" {
		h.Modules = filepath.Base(in.Modules)
	}
	if in.Corrected {
		h.Lines = append(h.Lines, "durations are corrected: the recorder's own time is taken off, by its own measure")
	}
	for _, w := range s.Warnings() {
		h.Lines = append(h.Lines, w.String())
	}
	for _, m := range s.Modules() {
		image := rows.Image{Name: m.Name, Base: m.Base, Size: m.Size, Identity: m.Identity, Status: string(m.Status)}
		if m.SymbolFile != "" {
			image.SymbolFile = filepath.Base(m.SymbolFile)
		}
		h.Images = append(h.Images, image)
	}
	return h
}
