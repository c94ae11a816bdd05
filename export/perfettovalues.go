package export

import (
	"encoding/binary"
	"slices"
	"strings"

	"logparser/rows"
)

// This file has the values of calls in Perfetto's traces: debug annotations of the slice, with a type each. The
// annotation "arguments" is a dictionary of the arguments, and "result" one of what was taken where the call ended.

const (
	// maxKeys bounds the names of values that are numbered in a part. Any further name is written where it is used.
	maxKeys = 1 << 16
)

// callValues adds the arguments and the result of a call, nil for none.
func (p *perfetto) callValues(v *rows.CallValues) {
	if v == nil {
		return
	}
	if len(v.Arguments) > 0 {
		p.dictionary("arguments", v.Arguments)
	}
	if len(v.Results) > 0 {
		p.dictionary("result", v.Results)
	}
}

// dictionary adds an annotation of the event with values by their names.
func (p *perfetto) dictionary(name string, list []rows.Value) {
	at := p.openMessage(eventAnnotations)
	p.key(name)
	p.members(list)
	p.closeMessage(at)
}

// members adds values by their names to the annotation that is open.
func (p *perfetto) members(list []rows.Value) {
	for i := range list {
		at := p.openMessage(annotationDict)
		p.key(rows.MemberName(list, i))
		p.typed(&list[i])
		p.closeMessage(at)
	}
}

// typed adds a value to the annotation that is open.
func (p *perfetto) typed(v *rows.Value) {
	switch form := v.Form(); {
	case form == rows.UnknownForm:
		at := p.openMessage(annotationDict)
		p.key(rows.NotKnown)
		p.event = appendName(p.event, annotationString, v.Text)
		p.closeMessage(at)
	case form == rows.TextForm:
		// As it was: ends of lines are not replaced, as they are in names.
		p.event = appendBytes(p.event, annotationString, strings.ToValidUTF8(v.Characters, "\uFFFD"))
	case form == rows.ArrayForm:
		for i := range v.Parts {
			at := p.openMessage(annotationArray)
			p.typed(&v.Parts[i])
			p.closeMessage(at)
		}
	case form == rows.StructForm:
		p.members(v.Parts)
	case form == rows.BoolForm:
		truth := uint64(0)
		if v.Text == "true" {
			truth = 1
		}
		p.event = appendField(p.event, annotationBool, truth)
	case form == rows.NullForm, isHex(v):
		p.event = appendField(p.event, annotationHex, v.Bits)
	case v.Kind == rows.FloatValue: // JSON has no infinities
		p.event = appendDouble(p.event, annotationDouble, v.Bits)
	case form == rows.NumberForm && v.Kind == rows.SignedValue:
		p.event = appendField(p.event, annotationInt, v.Bits)
	case form == rows.NumberForm:
		p.event = appendField(p.event, annotationUint, v.Bits)
	default:
		p.event = appendName(p.event, annotationString, v.Text)
	}
}

// isHex reports whether a value is shown as a hexadecimal number and nothing else: a pointer into nothing that has a name, or
// a register.
func isHex(v *rows.Value) bool {
	return (v.Kind == rows.PointerValue || v.Kind == rows.UnsignedValue) && strings.HasPrefix(v.Text, "0x") && !strings.Contains(v.Text, " ")
}

// key adds the name of the annotation that is open, by its number. The numbers come behind those of [argNames].
func (p *perfetto) key(name string) {
	id := p.keys[name]
	if id == 0 {
		if len(p.keys) >= maxKeys {
			p.event = appendName(p.event, annotationName, name)
			return
		}
		id = numArgs + uint64(len(p.keys)) + 1
		p.keys[name] = id
		p.intern(internedAnnotations, id, name)
	}
	p.event = appendField(p.event, annotationNameID, id)
}

// openMessage begins a message within the event, and returns where its content begins.
func (p *perfetto) openMessage(field int) int {
	p.event = binary.AppendUvarint(p.event, uint64(field)<<3|2)
	p.event = append(p.event, 0) // for its length
	return len(p.event)
}

// closeMessage ends the message whose content begins there. The content moves if its length takes more than one byte.
func (p *perfetto) closeMessage(at int) {
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(p.event)-at))
	p.event[at-1] = length[0]
	if n > 1 {
		p.event = slices.Insert(p.event, at, length[1:n]...)
	}
}
