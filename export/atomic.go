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

// WriteFile has write make the content of a file so that the file is either
// as it was or complete: the content goes into a temporary file in the same
// folder, which replaces the target when all of it is written, and an existing
// target only when all of it is on the disk. After an error or a cancel the
// target is as it was and the temporary file is gone; a process that is killed
// leaves it behind as .logparser-….tmp.
//
// Where the path is a symbolic link, what it points to is replaced. An
// existing file keeps its permissions, and one that may not be written is not
// replaced. "-" is the standard output; it and what is no regular file (a
// device, a pipe) are written directly.
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

// plain takes the temporary file's name, which tells the user nothing, out of
// a file operation's error.
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

// existing returns where a path leads to and what is there, nil for nothing.
// It is an error if that may not be written.
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
		// Renaming needs only the folder's permission. Opening asks for the
		// file's own, and says no for a folder.
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return "", nil, err
		}
		f.Close()
	}
	return target, info, nil
}

// replaceFile writes the target anew; info is its old self or nil.
func replaceFile(ctx context.Context, target string, info fs.FileInfo, write func(w io.Writer) error) error {
	f, err := createTemporary(filepath.Dir(target))
	if err != nil {
		return message.Errorf("cannot make a file in its folder: %w", plain(err))
	}
	defer removeTemporary(f)
	if info != nil {
		// A file system without permissions is no reason not to save.
		f.Chmod(info.Mode().Perm())
	}
	if err := writeTo(ctx, f, write); err != nil {
		return err
	}
	// Nothing of an old file is lost before the new one is on the disk. Where
	// there is no old one, waiting for the disk would protect nothing, and it
	// takes longer than all the rest.
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
	// The name itself is on the disk only when the folder is. Not every
	// system can do that, and the content is safe either way.
	if dir, err := os.Open(filepath.Dir(target)); err == nil {
		dir.Sync()
		dir.Close()
	}
	return nil
}

// writeDirect has write fill an open file. A terminal gets nothing that it would
// act upon: names come from files of other machines.
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

// writeTo has write fill w, and makes its writes fail once ctx is cancelled.
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

// followLinks returns the path that a chain of symbolic links leads to, which
// need not exist. A path that is no link is returned as it is.
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
			// Not joined: cleaning the path would go wrong on "link/..".
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
	return "", message.Errorf("%s: too many symbolic links", path)
}

// isDevicePath reports whether a path names an open file of this process or a
// Windows device or pipe, which some versions cannot stat.
func isDevicePath(path string) bool {
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/") || filepath.Separator == '\\' && (strings.HasPrefix(path, `\\.\`) || strings.EqualFold(path, "NUL") || strings.EqualFold(path, "CON"))
}
