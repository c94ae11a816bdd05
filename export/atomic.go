package export

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"logparser/message"
	"logparser/rows"
	"logparser/wholefile"
)

// WriteFile calls write to make the content of a file. Afterwards the file either has its old content or the complete new one, as
// package wholefile does it. After an error or a cancelled context the target is unchanged.
//
// A symbolic link is refused. An existing file keeps its permissions; if it is not writable, it is not replaced. "-" is the
// standard output. It, devices and pipes are written directly. A new file has at most the permissions of mode, 0 for the usual.
func WriteFile(ctx context.Context, path string, mode fs.FileMode, write func(w io.Writer) error) error {
	err := writeFile(ctx, path, mode, write)
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

// RemoveUnfinished removes the temporary files of all saves in progress, for a process that is about to end without waiting for
// them.
func RemoveUnfinished() { wholefile.RemoveUnfinished() }

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

func writeFile(ctx context.Context, path string, mode fs.FileMode, write func(w io.Writer) error) error {
	switch path {
	case "":
		return message.New("the file has no name")
	case "-", "/dev/stdout":
		return writeDirect(ctx, os.Stdout, write)
	case "/dev/stderr":
		return writeDirect(ctx, os.Stderr, write)
	}
	if isDevicePath(path) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return writeOpened(ctx, f, err, write)
	}
	target, err := wholefile.Find(path)
	if err != nil {
		return err
	}
	defer target.Close()
	if target.Device {
		f, err := target.OpenDevice(ctx)
		return writeOpened(ctx, f, err, write)
	}
	f, err := target.Create(mode)
	if err != nil {
		return message.Errorf("cannot make a file in its folder: %w", plain(err))
	}
	defer f.Remove()
	if err := writeTo(ctx, f, write); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return target.Commit(f)
}

// writeOpened writes to a device or pipe that was opened, and closes it.
func writeOpened(ctx context.Context, f *os.File, err error, write func(w io.Writer) error) error {
	if err != nil {
		return err
	}
	if err := writeDirect(ctx, f, write); err != nil {
		f.Close()
		return err
	}
	return f.Close()
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

// isDevicePath reports whether a path names an open file of this process, or a device or pipe of Windows. Some versions of
// Windows cannot stat these.
func isDevicePath(path string) bool {
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/") || filepath.Separator == '\\' && (strings.HasPrefix(path, `\\.\`) || strings.EqualFold(path, "NUL") || strings.EqualFold(path, "CON"))
}
