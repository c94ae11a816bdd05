package store

import (
	"context"
	"path/filepath"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
)

// FindFor returns the symbols for a file on this machine, an image or a file
// of symbols itself. An image's own identity stands for the recorded one; a
// file of symbols is taken as it is, and is unverified.
// The image is nil for a file of symbols that is not relocatable; of the image
// only the fields can be read, its file is closed. Of a relocatable file RVAs
// are places of its sections (see [image.Image.Place]).
func (f *Finder) FindFor(ctx context.Context, path string) (symbols.Binding, *image.Image, error) {
	f.prepare()
	file, err := f.open(path)
	if err != nil {
		return symbols.Binding{}, nil, err
	}
	img, err := image.Open(file)
	file.Close()
	if err == nil && !debugOnly(img) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return symbols.Binding{}, nil, err
		}
		s := &search{Finder: f, ctx: ctx, expected: img.Identity, seen: make(map[string]bool),
			module:   &modules.Module{Path: abs, Identity: img.Identity},
			verified: img, verifiedPath: path, sections: true}
		s.findTable()
		return s.binding(), img, nil
	}
	if err != nil || !img.Relocatable {
		img = nil
	}
	table, err := f.openTable(path)
	if err != nil {
		return symbols.Binding{}, nil, err
	}
	b := symbols.Binding{Status: symbols.Unverified, Table: table, File: path,
		Reason: message.Textf("%s; given by itself, with no image to check it by", table.Describe())}
	(&search{Finder: f, ctx: ctx}).bound(&b)
	return b, img, nil
}
