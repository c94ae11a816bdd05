// Package calltree shows who calls what in a selection, with equal calls
// merged: a tree of any number of nodes on the virtual grid, top-down or
// bottom-up, of all threads together or of each.
//
// Its input is an [app.Tree]; its output is pixels and callbacks. Which rows
// are unfolded (outline) knows nothing of Fyne.
package calltree
