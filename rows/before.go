package rows

import "io"

// Before returns the rows of a source before position n; all where it has fewer. More of them can be filled in
// where the source can do that.
func Before(src Source, n int64) Source { return before{src, n} }

type before struct {
	Source
	n int64
}

func (b before) Len() int64 { return min(b.n, b.Source.Len()) }

func (b before) Read(dst []Row, from int64) (int, error) {
	left := max(b.Len()-from, 0)
	if int64(len(dst)) <= left {
		return b.Source.Read(dst, from)
	}
	n, err := b.Source.Read(dst[:left], from)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

// With implements [Filler].
func (b before) With(f Fields) Source { return before{With(b.Source, f), b.n} }
