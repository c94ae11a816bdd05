// Package control is what the window does, without the window: it opens a
// session from three inputs, loads, cancels, finds, filters and saves, and
// keeps the [State] that widgets show.
//
// Its input is the user's wishes (methods of [Controller] and of its parts: inputs,
// filter, finder, following, calls, views, saving) and an [Opener]; its output is the
// state and a call for each change. All methods and the state belong to one goroutine,
// the user interface's; work is done on others, which hand their results over through
// the function given to [New]. So the whole logic is tested without a display.
package control
