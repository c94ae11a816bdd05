// Package timeline is a widget that draws calls over time: a lane a thread, a
// line a depth of the stack, a box a call. Its input is a [Source]; its output
// is pixels and callbacks.
//
// The picture is one image, drawn with the glyphs of package grid; a few
// objects lie above it for what follows the pointer. The arithmetic of time
// (axis) and of lanes (lanelayout), the colours and the painting know nothing of
// Fyne and are tested by themselves; [Timeline] joins them into a widget.
//
// What holds, and is locked by a test:
//
//  1. Zooming keeps the time under the pointer under it, and no view leaves
//     the log.
//  2. The source is read on a goroutine of the widget's own, one request at a
//     time; what it answers to an old request is never drawn over a newer
//     answer. Until an answer has come, what is known is drawn at its place.
//  3. A frame touches no more boxes than there are pixels, and costs less than
//     8 ms of our CPU time at any number of boxes (BenchmarkFrame).
//  4. Calls too short to be told apart have, for each depth and pixel, the colour of the
//     function that took most time there; where it stays the same they are one
//     hatched box with its name and their number.
//  5. Annotations of the program are drawn above the calls, no more of them than there
//     are pixels.
//  6. A function has one colour, in whatever log, window and view; every
//     name can be read on its colour, in light and in dark.
//  7. The frame of the overview is what the timeline shows. Dragged, it keeps its
//     length; an edge that is dragged leaves the other where it is.
package timeline
