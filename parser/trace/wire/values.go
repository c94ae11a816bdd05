package wire

import "logparser/message"

// Process records about values of calls. The last field of their bodies reaches to the end of the record.
const (
	PlanRecord  ProcessType = 17
	PlaceRecord ProcessType = 18

	// LastProcessType is the last type of this version.
	LastProcessType = PlaceRecord
)

// A ValueKind says what the bytes of an ARGUMENTS or RESULT record are.
type ValueKind uint16

// Kinds of values.
const (
	ByPlan    ValueKind = 1
	Registers ValueKind = 2
	Given     ValueKind = 3
	// Jumped has no values. The call ended with a jump to the function that the next event of the stream enters, so that its
	// result is that of this one.
	Jumped ValueKind = 4
)

// CallValues is the content of a record of values.
type CallValues struct {
	Kind   ValueKind
	Result bool
	Place  uint32 // of the kind Given
	Values []byte // a part of the record
}

// ParseValues decodes a record of values from its first word and its body, whose bytes v shares. ok is false if the record has
// another type or is too short.
func ParseValues(first uint16, body []byte) (v CallValues, ok bool) {
	t := TypeOf(first)
	v = CallValues{Kind: ByPlan, Result: t == Result || t == PlanResult || t == PlaceResult, Values: body}
	switch t {
	case PlanArguments, PlanResult:
	case PlaceArguments, PlaceResult:
		v.Kind, v.Place = Given, uint32(first>>2&3|first>>12<<2)
	case Arguments, Result:
		if len(body) < 2 {
			return CallValues{}, false
		}
		v.Kind, v.Values = ValueKind(le.Uint16(body)), body[2:]
		if v.Kind != Given {
			break
		}
		if len(body) < 6 {
			return CallValues{}, false
		}
		v.Place, v.Values = le.Uint32(body[2:]), body[6:]
	default:
		return CallValues{}, false
	}
	return v, true
}

// A Plan is a piece of the plan by which values were taken.
type Plan struct {
	Hash   uint64 // FNV-1a with 64 bits of the whole plan
	Size   uint32 // bytes of the whole plan
	Offset uint32 // of the piece in the plan, bytes
	Piece  []byte
}

// Append appends the body of a PLAN.
func (p Plan) Append(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(le.AppendUint64(b, p.Hash), p.Size), p.Offset)
	return append(b, p.Piece...)
}

// ParsePlan reads the body of a PLAN. The piece shares the bytes of b.
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

// A Place is a statement in the program's source that gives values to the recorder.
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
