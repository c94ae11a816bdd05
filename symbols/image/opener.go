package image

import "logparser/symbols"

// Opener returns what opens the files of a format whose tables are made of images by table, and own
// them.
func Opener[T symbols.Table](table func(*Image) (T, error)) func(*symbols.File) (symbols.Table, error) {
	return func(f *symbols.File) (symbols.Table, error) {
		im, err := Open(f)
		if err != nil {
			return nil, err
		}
		t, err := table(im)
		if err != nil {
			return nil, err
		}
		return t, nil
	}
}
