package ui

import (
	"maps"

	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
)

// colourThreads gives each thread a colour, by its place among the threads: the same in the table
// and in the timeline.
func (w *workspace) colourThreads(s *control.State) {
	swatches := make(map[rows.Track]uint8, len(s.Threads))
	if len(s.Threads) > 1 {
		for i := range s.Threads {
			swatches[s.Threads[i].Track()] = uint8(i%grid.Swatches) + 1
		}
	}
	if maps.Equal(swatches, w.swatches) {
		return
	}
	w.swatches = swatches
	w.table.format.Swatches = swatches
	w.table.grid.Refresh()
	w.views.timeline.SetSwatches(swatches)
}
