package symbols

import (
	"errors"
	"io/fs"
	"os"

	"logparser/message"
)

// ErrTemporary says that a symbol file could not be unpacked because there is no
// place for temporary files.
var ErrTemporary = message.New("no temporary file can be made")

// NoTemporary makes an error that wraps ErrTemporary of one of [os.CreateTemp]: it
// names the folder, which is what is wrong, not the file that was to be unpacked.
func NoTemporary(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return message.Wrap(ErrTemporary, "no temporary file can be made in %s (the variable TMPDIR, on Windows TMP, names the folder): %v", os.TempDir(), err)
}
