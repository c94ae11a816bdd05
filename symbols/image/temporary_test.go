package image

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"logparser/symbols"
)

// TestNoTemporaryFolder inflates a section where there is no folder for it: the
// error names that, and nothing of it reads as if the image were missing.
func TestNoTemporaryFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	var s scratch
	f, err := s.create()
	if err == nil {
		f.Close()
		t.Skip("temporary files are made elsewhere")
	}
	if !errors.Is(err, symbols.ErrTemporary) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Error(err)
	}
}
