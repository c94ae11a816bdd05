package app

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/dwarf"
	"logparser/symbols/image"
	"logparser/symbols/mapfile"
	"logparser/symbols/pdb"
	"logparser/wholefile"
)

// Errors of [Attach] and [Detach] by which callers say what to do next.
var (
	ErrSigned  = attached.ErrSigned
	ErrOverlay = attached.ErrOverlay
	ErrChanged = attached.ErrChanged
	// ErrNoFunctions: a module has no symbols that are worth attaching.
	ErrNoFunctions = message.New("no symbols of its own functions were found")
	// ErrExchanged: another file has the name now.
	ErrExchanged = message.New("another file was put in its place meanwhile")
	// ErrNoModuleOf: a file of symbols is given whose module is not there.
	ErrNoModuleOf = message.New("there is no image that it could belong to")
)

// AttachSources returns the words for what symbols can be attached from.
func AttachSources() []string { return []string{"map", "pdb", "dwarf"} }

// attachFormats are the formats that those words stand for.
var attachFormats = map[string][]symbols.Format{"map": {mapfile.Format}, "pdb": {pdb.Format}, "dwarf": {dwarf.Format}}

// An AttachedModule says what was taken of a module.
type AttachedModule struct {
	// Name is the module's base name, Source the format of its symbols, File
	// where they were.
	Name, Source, File string
	// Functions is how many names there are, Bytes what they take, Code how many
	// bytes of code they are for.
	Functions   int
	Bytes, Code int64
	// Unwind is how many of the bytes are unwind rules.
	Unwind int64
	// Damaged is how many bytes of code have no name because the file is damaged
	// there, Unchecked that nothing said which build the file belongs to.
	Damaged   int
	Unchecked bool
}

// Attach puts the symbols of an executable into it, and those of further
// modules: images, or files of symbols (maps, PDBs) of the executable or of images
// beside it. from is "" for the best symbols that are found, or one of
// [AttachSources]. What was attached before is replaced. The file is replaced as a
// whole or not at all, and keeps its owner, its mode and its time. lost names what could
// not be kept of these and of its attributes. Of the inputs only those count that say
// where symbols are.
func Attach(ctx context.Context, exe string, more []string, from string, in Inputs, p Progress) (list []AttachedModule, lost []string, err error) {
	w := &attachWork{ctx: ctx, in: in, progress: p, from: from}
	sources, err := w.sources(exe, more)
	if err != nil {
		return nil, nil, err
	}
	var parts []attached.Part
	for i, s := range sources {
		m, e, told, err := w.encode(s)
		if err != nil {
			return nil, nil, err
		}
		rules, err := w.encodeUnwind(s.image)
		if err != nil {
			return nil, nil, err
		}
		told.Unwind = rules.Size() + e.stack.Size()
		told.Bytes += told.Unwind
		m.Carrier = i == 0
		owner := uint32(i)
		parts = append(append(append(parts, e.Parts(m, owner)...), rules.Parts(owner)...), e.stack.Parts(owner)...)
		list = append(list, told)
	}
	lost, err = rewrite(ctx, exe, func(out io.Writer, f *os.File, size int64) error {
		return attached.Attach(out, f, size, parts)
	})
	return list, lost, err
}

// Detach takes off what [Attach] has put into an executable, which is then what it
// was, byte for byte. lost is as of Attach.
func Detach(ctx context.Context, exe string) (lost []string, err error) {
	return rewrite(ctx, exe, func(out io.Writer, f *os.File, size int64) error { return attached.Detach(out, f, size) })
}

// rewrite replaces a file by what write makes of it. Owner, mode and time stay; what else was lost is returned.
func rewrite(ctx context.Context, path string, write func(out io.Writer, f *os.File, size int64) error) (lost []string, err error) {
	f, info, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		return nil, &InputError{OtherInput, path, ErrNotFile}
	}
	target, err := wholefile.Find(path)
	if err != nil {
		return nil, &InputError{OtherInput, path, unwrapPath(err)}
	}
	defer target.Close()
	if target.Old == nil || !os.SameFile(info, target.Old) {
		return nil, &InputError{OtherInput, path, ErrExchanged}
	}
	// Nobody else can read or write it before it is whole.
	made, err := target.Folder.Create(0o600)
	if err != nil {
		return nil, message.Errorf("saving %s: %w", path, unwrapPath(err))
	}
	defer made.Remove()
	out := bufio.NewWriterSize(&toldWriter{ctx: ctx, w: made, progress: func(int64) {}}, 64<<10)
	if err := write(out, f, info.Size()); err != nil {
		return nil, cmp.Or(ctx.Err(), error(&InputError{OtherInput, path, unwrapPath(err)}))
	}
	if err = out.Flush(); err == nil {
		lost, err = made.KeepRights(f)
	}
	// Windows replaces no file that is open.
	f.Close()
	if err == nil {
		err = target.Commit(made)
	}
	if err != nil {
		return nil, cmp.Or(ctx.Err(), message.Errorf("saving %s: %w", path, unwrapPath(err)))
	}
	return lost, nil
}

// attachWork finds and encodes symbols.
type attachWork struct {
	ctx      context.Context
	in       Inputs
	progress Progress
	from     string
}

// An attachSource is an image whose symbols are wanted, and the file they are in, ""
// where they are to be found.
type attachSource struct{ image, file string }

// sources finds out what each argument is: the executable comes first.
func (w *attachWork) sources(exe string, more []string) ([]attachSource, error) {
	list := []attachSource{{image: exe}}
	for _, path := range more {
		head, _, err := readHead(path)
		if err != nil {
			return nil, &InputError{OtherInput, path, unwrapPath(err)}
		}
		if image.Detect(head) && !strings.EqualFold(filepath.Ext(path), ".debug") {
			list = append(list, attachSource{image: path})
			continue
		}
		module, err := moduleOf(exe, path)
		if err != nil {
			return nil, err
		}
		at := -1
		for i := range list {
			if sameFile(list[i].image, module) {
				at = i
			}
		}
		if at < 0 {
			list = append(list, attachSource{image: module})
			at = len(list) - 1
		}
		list[at].file = path
	}
	return list, nil
}

// moduleOf returns the image that a file of symbols belongs to by its name: the
// executable, or one beside it or beside the file.
func moduleOf(exe, file string) (string, error) {
	stem := func(path string) string {
		base := filepath.Base(path)
		return strings.TrimSuffix(base, filepath.Ext(base))
	}
	want := stem(file)
	if strings.EqualFold(stem(exe), want) || strings.EqualFold(filepath.Base(exe), want) {
		return exe, nil
	}
	for _, dir := range []string{filepath.Dir(exe), filepath.Dir(file)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); strings.EqualFold(stem(e.Name()), want) || strings.EqualFold(e.Name(), want) {
				if head, _, err := readHead(path); err == nil && image.Detect(head) {
					return path, nil
				}
			}
		}
	}
	return "", &InputError{OtherInput, file, message.Wrap(ErrNoModuleOf, "there is no image %s beside it or beside %s", want, filepath.Base(exe))}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// encodeUnwind reads the unwind rules of an image, nil for none.
func (w *attachWork) encodeUnwind(path string) (*attached.EncodedUnwind, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &InputError{OtherInput, path, unwrapPath(err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &InputError{OtherInput, path, unwrapPath(err)}
	}
	im, err := image.Open(&symbols.File{Path: path, ReaderAt: f, Size: info.Size()})
	if err != nil {
		return nil, &InputError{OtherInput, path, unwrapPath(err)}
	}
	defer im.FreeScratch()
	return attached.EncodeUnwind(w.ctx, im, nil)
}

// An encodedSymbols is the symbols of an image, and the STACK records that stand among them in a file of Breakpad's.
type encodedSymbols struct {
	*attached.Encoded
	stack *attached.EncodedStack
}

// encode reads the symbols of an image.
func (w *attachWork) encode(s attachSource) (*attached.Module, *encodedSymbols, AttachedModule, error) {
	fail := func(path string, err error) (*attached.Module, *encodedSymbols, AttachedModule, error) {
		if e := w.ctx.Err(); e != nil {
			err = e
		} else {
			err = &InputError{OtherInput, path, unwrapPath(err)}
		}
		return nil, nil, AttachedModule{}, err
	}
	in := w.in
	finder := newFinder(in, filepath.Dir(s.image))
	finder.NoAttached = true
	if w.from != "" {
		finder.Formats = attachFormats[w.from]
	}
	if s.file != "" {
		head, _, err := readHead(s.file)
		if err != nil {
			return fail(s.file, err)
		}
		finder.Path = []string{s.file}
		var formats []symbols.Format
		for _, f := range finder.Formats {
			if f.Detect(head) && !image.Detect(head) || f.Name == dwarf.Format.Name && image.Detect(head) {
				formats = append(formats, f)
			}
		}
		finder.Formats = formats
	}
	b, img, err := finder.FindFor(w.ctx, s.image)
	if err != nil {
		return fail(s.image, err)
	}
	defer closeTable(b)
	switch {
	case img == nil:
		return fail(s.image, image.ErrFormat)
	case b.Table == nil && s.file != "":
		return fail(s.file, message.Errorf("%v", b.Reason))
	case b.Table == nil:
		return fail(s.image, message.Errorf("%v", b.Reason))
	case b.Status == symbols.ExportsOnly, b.Status == symbols.StartsOnly:
		return fail(s.image, ErrNoFunctions)
	}
	if all, ok := symbols.As[interface{ ReadAliases() error }](b.Table); ok {
		if err := all.ReadAliases(); err != nil {
			return fail(b.File, err)
		}
	}
	code, err := attached.SavedCodeOf(img)
	if err != nil {
		return fail(s.image, err)
	}
	e, err := attached.Encode(w.ctx, b.Table, code, throttled(w.progress, StageEncode))
	if err != nil {
		return fail(b.File, err)
	}
	if e.Functions == 0 {
		return fail(s.image, ErrNoFunctions)
	}
	m := &attached.Module{Name: filepath.Base(s.image), Identity: img.Identity, Size: img.Size, Source: b.Table.Describe(),
		File: filepath.Base(b.File), Status: string(b.Status), Unchecked: b.Status == symbols.Unverified}
	told := AttachedModule{Name: m.Name, Source: m.Source, File: b.File, Functions: e.Functions, Bytes: e.Size(), Damaged: e.Damaged, Unchecked: m.Unchecked}
	for _, r := range code {
		told.Code += int64(r.Hi - r.Lo)
	}
	both := &encodedSymbols{Encoded: e}
	if f := breakpadFile(&b); f != nil {
		if both.stack, err = attached.EncodeStack(w.ctx, f); err != nil {
			return fail(b.File, err)
		}
	}
	return m, both, told, nil
}
