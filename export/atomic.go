package export

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"logparser/message"
	"logparser/rows"
)

// WriteFile calls write to make the content of a file. Afterwards the file either has its old content or the complete new one:
// write fills a temporary file in the same folder, which then replaces the target. If the target exists, it is replaced only
// after the new content was flushed to the disk. After an error or a cancelled context the target is unchanged and the
// temporary file is removed. A process that is killed leaves it behind as .logparser-….tmp.
//
// If the path is a symbolic link, its target is replaced. An existing file keeps its permissions; if it is not writable, it is
// not replaced. "-" is the standard output. It, devices and pipes are written directly.
func WriteFile(ctx context.Context, path string, write func(w io.Writer) error) error {
	err := writeFile(ctx, path, write)
	if err == nil {
		return nil
	}
	if e := ctx.Err(); e != nil {
		return e
	}
	if path == "-" {
		path = "to the standard output"
	}
	return message.Errorf("saving %s: %w", path, plain(err))
}

// plain removes the name of the temporary file from an error, because that name means nothing to the user.
func plain(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

func writeFile(ctx context.Context, path string, write func(w io.Writer) error) error {
	switch path {
	case "":
		return message.New("the file has no name")
	case "-", "/dev/stdout":
		return writeDirect(ctx, os.Stdout, write)
	case "/dev/stderr":
		return writeDirect(ctx, os.Stderr, write)
	}
	info, err := os.Stat(path)
	if isDevicePath(path) || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := writeDirect(ctx, f, write); err != nil {
			f.Close()
			return err
		}
		return f.Close()
	}
	target, info, err := existing(path)
	if err != nil {
		return err
	}
	return replaceFile(ctx, target, info, write)
}

// existing follows the symbolic links of a path. It returns the target and its FileInfo, which is nil if the target does not
// exist. It fails if the target exists but is not writable.
func existing(path string) (target string, info fs.FileInfo, err error) {
	if info, err = os.Stat(path); err != nil {
		info = nil
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	if target, err = followLinks(path); err != nil {
		return "", nil, err
	}
	if info != nil {
		// Renaming needs only the permission of the folder. Opening checks that of the file itself, and fails for a folder.
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return "", nil, err
		}
		f.Close()
	}
	return target, info, nil
}

// replaceFile replaces the target. info describes the existing file, or is nil.
func replaceFile(ctx context.Context, target string, info fs.FileInfo, write func(w io.Writer) error) error {
	f, err := createTemporary(filepath.Dir(target))
	if err != nil {
		return message.Errorf("cannot make a file in its folder: %w", plain(err))
	}
	defer removeTemporary(f)
	if info != nil {
		// Some file systems have no permissions. That is no reason not to save.
		f.Chmod(info.Mode().Perm())
	}
	if err := writeTo(ctx, f, write); err != nil {
		return err
	}
	// An old file must not be lost before the new one is on the disk. Without an old file, waiting for the disk would protect
	// nothing, and it takes longer than everything else.
	if info != nil {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := renameTemporary(f, target); err != nil {
		return err
	}
	if info == nil {
		return nil
	}
	// The new name is on the disk only after the folder was flushed. Not every system can do that, and either file is complete.
	if dir, err := os.Open(filepath.Dir(target)); err == nil {
		dir.Sync()
		dir.Close()
	}
	return nil
}

// writeDirect calls write to fill an open file. For a terminal it makes control characters visible, because names in a log come
// from other machines.
func writeDirect(ctx context.Context, f *os.File, write func(w io.Writer) error) error {
	if !rows.IsTerminal(f) {
		return writeTo(ctx, f, write)
	}
	shown := rows.NewVisibleWriter(f)
	if err := writeTo(ctx, shown, write); err != nil {
		return err
	}
	return shown.Flush()
}

// writeTo calls write with a buffered writer to w, which fails once ctx is cancelled.
func writeTo(ctx context.Context, w io.Writer, write func(w io.Writer) error) error {
	buf := bufio.NewWriterSize(&cancelWriter{ctx, w}, 64<<10)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}

type cancelWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c *cancelWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.w.Write(p)
	if err != nil {
		err = plain(err)
	}
	return n, err
}

// followLinks follows a chain of symbolic links to a path that is none. That path need not exist.
func followLinks(path string) (string, error) {
	for range 40 {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// filepath.Join would clean the path, which is wrong if a component before ".." is a link.
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
	return "", message.Errorf("%s: too many symbolic links", path)
}

// isDevicePath reports whether a path names an open file of this process, or a device or pipe of Windows. Some versions of
// Windows cannot stat these.
func isDevicePath(path string) bool {
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/") || filepath.Separator == '\\' && (strings.HasPrefix(path, `\\.\`) || strings.EqualFold(path, "NUL") || strings.EqualFold(path, "CON"))
}
