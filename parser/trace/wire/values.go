package wire

import "logparser/message"

// Process records about values of calls. Their bodies end with what has no length of its own.
const (
	PlanRecord  ProcessType = 17
	PlaceRecord ProcessType = 18

	// LastProcessType is the last type that this version has.
	LastProcessType = PlaceRecord
)

// A ValueKind says what the bytes of an ARGUMENTS or RESULT are.
type ValueKind uint16

// Kinds of values.
const (
	ByPlan    ValueKind = 1
	Registers ValueKind = 2
	Given     ValueKind = 3
)

// A Plan is a piece of the plan that values were taken by.
type Plan struct {
	Hash   uint64 // FNV-1a of 64 bits of the whole
	Size   uint32 // bytes of the whole
	Offset uint32 // of the piece
	Piece  []byte
}

// Append appends the body of a PLAN.
func (p Plan) Append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(le.AppendUint64(b, p.Hash), p.Size), p.Offset)
	return append(b, p.Piece...)
}

// ParsePlan reads the body of a PLAN. The piece is a part of b.
func ParsePlan(b []byte) (p Plan, err error) {
	r := bodyReader{b: b}
	p.Hash, p.Size, p.Offset = r.number(8), uint32(r.number(4)), uint32(r.number(4))
	if r.short {
		return Plan{}, ErrShort
	}
	if p.Offset >= p.Size {
		return Plan{}, message.Errorf("a piece of the plan begins at byte %d of %d", p.Offset, p.Size)
	}
	p.Piece = r.b[:min(uint32(len(r.b)), p.Size-p.Offset)]
	return p, nil
}

// A Place is where the program gives values.
type Place struct {
	Number, Line            uint32
	Function, Source, Names string
	Codes                   []uint8
	Types                   []string
}

// ParsePlace reads the body of a PLACE.
func ParsePlace(b []byte) (p Place, err error) {
	r := bodyReader{b: b}
	p.Number, p.Line = uint32(r.number(4)), uint32(r.number(4))
	p.Function, p.Source, p.Names = string(r.bytes()), string(r.bytes()), string(r.bytes())
	n := r.number(2)
	p.Codes = append(p.Codes, r.take(n)...)
	for range p.Codes {
		p.Types = append(p.Types, string(r.bytes()))
	}
	if r.short {
		return Place{}, ErrShort
	}
	return p, nil
}
