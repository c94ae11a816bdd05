package store

import (
	"context"
	"errors"
	"io/fs"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
	"logparser/symbols/image/about"
	"logparser/symbols/symtab"
)

// binding chooses among what was found, and adds what the image says of itself.
func (s *search) binding() symbols.Binding {
	b := s.choice()
	img, path := s.verified, s.verifiedPath
	if img == nil {
		img, path = s.unknown, s.unknownPath
	}
	if img == nil || img.Kind != image.PE {
		return b
	}
	file, err := s.open(path)
	if err != nil {
		return b
	}
	defer file.Close()
	if again, err := image.Open(file); err == nil && again.Identity == img.Identity {
		b.About = about.Of(again)
		again.FreeScratch()
	}
	return b
}

// choice chooses among what was found.
func (s *search) choice() symbols.Binding {
	b := symbols.Binding{}
	chosen := s.choose()
	for rank, c := range s.best {
		if c != nil && rank != chosen && c.table != nil {
			c.table.Close()
			c.table = nil
		}
	}
	b.Attempts = s.attempts
	if chosen < 0 {
		b.Status = symbols.NotFound
		b.Reason = message.Textf("no symbol file and no image was found")
		if s.verified != nil || s.unknown != nil {
			b.Reason = message.Textf("the image was found, but it holds no names, and no symbol file was found")
		}
		if !s.trouble.IsZero() {
			b.Reason = b.Reason.And(s.trouble)
		}
		return b
	}
	c := s.best[chosen]
	b.Table, b.File, b.Reason = c.table, c.path, c.reason
	switch chosen {
	case rankMatched:
		b.Status = symbols.Matched
	case rankAttached:
		b.Status = symbols.Attached
	case rankImage:
		b.Status = symbols.Embedded
		if exportsOnly(c.table) {
			b.Status = symbols.ExportsOnly
		}
	case rankStarts:
		b.Status = symbols.StartsOnly
	case rankUnverified:
		b.Status = symbols.Unverified
	default:
		b.Status = symbols.Mismatched
		if b.Table != nil {
			b.Reason = message.Textf("%s; its names are shown because that was asked for, each marked", b.Reason)
		}
	}
	s.bound(&b)
	s.addImage(&b)
	for _, rank := range []int{rankMismatched, rankOtherImage} {
		if m := s.best[rank]; m != nil && m != c {
			b.Reason = b.Reason.And(m.reason)
		}
	}
	return b
}

// bound gives functions ends where the table tells neither their sizes nor all of them.
func (s *search) bound(b *symbols.Binding) {
	some, ok := b.Table.(interface{ SomeFunctions() bool })
	if !ok || !some.SomeFunctions() || s.Finder.Bound == nil {
		return
	}
	img, path := s.verified, s.verifiedPath
	if img == nil {
		img, path = s.unknown, s.unknownPath
	}
	b.Table = s.Finder.Bound(b.Table, s.again(img, path))
}

// again opens an image whose headers are known, nil where there is none, or another one by now.
func (s *search) again(img *image.Image, path string) *image.Image {
	if img == nil {
		return nil
	}
	file, err := s.open(path)
	if err != nil {
		return nil
	}
	again, err := image.Open(file)
	if err != nil || again.Identity != img.Identity {
		file.Close()
		return nil
	}
	return again
}

// addImage adds to a separate debug file what only its image has. A PE's
// stubs are functions of the linker's own tables, which the debug file has too.
func (s *search) addImage(b *symbols.Binding) {
	img, path := s.verified, s.verifiedPath
	if img == nil && b.Status == symbols.Unverified {
		img, path = s.unknown, s.unknownPath
	}
	if img == nil || img.Kind != image.ELF || b.Status != symbols.Matched && b.Status != symbols.Unverified || b.File == path {
		return
	}
	if again := s.again(img, path); again != nil {
		b.Table = symtab.Complete(b.Table, again)
	}
}

// choose returns the rank of the candidate to take, -1 where there is none.
func (s *search) choose() int {
	chosen := -1
	for rank, c := range s.best {
		if c != nil {
			chosen = rank
			break
		}
	}
	if !s.LoadMismatched {
		return chosen
	}
	// Whoever asks for a file of another build asks for more than exports.
	if c, m := s.best[max(chosen, 0)], s.best[rankMismatched]; c != nil && m != nil && c.image && exportsOnly(c.table) {
		return rankMismatched
	}
	if chosen == rankOtherImage {
		if table, err := s.openPlaced(s.otherPath); err == nil {
			s.best[rankOtherImage].table = table
		} else {
			s.note(s.otherPath, "%v", plainError(err))
		}
	}
	return chosen
}

// debugOnly reports whether an image is a separate debug file, whose code lies
// elsewhere.
func debugOnly(img *image.Image) bool {
	only := false
	for _, section := range img.Sections {
		if section.Exec {
			if !section.NoBits {
				return false
			}
			only = true
		}
	}
	return only
}

// plainError returns the cause without the operation and path that the
// attempt names already.
func plainError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// FindAndOpen is Find, and opens the module's image too, if it was found and is not of
// another build. The image is nil where there is none; the caller closes it.
func (f *Finder) FindAndOpen(ctx context.Context, mod *modules.Module) (symbols.Binding, *image.Image) {
	s := &search{Finder: f, module: mod}
	b, packed := s.usePacked()
	if packed {
		// Of the files here only the image of the same build counts, for what is not names.
		f.prepare()
		s = &search{Finder: f, ctx: ctx, module: mod, expected: mod.Identity, seen: make(map[string]bool)}
		s.findImages()
		s.unknown = nil
	} else {
		s = f.search(ctx, mod, false)
		b = s.binding()
	}
	path, want := s.verifiedPath, s.verified
	if want == nil {
		path, want = s.unknownPath, s.unknown
	}
	if want == nil {
		return b, nil
	}
	file, err := s.open(path)
	if err != nil {
		return b, nil
	}
	im, err := image.Open(file)
	if err != nil || im.Identity != want.Identity {
		file.Close()
		return b, nil
	}
	return b, im
}
