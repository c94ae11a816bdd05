// Package grid is a table widget for row counts that no other widget carries:
// it keeps the place as a 64-bit row number and draws what is visible into one
// image, from glyphs that it rasterises once.
//
// Its input is a [Source] of rows and a list of [Column]; its output is pixels
// and callbacks. The arithmetic (viewport), the selection and the painting
// know nothing of Fyne and are tested by themselves; [Grid] joins them into a
// widget.
//
// What holds, and is locked by a test of the same number:
//
//  1. Every row of a source of any length can be scrolled to exactly, and
//     the pixel a row is drawn at leads back to that row.
//  2. The view never leaves the source: the first row is never above the top
//     edge's place, the last never above the bottom edge while rows fill the
//     view.
//  3. The scroll bar's ends are the source's ends, and a thumb that is dragged
//     stays under the pointer, to the pixel.
//  4. A redraw reads the visible rows once, in one call, and no others.
//  5. Row 999,999,999 of a billion rows can be shown and selected.
//  6. The number of objects on the canvas does not depend on the source.
//  7. A selection is a range of rows that lies within the source.
//  8. A full redraw of 60 rows by 10 columns makes fewer allocations than it
//     has cells (BenchmarkRedraw measures its time, 3.5 ms).
package grid
