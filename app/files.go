package app

import (
	"io"
	"os"

	"logparser/message"
	"logparser/modules"
)

// headSize is how much of a file is read to tell what it is.
const headSize = 64 << 10

// readHead returns the beginning of a regular file and its size in bytes.
func readHead(path string) ([]byte, int64, error) {
	if err := isRegular(path); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	head, err := io.ReadAll(io.LimitReader(f, headSize))
	return head, info.Size(), err
}

// isRegular returns an error for a path that is no regular file. Anything
// else might block when it is opened.
func isRegular(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return message.New("it is a folder")
	case !info.Mode().IsRegular():
		return message.New("it is not a regular file")
	}
	return nil
}

// openInput opens a file that is neither the log nor its modules file. An error is an [*InputError].
func openInput(path string) (*os.File, os.FileInfo, error) {
	if err := isRegular(path); err != nil {
		return nil, nil, &InputError{OtherInput, path, unwrapPath(err)}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, &InputError{OtherInput, path, unwrapPath(err)}
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, &InputError{OtherInput, path, unwrapPath(err)}
	}
	return f, info, nil
}

// looksLikeModules reports whether a file is a modules file rather than a log.
func looksLikeModules(path string) bool {
	head, _, err := readHead(path)
	return err == nil && !IsLiveText(head) && modules.Looks(head)
}
