// Package statistics shows how often the functions of a selection were called
// and how long they took: a sortable table, and below it the histogram of the
// chosen function's durations, a part of which limits what all views show.
//
// Its input is what [app.Session.Statistics] returns; its output are pixels,
// text and callbacks. The arithmetic of the histogram knows nothing of Fyne.
package statistics
