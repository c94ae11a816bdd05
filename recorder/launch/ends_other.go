//go:build unix && !linux

package launch

// An endWatcher is told of no ends here but the program's own.
type endWatcher struct{}

func (p *Plan) watchEnds() *endWatcher { return nil }

func (w *endWatcher) run(int) {}

func (w *endWatcher) stop() {}

func (w *endWatcher) close() {}
