package image

import (
	"bytes"
	"errors"
	"testing"

	"logparser/symbols"
)

// tableOfImage is a table that an image makes.
type tableOfImage struct {
	symbols.Table
	im *Image
}

// TestOpener makes tables of images. What is no image has none, and the error of a table that cannot be made is passed on.
func TestOpener(t *testing.T) {
	data := debugFile([]byte("content"), 0)
	errNone := errors.New("nothing of this kind in the image")
	open := Opener(func(im *Image) (*tableOfImage, error) {
		if im.File().Path == "empty" {
			return nil, errNone
		}
		return &tableOfImage{im: im}, nil
	})
	for _, test := range []struct {
		path string
		data []byte
		err  error
		made bool
	}{
		{"a.so", data, nil, true},
		{"empty", data, errNone, false},
		{"a.txt", []byte("no image"), nil, false},
	} {
		file := &symbols.File{Path: test.path, ReaderAt: bytes.NewReader(test.data), Size: int64(len(test.data))}
		table, err := open(file)
		if (err == nil) != test.made || test.err != nil && !errors.Is(err, test.err) {
			t.Errorf("%s: %v", test.path, err)
		}
		// Without a table the interface is nil, too: a typed nil would look like a table.
		if (table != nil) != test.made || test.made && table.(*tableOfImage).im.File() != file {
			t.Errorf("%s: %v", test.path, table)
		}
	}
}
