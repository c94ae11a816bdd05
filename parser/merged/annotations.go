package merged

import (
	"context"
	"iter"

	"logparser/parser"
)

// annotations are those of one log, from some time on.
type annotations struct {
	of *part
	// next is the one that comes next, nil at the end and where there is an error.
	next *parser.Annotation
	err  error
	get  func() (*parser.Annotation, error, bool)
	stop func()
}

func (of *part) annotations(ctx context.Context, from int64) *annotations {
	h := &annotations{of: of}
	h.get, h.stop = iter.Pull2(func(yield func(*parser.Annotation, error) bool) {
		more := true
		err := of.can.Annotator.Annotations(ctx, 0, of.own(from), func(a *parser.Annotation) bool {
			more = yield(a, nil)
			return more
		})
		if err != nil && more {
			yield(nil, err)
		}
	})
	h.pull()
	return h
}

// pull takes the next annotation, which is good until the next pull.
func (h *annotations) pull() {
	h.next, h.err, _ = h.get()
}
