package grid

import (
	"math"

	"logparser/rows"
)

// Waiting is the Index of a row that is not at hand yet: a placeholder is drawn
// for it. A source that hands such out has [Grid.Reload] called when the row has
// come.
const Waiting = math.MinInt64

// A Source is what a grid shows. It may change its content between redraws;
// of its length the grid learns by [Grid.SetSource] and [Grid.Reload].
type Source interface {
	Len() int64
	// Read fills dst with the rows from number from on and returns how many.
	Read(dst []rows.Row, from int64) (int, error)
}

// An Ink is the meaning of a colour; the [Palette] gives the colour.
type Ink uint8

const (
	Plain  Ink = iota
	Dim        // what matters less than the rest
	Enter      // the sign of an enter
	Leave      // the sign of a leave
	Good       // verified
	Warn       // to be read with care
	Bad        // wrong or damaged
	Accent     // a place to go to
	inks
)

// A Cell is what a column shows of one row.
type Cell struct {
	// Text is appended to by the column; it is reused between cells.
	Text []byte
	Ink  Ink
	// Level indents the text by so many steps, as far as there is room; the number of
	// steps stands before the text of those that are indented less.
	Level int
	// Name says that the text is the name of a function: where it is too long it is
	// shortened as package shortname does, not cut off.
	Name bool
	// Sign is a glyph before the text, in SignInk; 0 for none.
	Sign    rune
	SignInk Ink
	// Bar fills that share of the cell, 0 to 1, behind the text.
	Bar float32
	// Swatch, if not 0, is 1 and the number of a colour of [Palette].Swatches that is drawn before
	// the text.
	Swatch uint8
	// Tail is drawn behind the text, dimmed; reused like it.
	Tail []byte
	// Decor is what [Grid.Decorate] said of the row.
	Decor *Decor
}

// A Fold says whether a row is a call that can be folded.
type Fold uint8

const (
	NoFold Fold = iota
	FoldOpen
	FoldClosed
)

// A Decor is what is shown of a row besides its own content.
type Decor struct {
	Fold Fold
	// Hidden is the number of rows hidden in a folded call.
	Hidden int64
	// Repeat is how often in all what begins here comes, one after the other;
	// 0 or 1 for once.
	Repeat int64
	// Annotation is what the recorded program wrote into its log before the row, ""
	// for nothing.
	Annotation string
	// Bookmark marks the row at its left edge.
	Bookmark bool
}

// Labels is the number of colours that cells can be labelled with.
const Labels = 6

// A Column is one column of a grid.
type Column struct {
	// ID names the column for ever, Title is its head in the user's language.
	ID, Title string
	// Width and MinWidth are in device-independent pixels.
	Width, MinWidth float32
	// Right aligns to the right edge.
	Right bool
	// Grow lets the column take what width is left over.
	Grow bool
	// Tree leaves room for the mark that folds and unfolds a call.
	Tree bool
	// KeepEnd drops the beginning of a text that is too long, not its end.
	KeepEnd bool
	// Hidden columns are not drawn.
	Hidden bool
	// Cell describes the cell of a row.
	Cell func(r *rows.Row, c *Cell)
}

// SortSign is what the title of a column ends with that a list is sorted by.
func SortSign(falling bool) string {
	if falling {
		return " \u25bc"
	}
	return " \u25b2"
}
