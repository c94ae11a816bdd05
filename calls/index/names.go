package index

import (
	"sync"

	"logparser/calls"
)

// A names asks a Namer, which need not be safe for concurrent use.
type names struct {
	mu    sync.Mutex
	namer calls.Namer
	known map[nameKey]calls.Function
}

type nameKey struct {
	run     int
	space   uint16
	address uint64
}

func (n *names) function(run int, space uint16, address uint64) calls.Function {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := nameKey{run, space, address}
	f, ok := n.known[k]
	if !ok {
		f = n.namer(run, space, address)
		n.known[k] = f
	}
	return f
}

func newNames(namer calls.Namer) *names {
	if namer == nil {
		return nil
	}
	return &names{namer: namer, known: make(map[nameKey]calls.Function)}
}
