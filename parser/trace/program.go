package trace

import (
	"time"

	"logparser/parser"
)

// Processes returns the one process that wrote the log.
func (l *Log) Processes(int) []parser.Process {
	v := l.view.Load()
	return []parser.Process{{ID: v.header.PID, Path: v.program, Modules: v.epochs.modules.Len()}}
}

// Began implements [parser.ClockTeller].
func (l *Log) Began(int) (times []time.Time, system string) {
	v := l.view.Load()
	for i := range v.clock.points {
		p := &v.clock.points[i]
		if p.wall == 0 {
			continue
		}
		began := time.Unix(0, p.wall).Add(-time.Duration(p.ns)).UTC()
		if n := len(times); n == 0 || times[n-1].Sub(began).Abs() > time.Millisecond {
			times = append(times, began)
		}
	}
	return times, v.system
}
