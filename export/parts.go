package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"logparser/message"
	"logparser/rows"
	"logparser/wholefile"
)

// Limits say when another file is begun. 0 is no limit.
type Limits struct {
	// Rows is the largest number of rows in a file: rows of a table, or enters and leaves in formats of calls. Calls that
	// continue from the file before do not count.
	Rows int64
	// Bytes is about the largest size of a file. The file ends before the row or block of rows that would exceed it.
	Bytes int64
}

// NoLimit, in a field of [Options.Split], removes the format's own limit.
const NoLimit = int64(-1)

// or returns the limits, with those of the format in the place of zeros.
func (l Limits) or(format Limits) Limits {
	if l.Rows == 0 {
		l.Rows = format.Rows
	}
	if l.Bytes == 0 {
		l.Bytes = format.Bytes
	}
	return Limits{max(l.Rows, 0), max(l.Bytes, 0)}
}

// An output is what a format writes to: one file, or several, one after the other.
type output struct {
	w io.Writer
	// limits are zero if there is only one file.
	limits Limits
	// rows and bytes count what the current file has, without repeated calls.
	rows, bytes int64
	// part is the number of files before the current one.
	part int
	// open ends the current file and begins the next. It is nil if there is only one file.
	open func() (io.Writer, error)
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.bytes += int64(n)
	return n, err
}

// write writes what stands before or after the rows.
func (o *output) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := o.Write(p); err != nil {
		return message.Errorf("writing the header: %w", err)
	}
	return nil
}

// full reports whether the current file must end before another rows rows with bytes bytes. A file without rows is never full.
func (o *output) full(rows, bytes int64) bool {
	return o.rows > 0 && (o.limits.Rows > 0 && o.rows+rows > o.limits.Rows || o.limits.Bytes > 0 && o.bytes+bytes > o.limits.Bytes)
}

// next ends the current file with tail and begins the next one with head.
func (o *output) next(tail []byte, head func() []byte) error {
	if err := o.write(tail); err != nil {
		return err
	}
	w, err := o.open()
	if err != nil {
		return err
	}
	o.w, o.rows, o.bytes = w, 0, 0
	o.part++
	return o.write(head())
}

// Save writes the rows of src to a file. If they exceed the limits of opt or of the format, it writes several files instead:
// for out.json, these are out.001.json, out.002.json and so on, each of them valid by itself. It returns the paths of the
// files.
//
// As with [WriteFile], in the end either all files are in place or nothing has changed. If the path is a symbolic link, the
// files are written in the folder of its target. "-", devices and pipes get one file.
//
// Parts of an earlier save, as [Existing] names them, are replaced. If this save has fewer parts, the others are removed. If it
// has several parts, the single file of an earlier save is removed. With opt.KeepParts, parts of an earlier save are kept: a
// save that may need several files then fails with [ErrParts] before it writes anything. It is always an error if a file that
// no earlier save made has the name of a part.
func Save(ctx context.Context, path string, f Format, src rows.Source, opt Options) ([]string, error) {
	limits := opt.Split.or(f.Limits)
	info, err := os.Stat(path)
	if f.Whole || path == "" || path == "-" || isDevicePath(path) || err == nil && !info.Mode().IsRegular() {
		return []string{path}, WriteFile(ctx, path, opt.Mode, func(w io.Writer) error { return f.Write(ctx, w, src, opt) })
	}
	p := &parts{ctx: ctx, path: path, extension: f.Extension, mode: opt.Mode}
	defer p.remove()
	if limits == (Limits{}) {
		err = WriteFile(ctx, path, opt.Mode, func(w io.Writer) error { return f.Write(ctx, w, src, opt) })
		if err != nil || opt.KeepParts {
			return []string{path}, err
		}
		p.targets = []string{path}
		err = p.findOlder()
	} else if err = p.write(f, src, opt, limits); err == nil {
		err = p.commit()
	}
	if err == nil && len(p.targets) == 1 {
		err = p.removeOlder()
	}
	if err == nil {
		return p.targets, nil
	}
	if e := ctx.Err(); e != nil {
		return nil, e
	}
	return nil, message.Errorf("saving %s: %w", path, plain(err))
}

// ErrParts says that parts of an earlier save exist and [Options.KeepParts] forbids replacing them.
var ErrParts = message.New("parts of an earlier save are there")

// findOlder finds the file of the path, and the parts of an earlier save.
func (p *parts) findOlder() (err error) {
	if p.target, err = wholefile.Find(p.path); err != nil {
		return err
	}
	for i := 1; ; i++ {
		info, err := os.Lstat(p.name(i))
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		p.older = append(p.older, p.name(i))
	}
}

// removeOlder removes the parts of an earlier save after a save to a single file.
func (p *parts) removeOlder() error {
	for _, path := range p.older {
		if err := os.Remove(path); err != nil {
			return message.Errorf("it is saved, but %s of an earlier save is still there: %w", filepath.Base(path), plain(err))
		}
	}
	return nil
}

// Existing returns the existing files that a save to a path may replace: the file of that name, and the files with the names of
// its parts.
func Existing(path string, f Format) []string {
	if path == "" || path == "-" || isDevicePath(path) {
		return nil
	}
	var list []string
	there := func(path string) bool {
		info, err := os.Lstat(path)
		if err == nil && !info.IsDir() {
			list = append(list, path)
			return true
		}
		return false
	}
	there(path)
	p := parts{path: path, extension: f.Extension}
	for i := 1; !f.Whole && there(p.name(i)); i++ {
	}
	return list
}

// parts are the files of one save.
type parts struct {
	ctx             context.Context
	path, extension string
	mode            fs.FileMode
	// target is the single file, older are the parts of an earlier save.
	target *wholefile.Target
	older  []string
	// file is the file that is being written. temporary are all files of this save.
	file      *wholefile.File
	buffer    *bufio.Writer
	temporary []*wholefile.File
	// aside are the names of old files that were renamed. commit removes them at its end.
	aside   []string
	targets []string
}

func (p *parts) write(f Format, src rows.Source, opt Options, limits Limits) error {
	if err := p.findOlder(); err != nil {
		return err
	}
	if n := len(p.older); n > 0 && opt.KeepParts {
		return message.Errorf("%w, %d of them from %s on", ErrParts, n, filepath.Base(p.older[0]))
	}
	w, err := p.create()
	if err != nil {
		return err
	}
	out := &output{w: w, limits: limits, open: func() (io.Writer, error) {
		if err := p.finish(); err != nil {
			return nil, err
		}
		return p.create()
	}}
	if err := f.writeTo(p.ctx, out, src, opt); err != nil {
		return err
	}
	if err := p.finish(); err != nil {
		return err
	}
	return p.ctx.Err()
}

// create begins the next temporary file.
func (p *parts) create() (io.Writer, error) {
	f, err := p.target.Create(p.mode)
	if err != nil {
		return nil, message.Errorf("cannot make a file in its folder: %w", plain(err))
	}
	p.file = f
	p.temporary = append(p.temporary, f)
	p.buffer = bufio.NewWriterSize(&cancelWriter{p.ctx, f}, 64<<10)
	return p.buffer, nil
}

// finish completes the file that is being written.
func (p *parts) finish() error {
	if err := p.buffer.Flush(); err != nil {
		return err
	}
	if p.target.Old != nil {
		if err := p.file.Sync(); err != nil {
			return err
		}
	}
	err := p.file.Close()
	p.file = nil
	return err
}

// name returns the path of part i, counted from 1.
func (p *parts) name(i int) string {
	ext := "." + p.extension
	if n := len(p.path) - len(ext); n < 0 || !strings.EqualFold(p.path[n:], ext) {
		ext = filepath.Ext(p.path)
	} else {
		ext = p.path[n:]
	}
	return fmt.Sprintf("%s.%03d%s", strings.TrimSuffix(p.path, ext), i, ext)
}

// commit renames the temporary files to their targets. If it fails, it undoes all renames.
func (p *parts) commit() error {
	if len(p.temporary) == 1 {
		p.targets = []string{p.path}
		return p.target.Take(p.temporary[0])
	}
	// Until commit ends, the files under their final names and the old ones belong to this save.
	return wholefile.Together(p.commitAll)
}

func (p *parts) commitAll() (err error) {
	folder := p.target.Folder
	var undo []func()
	defer func() {
		if err != nil {
			for i := len(undo) - 1; i >= 0; i-- {
				undo[i]()
			}
		}
	}()
	aside := func(path string) error {
		name := filepath.Base(path)
		info, err := os.Lstat(path)
		if err != nil {
			return ignoreMissing(err)
		}
		if !info.Mode().IsRegular() {
			return message.Errorf("%s is in the way, and no regular file", name)
		}
		if _, err := folder.Writable(name); err != nil {
			return err
		}
		f, err := folder.Unnamed(0)
		if err != nil {
			return err
		}
		f.Close()
		if err := folder.Rename(name, f.Base); err != nil {
			folder.Remove(f.Base)
			return err
		}
		p.aside = append(p.aside, f.Base)
		undo = append(undo, func() { folder.Rename(f.Base, name) })
		return nil
	}
	for i, f := range p.temporary {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		path := p.name(i + 1)
		name := filepath.Base(path)
		if _, err := os.Lstat(path); err == nil && i >= len(p.older) {
			return message.Errorf("%s is in the way", name)
		}
		if err := aside(path); err != nil {
			return err
		}
		if err := folder.Rename(f.Base, name); err != nil {
			return err
		}
		undo = append(undo, func() { folder.Rename(name, f.Base) })
		p.targets = append(p.targets, path)
	}
	for _, path := range p.older[min(len(p.temporary), len(p.older)):] {
		if err := aside(path); err != nil {
			return err
		}
	}
	if err := aside(p.path); err != nil {
		return err
	}
	for _, name := range p.aside {
		folder.Remove(name)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// remove removes the temporary files that are left. It must always be called; files that were renamed are not removed.
func (p *parts) remove() {
	for _, f := range p.temporary {
		f.Remove()
	}
	if p.target != nil {
		p.target.Close()
	}
}
