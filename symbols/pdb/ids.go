package pdb

import (
	"strings"

	"logparser/symbols/pdb/msf"
)

// openIDs opens the id stream. It is streamIPI if the file's features say so.
// Tools that rewrite a PDB may keep the stream and lose the features: where
// there are none, it is still the id stream if it has no name and everything
// in it is as the linker writes it. Otherwise nothing is known about what it
// holds, and the file has no ids.
func openIDs(f *msf.File, in *info) (*typeStream, error) {
	if in.ids {
		return openTypes(f, streamIPI)
	}
	if in.streamIPINamed {
		return &typeStream{}, nil
	}
	ts, err := openTypes(f, streamIPI)
	if err != nil || !ts.isIDs() {
		return &typeStream{}, nil
	}
	return ts, nil
}

// Numbers of buckets of a type stream's hash table, and the size of its keys
// in bytes, as linkers write them since there are ids.
const (
	minTypeBuckets = 0x1000
	maxTypeBuckets = 0x3FFFF
	typeHashSize   = 4
)

// isIDs reports whether a stream is without doubt one of ids: its header has
// no value that the linker would not write, and its first record is an id.
func (ts *typeStream) isIDs() bool {
	if ts.stream == nil {
		return false
	}
	h, err := ts.stream.Read(0, typeHeaderSize)
	if err != nil {
		return false
	}
	buckets := le.Uint32(h[28:])
	if le.Uint32(h) != typesV80 || ts.records.off != typeHeaderSize || ts.records.off+ts.records.size != ts.stream.Size() ||
		ts.begin != firstType || le.Uint32(h[24:]) != typeHashSize || buckets < minTypeBuckets || buckets > maxTypeBuckets {
		return false
	}
	b, err := ts.record(ts.begin)
	return err == nil && len(b) >= 2 && le.Uint16(b) >= lfFuncID && le.Uint16(b) <= lfLastID
}

// function returns the name of an inlined function by its id, with its
// scopes, and its signature, "" if the types are not known.
func (n *typeNames) function(id uint32) (name, signature string, err error) {
	b, err := n.ids.record(id)
	if err != nil {
		return "", "", err
	}
	if len(b) < 10 {
		return "", "", errNoType
	}
	scope, typ := le.Uint32(b[2:]), le.Uint32(b[6:])
	name = normalise(cString(b[10:]))
	p := printer{typeNames: n}
	var outer string
	switch le.Uint16(b) {
	case lfFuncID:
		if scope != 0 {
			outer, err = p.text(scope)
			outer = normalise(outer)
		}
	case lfMFuncID:
		outer, err = p.typeName(scope)
	default:
		return "", "", errNoType
	}
	if err != nil {
		return "", "", err
	}
	if outer != "" {
		name = outer + "::" + name
	}
	return name, n.signature(name, typ), nil
}

// text returns a string of the id stream, which may be made of several.
func (p *printer) text(id uint32) (string, error) {
	p.depth++
	p.work++
	defer func() { p.depth-- }()
	if p.depth > maxTypeDepth || p.work > maxTypeWork {
		return "", errNoType
	}
	b, err := p.ids.record(id)
	if err != nil {
		return "", err
	}
	switch leaf := le.Uint16(b); {
	case leaf == lfStringID && len(b) >= 6:
		front := ""
		if list := le.Uint32(b[2:]); list != 0 {
			if front, err = p.text(list); err != nil {
				return "", err
			}
		}
		return front + cString(b[6:]), nil
	case leaf == lfSubstrList && len(b) >= 6:
		var text strings.Builder
		count := min(le.Uint32(b[2:]), uint32(len(b)-6)/4)
		for i := range count {
			s, err := p.text(le.Uint32(b[6+i*4:]))
			if err != nil {
				return "", err
			}
			text.WriteString(s)
			if text.Len() > maxTypeText {
				return "", errNoType
			}
		}
		return text.String(), nil
	}
	return "", errNoType
}

// idType returns the function type that an id belongs to.
func (n *typeNames) idType(id uint32) uint32 {
	b, err := n.ids.record(id)
	if err != nil || len(b) < 10 {
		return 0
	}
	if leaf := le.Uint16(b); leaf != lfFuncID && leaf != lfMFuncID {
		return 0
	}
	return le.Uint32(b[6:])
}
