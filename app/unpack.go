package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/store"
	"logparser/wholefile"
)

// ErrNotPack says that a container has no log: it has symbols that were kept.
var ErrNotPack = message.New("these are symbols that were kept of a log; the log itself is not in this file")

// packed is a packed log whose files lie in a folder of their own while it is open.
type packed struct {
	file      *os.File
	container *attached.Container
	folder    string
	logs      []string
	modules   string
	// sources are the files that recorded source paths stand for.
	sources map[string]string
}

// isPack reports whether a file is a container of ours.
func isPack(path string) bool {
	head, _, err := readHead(path)
	return err == nil && attached.Detect(head)
}

// packedLogs returns how many logs a container of ours has; not ok where the file is none.
func packedLogs(path string) (logs int, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, false
	}
	c, err := attached.OpenContainer(f, info.Size())
	if err != nil {
		return 0, false
	}
	files, err := c.Files()
	for _, file := range files {
		if file.Role == attached.RoleLog {
			logs++
		}
	}
	return logs, err == nil
}

// IsContainer reports whether a file that begins so is a packed log, or symbols that
// were kept.
func IsContainer(head []byte) bool { return attached.Detect(head) }

const (
	// maxRatio is how many times larger than the pack its files may be together, from
	// freeSize bytes on.
	maxRatio = 1000
	freeSize = 64 << 20
	// maxPackedFiles bounds the files of a pack.
	maxPackedFiles = 1 << 16
)

// unpack opens a packed log.
func unpack(ctx context.Context, path string, p Progress) (_ *packed, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &InputError{LogInput, path, unwrapPath(err)}
	}
	pk := &packed{file: f, sources: make(map[string]string)}
	defer func() {
		if err != nil {
			pk.close()
			if ctx.Err() != nil {
				err = ctx.Err()
			} else {
				err = &InputError{LogInput, path, unwrapPath(err)}
			}
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if pk.container, err = attached.OpenContainer(f, info.Size()); err != nil {
		return nil, err
	}
	files, err := pk.container.Files()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f *attached.File) bool { return f.Role == attached.RoleLog }) {
		return nil, ErrNotPack
	}
	total := int64(0)
	for _, f := range files {
		if most := freeSize + maxRatio*info.Size(); f.Size > most-total || len(files) > maxPackedFiles {
			return nil, message.Errorf("%w: more than %d bytes in %d", attached.ErrFormat, most, info.Size())
		}
		total += f.Size
	}
	if pk.folder, err = makeFolder(); err != nil {
		return nil, symbols.NoTemporary(err)
	}
	done := int64(0)
	tell := throttled(p, StageOpen)
	for i, file := range files {
		out := filepath.Join(pk.folder, fmt.Sprint(i), plainFileName(file))
		if file.Role != attached.RoleSource {
			// A modules file lies beside its log.
			out = filepath.Join(pk.folder, fmt.Sprint("log", file.Log), plainFileName(file))
		}
		switch {
		case file.Role == attached.RoleLog && int(file.Log) == len(pk.logs):
			pk.logs = append(pk.logs, out)
		case file.Role == attached.RoleModules && pk.modules == "":
			pk.modules = out
		case file.Role == attached.RoleSource:
			pk.sources[file.Name] = out
		default:
			continue
		}
		err := writeUnpacked(ctx, out, file, func(n int64) { tell(done+n, total) })
		if err != nil {
			return nil, message.Errorf("%s: %w", filepath.Base(out), unwrapPath(err))
		}
		done += file.Size
	}
	if len(pk.logs) == 0 {
		return nil, message.Errorf("%w: its logs are not numbered from 0 on", attached.ErrFormat)
	}
	return pk, nil
}

// plainFileName returns a name for a file of a pack that can be one on any system, and means nothing to any shell: letters, digits
// and a few signs stay.
func plainFileName(f *attached.File) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-+ ", r) {
			return r
		}
		return '_'
	}, modules.BaseName(f.Name))
	name = strings.TrimRight(name, ". ")
	if name == "" || len(name) > 200 || !filepath.IsLocal(name) || strings.HasPrefix(name, "-") {
		return string(f.Role)
	}
	return name
}

func writeUnpacked(ctx context.Context, path string, file *attached.File, progress func(n int64)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(&toldWriter{ctx: ctx, w: out, progress: progress}, 1<<20)
	_, err = file.WriteTo(w)
	return errors.Join(err, w.Flush(), out.Close())
}

// toldWriter tells how much was written, and ends with its context.
type toldWriter struct {
	ctx      context.Context
	w        io.Writer
	n        int64
	progress func(n int64)
}

func (t *toldWriter) Write(b []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := t.w.Write(b)
	t.n += int64(n)
	t.progress(t.n)
	return n, err
}

// unpackedFolders are those of packs that are open.
var unpackedFolders sync.Map

func makeFolder() (string, error) {
	dir, err := wholefile.TemporaryFolder("logparser-unpacked")
	if err == nil {
		unpackedFolders.Store(dir, true)
	}
	return dir, err
}

// removeUnpacked removes the files of packs that are open, for a process that is about
// to end at once.
func removeUnpacked() {
	unpackedFolders.Range(func(dir, _ any) bool {
		wholefile.RemoveTemporary(dir.(string))
		return true
	})
}

func (pk *packed) close() {
	if pk == nil {
		return
	}
	pk.file.Close()
	if pk.folder != "" {
		wholefile.RemoveTemporary(pk.folder)
		unpackedFolders.Delete(pk.folder)
	}
}

// openPack opens a packed log as a session.
func (formats Formats) openPack(ctx context.Context, in Inputs, p Progress) (*Session, error) {
	if len(in.Others) > 0 || in.Modules != "" {
		return nil, &InputError{LogInput, in.Log, ErrPackAlone}
	}
	pk, err := unpack(ctx, in.Log, p)
	if err != nil {
		return nil, err
	}
	if isPack(pk.logs[0]) {
		pk.close()
		return nil, &InputError{LogInput, in.Log, message.Errorf("%w: a pack in a pack", attached.ErrFormat)}
	}
	real := in
	real.Log, real.Others, real.Modules, real.NoIndexCache = pk.logs[0], pk.logs[1:], pk.modules, true
	s, err := formats.Open(ctx, real, p)
	if err != nil {
		pk.close()
		var wrong *InputError
		if errors.As(err, &wrong) && filepath.IsAbs(wrong.Path) && strings.HasPrefix(wrong.Path, pk.folder) {
			err = &InputError{wrong.Input, in.Log, wrong.Err}
		}
		return nil, err
	}
	in.packed = pk
	s.in = in
	return s, nil
}

// ErrPackAlone says that a packed log is opened by itself.
var ErrPackAlone = message.New("a packed log has its modules, and is opened alone")

// logFiles are the files of a session, as they can be read.
type logFiles struct {
	logs    []string
	modules string
}

func (s *Session) files() logFiles {
	in := s.Inputs()
	if in.packed != nil {
		return logFiles{in.packed.logs, in.packed.modules}
	}
	return logFiles{in.Logs(), in.Modules}
}

// openKept returns the containers of symbols that belong to the session's logs.
func (s *Session) openKept() []store.Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keptOpened {
		return s.kepts
	}
	s.keptOpened = true
	if pk := s.in.packed; pk != nil {
		s.addKept(store.Kept{Container: pk.container, Path: s.in.Log, Packed: true})
		return s.kepts
	}
	for _, log := range s.in.Logs() {
		path := keptBeside(log)
		if isRegular(path) != nil {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err == nil {
			var c *attached.Container
			if c, err = attached.OpenContainer(f, info.Size()); err == nil {
				s.addKept(store.Kept{Container: c, Path: path})
				s.keptFiles = append(s.keptFiles, f)
				continue
			}
			s.keptDamage = append(s.keptDamage, message.Textf("%s: %v", filepath.Base(path), err))
		}
		f.Close()
	}
	return s.kepts
}

// addKept adds a container, and what of it is damaged. The caller holds the lock.
func (s *Session) addKept(k store.Kept) {
	s.kepts = append(s.kepts, k)
	for _, m := range k.Modules() {
		if err := m.Check(); err != nil {
			s.keptDamage = append(s.keptDamage, message.Textf("%s: the symbols of %s in it are damaged, so names and lines are missing: %v", filepath.Base(k.Path), m.Name, err))
		}
	}
}

// KeptDamage says what is damaged of the symbols that lie beside the log, or that it was packed with.
func (s *Session) KeptDamage() []message.Text {
	s.openKept()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keptDamage
}

// closeKept closes the files of kept symbols. The caller holds the lock.
func (s *Session) closeKept() {
	for _, f := range s.keptFiles {
		f.Close()
	}
	s.keptFiles = nil
}

// SourceFile is [SourceFile] for the session's rows: a packed log has its own.
func (s *Session) SourceFile(recorded string, mappings []SourceMapping) (string, error) {
	in := s.Inputs()
	if in.packed != nil {
		if path, ok := in.packed.sources[recorded]; ok {
			return path, nil
		}
	}
	return SourceFile(recorded, mappings, !in.NoRecordedPaths)
}
