// Package listing is a table of things that fit into memory, on the virtual
// grid: its columns sort, a text narrows it, and it can be copied. Sorting and
// narrowing happen on a goroutine of their own.
package listing

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"logparser/rows"
	"logparser/ui/grid"
)

// A Column is one column of a list of T.
type Column[T any] struct {
	// ID names the column for ever; Title is its head in the present language.
	ID    string
	Title func() string
	// Width is in device-independent pixels.
	Width float32
	Right bool
	Grow  bool
	// Cell describes an item's cell.
	Cell func(item *T, c *grid.Cell)
	// Compare orders by the column, least first.
	Compare func(a, b *T) int
	// Falling sorts the greatest first when the column is first chosen.
	Falling bool
}

// By makes a Compare of what an item is ordered by.
func By[T any, K cmp.Ordered](key func(item *T) K) func(a, b *T) int {
	return func(a, b *T) int { return cmp.Compare(key(a), key(b)) }
}

// A List is the table. It belongs to the goroutine that Fyne calls widgets on.
type List[T any] struct {
	Grid *grid.Grid
	// OnChosen is told the current item, nil for none.
	OnChosen func(item *T)
	// OnArranged is called after items were sorted or narrowed anew.
	OnArranged func()
	// OnSorted is told the order that the user has chosen, as [List.Sort] takes it.
	OnSorted func(sorted string)

	post    func(func())
	columns []Column[T]
	// same reports whether two items are about the same thing, so that it stays
	// chosen when the items change.
	same  func(a, b *T) bool
	items []T
	shown []int32 // indexes into items, in the order of the rows

	sortBy  int
	falling bool
	keep    func(item *T) bool
	number  int // of the latest arrangement
	// arranging: the chosen item finds its place again.
	arranging bool
}

// New makes an empty list that is sorted by the column with number sortBy. post
// must run functions one after the other on the goroutine of the list.
func New[T any](columns []Column[T], sortBy int, same func(a, b *T) bool, fonts *grid.Fonts, palette *grid.Palette, post func(func())) *List[T] {
	l := &List[T]{post: post, columns: columns, same: same, sortBy: sortBy, falling: columns[sortBy].Falling}
	list := make([]grid.Column, len(columns))
	for i, c := range columns {
		list[i] = grid.Column{ID: c.ID, Width: c.Width, MinWidth: 32, Right: c.Right, Grow: c.Grow, Cell: func(r *rows.Row, cell *grid.Cell) {
			if r.Index < int64(len(l.shown)) {
				c.Cell(&l.items[l.shown[r.Index]], cell)
			}
		}}
	}
	l.Grid = grid.New(list, fonts, palette)
	l.Grid.OnHeader = l.sort
	l.Grid.FitNumbers = true
	l.Grid.OnSelected = func(int64) {
		if l.OnChosen != nil {
			l.OnChosen(l.Chosen())
		}
	}
	l.Relabel()
	return l
}

// Relabel says the heads in the present language.
func (l *List[T]) Relabel() {
	for i, c := range l.columns {
		title := c.Title()
		if i == l.sortBy {
			title += grid.SortSign(l.falling)
		}
		l.Grid.SetTitle(c.ID, title)
	}
}

// sort is for a press on a column's head.
func (l *List[T]) sort(id string) {
	i := slices.IndexFunc(l.columns, func(c Column[T]) bool { return c.ID == id })
	switch {
	case i < 0 || l.columns[i].Compare == nil:
		return
	case i == l.sortBy:
		l.falling = !l.falling
	default:
		l.sortBy, l.falling = i, l.columns[i].Falling
	}
	l.Relabel()
	l.arrange(l.items)
	if l.OnSorted != nil {
		l.OnSorted(l.Sorted())
	}
}

// Sorted is the order of the list, for [List.Sort].
func (l *List[T]) Sorted() string {
	if l.falling {
		return l.columns[l.sortBy].ID + " falling"
	}
	return l.columns[l.sortBy].ID
}

// Sort arranges the list in an order that Sorted has returned; others do nothing.
func (l *List[T]) Sort(sorted string) {
	id, falling := strings.CutSuffix(sorted, " falling")
	i := slices.IndexFunc(l.columns, func(c Column[T]) bool { return c.ID == id && c.Compare != nil })
	if i < 0 {
		return
	}
	l.sortBy, l.falling = i, falling
	l.Relabel()
	l.arrange(l.items)
}

// SortNext sorts by the next column that can be sorted by, or the one before;
// it is for who uses no mouse.
func (l *List[T]) SortNext(back bool) {
	step := 1
	if back {
		step = len(l.columns) - 1
	}
	for i := (l.sortBy + step) % len(l.columns); i != l.sortBy; i = (i + step) % len(l.columns) {
		if l.columns[i].Compare != nil {
			l.sort(l.columns[i].ID)
			return
		}
	}
}

// Turn turns the order round.
func (l *List[T]) Turn() { l.sort(l.columns[l.sortBy].ID) }

// Show shows items, which must not be changed any more.
func (l *List[T]) Show(items []T) { l.arrange(items) }

// Narrow shows only items that keep wants, nil for all. It is called on
// another goroutine.
func (l *List[T]) Narrow(keep func(item *T) bool) {
	l.keep = keep
	l.arrange(l.items)
}

// Items returns all items, the hidden ones too.
func (l *List[T]) Items() []T { return l.items }

// Len returns the number of items shown.
func (l *List[T]) Len() int { return len(l.shown) }

// At returns the item of a row, nil if there is none.
func (l *List[T]) At(row int64) *T {
	if row < 0 || row >= int64(len(l.shown)) {
		return nil
	}
	return &l.items[l.shown[row]]
}

// Chosen returns the current item, nil for none.
func (l *List[T]) Chosen() *T { return l.At(l.Grid.Current()) }

// Arranging reports, to who is told of the current item, that it was not chosen
// by the user: items were sorted or narrowed anew.
func (l *List[T]) Arranging() bool { return l.arranging }

// arrange sorts and narrows, and shows that unless something newer has been
// arranged meanwhile.
func (l *List[T]) arrange(items []T) {
	l.number++
	number, keep, compare, falling := l.number, l.keep, l.columns[l.sortBy].Compare, l.falling
	go func() {
		shown := order(items, keep, compare, falling)
		l.post(func() {
			if l.number == number {
				l.take(items, shown)
			}
		})
	}()
}

func order[T any](items []T, keep func(*T) bool, compare func(a, b *T) int, falling bool) []int32 {
	shown := make([]int32, 0, len(items))
	for i := range items {
		if keep == nil || keep(&items[i]) {
			shown = append(shown, int32(i))
		}
	}
	slices.SortStableFunc(shown, func(a, b int32) int {
		n := compare(&items[a], &items[b])
		if falling {
			return -n
		}
		return n
	})
	return shown
}

// take shows an arrangement. The chosen item stays chosen.
func (l *List[T]) take(items []T, shown []int32) {
	var chosen *T
	if c := l.Chosen(); c != nil {
		copied := *c
		chosen = &copied
	}
	l.arranging = true
	defer func() { l.arranging = false }()
	l.items, l.shown = items, shown
	l.Grid.SetSource(source(len(shown)))
	if chosen != nil {
		if at := slices.IndexFunc(shown, func(i int32) bool { return l.same(&items[i], chosen) }); at >= 0 {
			l.Grid.SetCurrent(int64(at))
			l.Grid.Centre(int64(at))
		} else if l.OnChosen != nil {
			l.OnChosen(nil)
		}
	}
	if l.OnArranged != nil {
		l.OnArranged()
	}
}

// Text returns the selected items, with the heads, as text with tabs between
// the cells.
func (l *List[T]) Text() string {
	first, last, ok := l.Grid.Selection()
	if !ok {
		return ""
	}
	hidden := make(map[string]bool)
	for _, c := range l.Grid.Columns() {
		hidden[c.ID] = c.Hidden
	}
	var shown []Column[T]
	for _, c := range l.columns {
		if !hidden[c.ID] {
			shown = append(shown, c)
		}
	}
	var b strings.Builder
	for i, c := range shown {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(c.Title())
	}
	b.WriteByte('\n')
	for row := first; row <= last; row++ {
		item := l.At(row)
		if item == nil {
			break
		}
		for i, c := range shown {
			if i > 0 {
				b.WriteByte('\t')
			}
			var cell grid.Cell
			c.Cell(item, &cell)
			b.Write(cell.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// source numbers the rows; the columns look the items up.
type source int

func (n source) Len() int64 { return int64(n) }

func (n source) Read(dst []rows.Row, from int64) (int, error) {
	for k := range dst {
		i := from + int64(k)
		if i >= int64(n) {
			return k, io.EOF
		}
		dst[k] = rows.Row{Index: i, Duration: rows.NoDuration}
	}
	return len(dst), nil
}
