package unwind

import (
	"context"
	"sort"
	"sync"

	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/image"
)

// NearestTag is before the name of the nearest symbol below an address, where nothing tells whether its function has the address:
// the table lists neither sizes nor all functions, and there are no unwind rules.
const NearestTag = "[nearest] "

// Bound returns a table that lists some functions alone, and not their sizes, such as a map of GNU's linker, with an end of each
// function: where the image's unwind rules say that another one begins. An address behind it has no name. Where there are no rules
// that tell, the name has a tag. The table owns the given one and the image, which may be nil.
func Bound(t symbols.Table, im *image.Image) symbols.Table { return &bounded{Table: t, im: im} }

type bounded struct {
	symbols.Table
	im     *image.Image
	once   sync.Once
	starts *Starts
}

// Lookup implements [symbols.Table].
func (b *bounded) Lookup(rva uint64) (symbols.Symbol, error) {
	s, err := b.Table.Lookup(rva)
	if err != nil {
		return s, err
	}
	return b.bound(rva, s)
}

// LookupAll implements [symbols.Batch].
func (b *bounded) LookupAll(ctx context.Context, rvas []uint64, found func(i int, sym symbols.Symbol, err error)) error {
	return symbols.LookupAll(ctx, b.Table, rvas, func(i int, s symbols.Symbol, err error) {
		if err == nil {
			s, err = b.bound(rvas[i], s)
		}
		found(i, s, err)
	})
}

// bound judges what the table says of an address.
func (b *bounded) bound(rva uint64, s symbols.Symbol) (symbols.Symbol, error) {
	if s.Size != 0 || s.Start == rva || len(s.Frames) == 0 {
		return s, nil
	}
	b.once.Do(func() {
		if b.im != nil {
			b.starts = NewStarts(b.im)
		}
	})
	if b.starts != nil {
		switch b.starts.within(s.Start, rva) {
		case sameFunction:
			return s, nil
		case otherFunction:
			return symbols.Symbol{}, message.Errorf("RVA %#x: %w", rva, symbols.ErrNotFound)
		}
	}
	frames := make([]symbols.Frame, len(s.Frames))
	copy(frames, s.Frames)
	for i := range frames {
		f := &frames[i]
		// The line is of the address, whatever the function is.
		f.Function = NearestTag + f.Function
		if f.Signature != "" {
			f.Signature = NearestTag + f.Signature
		}
	}
	s.Frames, s.Aliases, s.Printable = frames, nil, false
	return s, nil
}

// A belonging says whether an address belongs to the function that a symbol begins.
type belonging uint8

const (
	notTold belonging = iota
	sameFunction
	otherFunction
)

// within reports whether an address belongs to the function that begins at, or has, a start before it.
func (s *Starts) within(start, rva uint64) belonging {
	i := sort.Search(len(s.list), func(i int) bool { return uint64(s.list[i].start) > rva }) - 1
	if i < 0 {
		return notTold
	}
	p := s.list[i]
	switch {
	case rva < uint64(p.end) && uint64(p.function) <= start:
		return sameFunction // a symbol that is not at the beginning is a label in it
	case rva < uint64(p.end), uint64(p.start) > start:
		return otherFunction // or behind the end of one that began behind the symbol
	case uint64(p.end) > start:
		return otherFunction // behind the end of the symbol's own
	}
	return notTold // neither has rules: they may be leaf functions
}

// Unwrap returns the table without ends, for [symbols.As].
func (b *bounded) Unwrap() symbols.Table { return b.Table }

// Close implements [symbols.Table].
func (b *bounded) Close() error {
	err := b.Table.Close()
	if b.im != nil {
		if err2 := b.im.Close(); err == nil {
			err = err2
		}
	}
	return err
}
