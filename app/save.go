package app

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"logparser/export"
	"logparser/message"
	"logparser/rows"
	"logparser/wholefile"
)

// SaveOptions are the user's choices for a saved file.
type SaveOptions = export.Options

// SaveLimits are where another file is begun.
type SaveLimits = export.Limits

// ParseWeight returns what folded stacks are to count, by its word.
func ParseWeight(s string) (export.Weight, bool) { return export.ParseWeight(s) }

// Save writes all rows in the named format (see [SaveFormats]) to a file,
// whole or not at all, or to several where they are more than the format's
// readers take (see [export.Save]). It loads first if Load has not ended.
// opt.Header, opt.Progress and opt.Runs are filled in.
func (s *Session) Save(ctx context.Context, path, format string, opt SaveOptions, p Progress) error {
	_, err := s.SaveRows(ctx, path, format, s.Rows(), opt, p)
	return err
}

// SaveRows is Save of a part of the rows: src is a source over those of the
// session. It returns the paths that were written.
func (s *Session) SaveRows(ctx context.Context, path, format string, src rows.Source, opt SaveOptions, p Progress) ([]string, error) {
	f, err := s.prepare(ctx, format, &opt, p)
	if err != nil {
		return nil, err
	}
	opt.Header.Lines = append(opt.Header.Lines, headLines(src)...)
	opt.Annotations = s.savedAnnotations(src, opt.From)
	if err := s.checkTarget(path); err != nil {
		return nil, err
	}
	opt.Mode = s.outputMode()
	return export.Save(ctx, path, f, src, opt)
}

// outputMode returns the permissions of a new file with what the logs have: it is for nobody who may not read them.
func (s *Session) outputMode() fs.FileMode {
	in := s.Inputs()
	return readersOf(in.Logs()...)
}

// readersOf returns the permissions of a new file that only those may read who may read the files it is made of.
func readersOf(paths ...string) fs.FileMode {
	mode := fs.FileMode(0o666)
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			mode &= info.Mode().Perm() | 0o600 | info.Mode().Perm()>>1&0o022
		}
	}
	return mode
}

// RemoveUnfinished removes what saves that are under way have written, and the files
// of packed logs that are open, for a process that is about to end at once.
func RemoveUnfinished() {
	export.RemoveUnfinished()
	removeUnpacked()
}

// TemporaryFolder makes a folder for a process's own files, and removes those of processes that were killed.
func TemporaryFolder(name string) (string, error) { return wholefile.TemporaryFolder(name) }

// RemoveTemporary removes such a folder.
func RemoveTemporary(dir string) { wholefile.RemoveTemporary(dir) }

// ErrIsInput says that a file to be saved is one that the session reads.
var ErrIsInput = message.New("it is one of the files that are being read")

// checkTarget refuses to save over the session's own inputs.
func (s *Session) checkTarget(path string) error {
	target, err := os.Stat(path)
	if err != nil {
		return nil
	}
	in := s.Inputs()
	files := append(in.Logs(), in.Modules)
	for _, m := range s.Modules() {
		files = append(files, m.SymbolFile)
	}
	for _, f := range files {
		if info, err := os.Stat(f); f != "" && err == nil && os.SameFile(info, target) {
			return &InputError{OtherInput, path, ErrIsInput}
		}
	}
	return nil
}

// Write is Save to an open writer, undivided.
func (s *Session) Write(ctx context.Context, w io.Writer, format string, opt SaveOptions, p Progress) error {
	return s.WriteRows(ctx, w, format, s.Rows(), opt, p)
}

// WriteRows is SaveRows to an open writer, undivided.
func (s *Session) WriteRows(ctx context.Context, w io.Writer, format string, src rows.Source, opt SaveOptions, p Progress) error {
	f, err := s.prepare(ctx, format, &opt, p)
	if err != nil {
		return err
	}
	opt.Header.Lines = append(opt.Header.Lines, headLines(src)...)
	opt.Annotations = s.savedAnnotations(src, opt.From)
	return f.Write(ctx, w, src, opt)
}

// ErrRecordedTimes says that a format has no place for corrected durations.
var ErrRecordedTimes = message.New("this format has the times that were recorded, no corrected durations")

// CorrectedFormats returns the names of the formats that have one.
func CorrectedFormats() []string {
	return formatsThat(func(f *export.Format) bool { return !f.RecordedTimes })
}

// CheckCorrected returns an error if a format does not take corrected durations.
func CheckCorrected(format string) error {
	if f, _ := saveFormat(format); f.RecordedTimes {
		return &InputError{OtherInput, format, ErrRecordedTimes}
	}
	return nil
}

// prepare waits for the names and fills in what belongs to the session.
func (s *Session) prepare(ctx context.Context, format string, opt *SaveOptions, p Progress) (export.Format, error) {
	f, ok := saveFormat(format)
	if !ok {
		return f, message.Errorf("no format is called %q", format)
	}
	if s.Inputs().Corrected {
		if err := CheckCorrected(format); err != nil {
			return f, err
		}
	}
	if err := s.Load(ctx, p); err != nil {
		return f, err
	}
	opt.Header, opt.Progress, opt.Runs = s.Header(), p.of(StageSave), s.rowRuns
	opt.MostRows = s.mostRows()
	return f, nil
}

// rowRuns returns the runs that the rows are of.
func (s *Session) rowRuns() []rows.Run {
	runs, first := s.runs(), int64(0)
	list := make([]rows.Run, len(runs))
	for i := range runs {
		r := &runs[i]
		list[i] = rows.Run{First: first, End: s.endTime(r) - r.zero}
		list[i].Start, list[i].HasWall = r.clock.Wall(r.zero)
		list[i].Ahead, list[i].HasUTC = r.clock.Ahead, r.clock.HasUTC
		first += r.Count
	}
	return list
}

// Header returns the head of saved files. It names files by their base names,
// so that it is the same on every system.
func (s *Session) Header() rows.Header {
	in, info := s.Inputs(), s.Info()
	h := rows.Header{Log: in.LogNames(), Format: info.Format}
	if info.RecordSize > 0 {
		h.Format += fmt.Sprintf(", %d-byte records", info.RecordSize)
	}
	h.Values = s.HasValues()
	h.Sites, _ = s.HasCallSites()
	if file := s.files().modules; file != "" {
		h.Modules = filepath.Base(file)
	}
	if h.Corrected = in.Corrected; h.Corrected {
		h.Lines = append(h.Lines, CorrectedNote)
	}
	for _, w := range s.Warnings() {
		h.Lines = append(h.Lines, w.Text.String())
	}
	for _, m := range s.Modules() {
		image := rows.Image{Process: m.Process, Name: m.Name, Base: m.Base, Size: m.Size, Identity: m.Identity, Status: string(m.Status)}
		if m.SymbolFile != "" {
			image.SymbolFile = filepath.Base(m.SymbolFile)
		}
		h.Images = append(h.Images, image)
	}
	h.Threads, h.Stacks = s.threadNames(), s.hasStacks()
	h.Processes = s.processes
	h.ProcessID, h.Program = s.program(h.Images)
	return h
}
