package pairing

import (
	"sync"

	"logparser/calls"
)

// Names asks a [calls.Namer], which need not be safe for concurrent use, once for each address.
// It is safe for concurrent use itself.
type Names struct {
	mu    sync.Mutex
	namer calls.Namer
	known map[nameKey]calls.Function
}

type nameKey struct {
	run     int
	space   uint16
	address uint64
}

func (n *Names) function(run int, space uint16, address uint64) calls.Function {
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

// NewNames returns what asks a namer, nil for none.
func NewNames(namer calls.Namer) *Names {
	if namer == nil {
		return nil
	}
	return &Names{namer: namer, known: make(map[nameKey]calls.Function)}
}
