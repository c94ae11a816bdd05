package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"logparser/export"
	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/store"
)

// How a log takes its names along: packed with them in one file, or with a file of
// them beside it.

const keptExtension = ".lpsym"

// A PackReport says what was packed or kept.
type PackReport struct {
	// Path is the file that was written, Bytes its size.
	Path  string
	Bytes int64
	// Modules is how many modules' symbols are in it, Symbols what they take,
	// Files what logs and sources take, in bytes.
	Modules        int
	Symbols, Files int64
	// Left are modules that rows lie in and that have no symbols.
	Left []string
	// NoSources are source files that could not be read.
	NoSources []string
}

// PackOptions say what else is packed.
type PackOptions struct {
	// Sources adds the source files that rows name, found by Mappings.
	Sources  bool
	Mappings []SourceMapping
	// Crash permits packing a log that has the record of a crash, with pieces of the
	// program's memory.
	Crash bool
}

// ErrCrashRecord says that a log has what may not be given away unasked.
var ErrCrashRecord = message.New("the log has the record of a crash, with pieces of the program's memory")

// Pack writes the log, or the logs, with the modules, their names and lines into one
// file, which opens anywhere to the same table. A log with the record of a crash is
// packed only if opt says so; else the error wraps [ErrCrashRecord].
func (s *Session) Pack(ctx context.Context, path string, opt PackOptions, p Progress) (*PackReport, error) {
	if err := s.Load(ctx, p); err != nil {
		return nil, err
	}
	if err := s.checkKept(); err != nil {
		return nil, err
	}
	if !opt.Crash {
		if log, err := s.withCrash(ctx); err != nil {
			return nil, err
		} else if log != "" {
			return nil, &InputError{LogInput, log, ErrCrashRecord}
		}
	}
	if err := s.checkTarget(path); err != nil {
		return nil, err
	}
	w := &packer{s: s, ctx: ctx, progress: p, report: &PackReport{Path: path}, unwind: make(map[imageKey]func(uint32) []attached.Part)}
	defer w.close()
	if err := w.addModules(true); err != nil {
		return nil, err
	}
	spool, err := attached.NewSpool()
	if err != nil {
		return nil, symbols.NoTemporary(err)
	}
	defer spool.Close()
	w.spool = spool
	if err := w.addLogs(); err != nil {
		return nil, err
	}
	if opt.Sources {
		if err := w.addSources(opt.Mappings); err != nil {
			return nil, err
		}
	}
	return w.write(path, s.outputMode())
}

// Keep writes the symbols of the modules that rows lie in beside the log, or to path
// if it is not "", so that the log keeps its names when the program is built anew.
func (s *Session) Keep(ctx context.Context, path string, p Progress) (*PackReport, error) {
	if err := s.Load(ctx, p); err != nil {
		return nil, err
	}
	if err := s.checkKept(); err != nil {
		return nil, err
	}
	if path == "" {
		path = s.KeptPath()
	}
	w := &packer{s: s, ctx: ctx, progress: p, report: &PackReport{Path: path}, unwind: make(map[imageKey]func(uint32) []attached.Part)}
	defer w.close()
	if err := w.addModules(false); err != nil {
		return nil, err
	}
	if w.report.Modules == 0 {
		return nil, &InputError{OtherInput, s.Inputs().Log, ErrNothingToKeep}
	}
	// The session may have the file open that is replaced.
	return w.write(path, 0)
}

// checkKept returns an error if some of the kept symbols are damaged: what is handed on would lack them.
func (s *Session) checkKept() error {
	for _, text := range s.KeptDamage() {
		return &InputError{LogInput, s.Inputs().Log, message.Wrap(attached.ErrFormat, "%s", text)}
	}
	return nil
}

// KeptPath returns where the symbols of the log are kept unless another path is given.
func (s *Session) KeptPath() string { return keptBeside(s.Inputs().Log) }

// withCrash returns the first of the logs that has the record of a crash, "" for none.
func (s *Session) withCrash(ctx context.Context) (string, error) {
	for _, path := range s.files().logs {
		has, err := tellsOfCrash(ctx, Inputs{Log: path, Modules: s.files().modules, RecordSize: s.in.RecordSize, ModulesColumns: s.in.ModulesColumns})
		if err != nil {
			return "", err
		}
		if has {
			return path, nil
		}
	}
	return "", nil
}

// tellsOfCrash reports whether a log has the record of a crash.
func tellsOfCrash(ctx context.Context, in Inputs) (has bool, err error) {
	log, _, err := logFormats.openLog(ctx, in, nil, nil)
	if err != nil {
		return false, err
	}
	defer log.Close()
	if teller := log.Capabilities().CrashTeller; teller != nil {
		for run := range log.Info().Runs {
			has = has || len(teller.Crashes(run)) > 0
		}
	}
	return has, nil
}

// ErrNothingToKeep says that a log has no names that could be kept.
var ErrNothingToKeep = message.New("no module that rows lie in has symbols of this build")

// keptBeside returns where the symbols of a log are kept.
func keptBeside(log string) string {
	return strings.TrimSuffix(log, filepath.Ext(log)) + keptExtension
}

// A packer collects the parts of a container.
type packer struct {
	s        *Session
	ctx      context.Context
	progress Progress
	spool    *attached.Spool
	parts    []attached.Part
	report   *PackReport
	// unwind makes the parts of the modules' unwind rules.
	unwind map[imageKey]func(owner uint32) []attached.Part
	// crash is the process whose unwind rules are among the parts, nil where there is none: they are read from its files when they
	// are written.
	crash *Crash
}

// close closes what the parts are read from.
func (w *packer) close() {
	if w.crash != nil {
		w.crash.Close()
	}
}

// A packSource is a module to be packed: its symbols, and the RVAs that are looked up.
type packSource struct {
	module  *modules.Module
	binding symbols.Binding
	rvas    []uint64
}

// addModules adds what is known of the modules. all says that those without
// symbols are wanted too, with the words for them.
func (w *packer) addModules(all bool) error {
	s := w.s
	bindings := s.bindingsNow()
	wanted, err := w.lookedUp()
	if err != nil {
		return err
	}
	unlisted, err := w.addCrash(wanted)
	if err != nil {
		return err
	}
	var order []imageKey
	images := make(map[imageKey]*packSource)
	for run := range s.runs() {
		m := s.runs()[run].modules
		for i := range min(m.Len(), len(bindings[run])) {
			mod := m.At(i)
			key := imageOf(mod)
			if images[key] == nil {
				images[key] = &packSource{module: mod, binding: bindings[run][i]}
				order = append(order, key)
			}
			images[key].rvas = append(images[key].rvas, wanted[moduleKey{run, i}]...)
		}
	}
	for i := range unlisted {
		key := imageOf(unlisted[i].module)
		if images[key] == nil {
			images[key] = &unlisted[i]
			order = append(order, key)
		}
	}
	owner := uint32(0)
	for _, key := range order {
		if added, err := w.addModule(images[key], owner, all); err != nil {
			return err
		} else if added {
			owner++
		}
	}
	return nil
}

// addModule adds what is known of one module, and reports whether that was anything.
func (w *packer) addModule(src *packSource, owner uint32, all bool) (added bool, err error) {
	b := &src.binding
	used := len(src.rvas) > 0
	named := b.Table != nil && used
	if used && !named {
		w.report.Left = append(w.report.Left, src.module.Name())
	}
	var rules []attached.Part
	if parts := w.unwind[imageOf(src.module)]; parts != nil {
		rules = parts(owner)
	}
	if !all && (!named || b.Status == symbols.Mismatched || b.Status == symbols.ExportsOnly || b.Status == symbols.StartsOnly) {
		if used && named {
			w.report.Left = append(w.report.Left, src.module.Name())
		}
		if len(rules) == 0 {
			return false, nil
		}
		named = false
	}
	m := &attached.Module{Name: src.module.Name(), Path: src.module.Path, Identity: src.module.Identity, Size: src.module.Size,
		File: modules.BaseName(b.File), Status: string(b.Status)}
	var e *attached.Encoded
	if named {
		m.Source = b.Table.Describe()
		if t, ok := symbols.As[interface{ Module() *attached.Module }](b.Table); ok {
			m.Source = t.Module().Source
		}
		if e, err = w.encode(b.Table, src.rvas); err != nil {
			return false, err
		}
		w.report.Modules++
		w.report.Symbols += e.Size()
	}
	w.parts = append(w.parts, e.Parts(m, owner)...)
	w.parts = append(w.parts, rules...)
	w.report.Symbols += attached.Length(rules) - attached.Length(nil)
	return true, nil
}

// encode keeps what a table says of its procedures, and of the addresses that the log
// has.
func (w *packer) encode(t symbols.Table, rvas []uint64) (*attached.Encoded, error) {
	code, err := attached.CodeOfTable(t)
	if err != nil {
		return nil, err
	}
	for _, rva := range rvas {
		code = append(code, attached.Range{Lo: rva, Hi: rva + 1})
	}
	return attached.Encode(w.ctx, t, code, throttled(w.progress, StageEncode))
}

// lookedUp returns the RVAs that naming looks up, by module.
func (w *packer) lookedUp() (map[moduleKey][]uint64, error) {
	s := w.s
	s.mu.Lock()
	n := s.names
	s.mu.Unlock()
	found := make(map[moduleKey][]uint64)
	for i := range n.addresses.Len() {
		if i%cancelEvery == 0 && w.ctx.Err() != nil {
			return nil, w.ctx.Err()
		}
		a := n.addresses.At(i)
		run := &s.runs()[a.Run]
		space := run.spaces[a.Space]
		loc := run.plain.Resolve(a.Value, space.Time, back(space.Kind))
		if loc.Module < 0 {
			continue
		}
		key := moduleKey{int(a.Run), loc.Module}
		found[key] = append(found[key], loc.RVA-back(space.Kind))
	}
	return found, nil
}

// bindingsNow returns the symbols of the modules of each run.
func (s *Session) bindingsNow() [][]symbols.Binding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bindings)
}

// addLogs adds the logs and the modules file.
func (w *packer) addLogs() error {
	files := w.s.files()
	for i, path := range files.logs {
		if err := w.addFile(path, attached.File{Name: filepath.Base(path), Role: attached.RoleLog, Log: uint32(i)}); err != nil {
			return err
		}
	}
	if files.modules != "" {
		return w.addFile(files.modules, attached.File{Name: filepath.Base(files.modules), Role: attached.RoleModules})
	}
	return nil
}

func (w *packer) addFile(path string, as attached.File) error {
	f, info, err := openInput(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size := info.Size()
	tell := throttled(w.progress, StageSave)
	part, err := w.spool.Add(w.ctx, io.LimitReader(f, size), size, as, func(done int64) { tell(done, size) })
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = ErrShrunk
	}
	if err != nil {
		return cmp.Or(w.ctx.Err(), error(&InputError{OtherInput, path, unwrapPath(err)}))
	}
	w.parts = append(w.parts, part)
	w.report.Files += part.Length
	return nil
}

// maxSourceFile bounds a source file that is packed, in bytes.
const maxSourceFile = 16 << 20

// addSources adds the source files that rows name.
func (w *packer) addSources(mappings []SourceMapping) error {
	w.s.mu.Lock()
	n := w.s.names
	w.s.mu.Unlock()
	seen := make(map[string]bool)
	for i := range n.places {
		pl := n.places[i].Load()
		if pl == nil || pl.source == "" || seen[pl.source] {
			continue
		}
		seen[pl.source] = true
		path, err := w.s.SourceFile(pl.source, mappings)
		if err == nil {
			if info, e := os.Stat(path); e != nil || info.Size() > maxSourceFile {
				err = ErrNotFile
			}
		}
		if err != nil {
			w.report.NoSources = append(w.report.NoSources, pl.source)
			continue
		}
		if err := w.addFile(path, attached.File{Name: pl.source, Role: attached.RoleSource}); err != nil {
			return err
		}
	}
	slices.Sort(w.report.NoSources)
	return nil
}

func (w *packer) write(path string, mode fs.FileMode) (*PackReport, error) {
	if err := export.WriteFile(w.ctx, path, mode, func(out io.Writer) error { return attached.Write(out, w.parts) }); err != nil {
		return nil, err
	}
	w.report.Bytes = attached.Length(w.parts)
	slices.Sort(w.report.Left)
	w.report.Left = slices.Compact(w.report.Left)
	return w.report, nil
}

// symbolFinder makes the finder for the session's modules.
func (s *Session) symbolFinder(in Inputs) *store.Finder {
	f := newFinder(in, filepath.Dir(in.Log))
	f.Kept = s.openKept()
	for run := range s.runs() {
		m := s.runs()[run].modules
		for i := range m.Len() {
			f.Program = append(f.Program, m.At(i))
		}
	}
	return f
}
