package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"logparser/export"
	"logparser/message"
	"logparser/recorder"
	"logparser/recorder/launch"
)

// InitRecorder writes the recorder's headers, sources and CMake files below a
// folder, which it makes, and returns how many files it wrote; files that are
// there already with the same content are left. If a file differs, nothing is
// written and the error is an [*InputError], unless replace is set.
func InitRecorder(ctx context.Context, dir string, replace bool) (written int, err error) {
	type file struct {
		path string
		data []byte
	}
	var missing []file
	err = fs.WalkDir(recorder.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := recorder.Files.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := checkBelow(dir, name); err != nil {
			return err
		}
		have, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return &InputError{OtherInput, path, unwrapPath(err)}
		case bytes.Equal(have, data):
			return nil
		case !replace:
			return &InputError{OtherInput, path, ErrOtherFile}
		}
		missing = append(missing, file{path, data})
		return nil
	})
	if err != nil {
		return 0, err
	}
	// What was made is removed again if not all can be: half of the sources is worse than none.
	var made, folders []string
	defer func() {
		for i := len(made) - 1; i >= 0 && err != nil; i-- {
			os.Remove(made[i])
			written = 0
		}
	}()
	for _, f := range missing {
		for folder := filepath.Dir(f.path); ; folder = filepath.Dir(folder) {
			if _, err := os.Lstat(folder); err == nil || folder == filepath.Dir(folder) {
				break
			}
			folders = append(folders, folder)
		}
		for i := len(folders) - 1; i >= 0; i-- {
			if err := os.Mkdir(folders[i], 0o777); err != nil {
				return written, message.Errorf("making the folder: %w", err)
			}
			made = append(made, folders[i])
		}
		folders = folders[:0]
		if _, err := os.Lstat(f.path); err != nil {
			made = append(made, f.path)
		}
		err := export.WriteFile(ctx, f.path, 0, func(w io.Writer) error {
			_, err := w.Write(f.data)
			return err
		})
		if err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}

// SaveRecorderLibrary writes the recorder's library for programs of this system to a file, or into
// a folder under its own name, and returns the file's path. building, if not nil, is called before
// the library is built, which takes seconds. What is there is left, and the error is an
// [*InputError], unless replace is set.
func SaveRecorderLibrary(ctx context.Context, path string, replace bool, building func(compiler string)) (string, error) {
	target := launch.Native()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, target.Name)
	}
	library, err := launch.FindLibrary(target, building)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(library)
	if err != nil {
		return "", err
	}
	switch have, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", &InputError{OtherInput, path, unwrapPath(err)}
	case bytes.Equal(have, data):
		return path, nil
	case !replace:
		return "", &InputError{OtherInput, path, ErrOtherFile}
	}
	return path, export.WriteFile(ctx, path, 0, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// checkBelow refuses a file, named with slashes, that does not lie below a folder
// as folders and regular files: a link may lead anywhere, and reading a pipe waits
// for somebody who writes to it.
func checkBelow(dir, name string) error {
	path := dir
	parts := strings.Split(name, "/")
	for i, part := range parts {
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return &InputError{OtherInput, path, unwrapPath(err)}
		case info.Mode()&fs.ModeSymlink != 0:
			return &InputError{OtherInput, path, ErrLink}
		case i < len(parts)-1 && !info.IsDir() || i == len(parts)-1 && !info.Mode().IsRegular():
			return &InputError{OtherInput, path, ErrNotFile}
		}
	}
	return nil
}
