package unwind

// A KeptTable has rules that were collected from an image.
type KeptTable interface {
	// Rule returns the rules of the code at an RVA. Where no entry is about it, Start and End are
	// equal.
	Rule(rva uint64) (Place, error)
	// LeavesAlone is what [LeavesAlone] said of the image.
	LeavesAlone() bool
}

// A Place is the rules of a place, and the entry that it lies in.
type Place struct {
	Start, End, Function uint64
	Exact, Return        KeptRow
}

// Kept are rules that were kept without their image. It is safe for concurrent use if its table is.
type Kept struct {
	machine Machine
	table   KeptTable
}

// NewKept returns the rules of a table of a machine's code.
func NewKept(m Machine, table KeptTable) *Kept { return &Kept{m, table} }

// caller implements [Rules].
func (k *Kept) caller(s *step) (caller, error) {
	if k.machine != s.Machine {
		return caller{}, errNoRule
	}
	rva := s.frame.Lookup() - s.module.Base
	found, err := k.table.Rule(rva)
	if err != nil {
		return caller{}, err
	}
	if found.Start >= found.End {
		if !k.table.LeavesAlone() {
			return caller{}, errNoRule
		}
		return s.leaf()
	}
	rule := found.Return
	if s.frame.Exact {
		rule = found.Exact
	}
	if rule == leafRule {
		return s.leaf()
	}
	r, err := rule.row()
	if err != nil {
		return caller{}, err
	}
	if r.info && k.machine == X8664 && s.frame.Exact {
		x := &x64Frame{s: s, r: s.frame.Registers}
		if x.epilogue(found.Start, found.End, func() int { return r.frame - 1 }) {
			return x.finish()
		}
	}
	return r.apply(s)
}
