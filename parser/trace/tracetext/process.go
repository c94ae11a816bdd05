package tracetext

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"logparser/parser/trace/wire"
)

// processKind returns the kind of process record for which ok returns true, or nil if there is none.
func processKind(ok func(wire.ProcessKind) bool) *wire.ProcessKind {
	if i := slices.IndexFunc(wire.ProcessKinds, ok); i >= 0 {
		return &wire.ProcessKinds[i]
	}
	return nil
}

// isProcess reports whether a process record has a name.
func isProcess(name string) bool {
	return name == "record" || processKind(func(k wire.ProcessKind) bool { return k.Name == name }) != nil
}

// dumpProcess returns the line of the record with the bytes b. The line may not contain everything; the caller must check that.
func dumpProcess(b []byte) string {
	info, b := wire.ParseProcess(b), b[wire.ProcessHead:]
	var s strings.Builder
	kind := processKind(func(k wire.ProcessKind) bool { return k.Type == info.Type })
	if kind == nil {
		fmt.Fprintf(&s, "record @%d type=%d %s", info.Time, info.Type, hex.EncodeToString(b))
		return s.String()
	}
	body := kind.New()
	if wire.ParseBody(b, body) != nil {
		return ""
	}
	fmt.Fprintf(&s, "%s @%d", kind.Name, info.Time)
	v := reflect.ValueOf(body).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("text")
		if name == "" {
			continue
		}
		fmt.Fprintf(&s, " %s=", name)
		switch f := v.Field(i).Interface().(type) {
		case wire.VA:
			fmt.Fprintf(&s, "%#x", uint64(f))
		case string:
			s.WriteString(strconv.Quote(f))
		case []byte:
			s.WriteString(hex.EncodeToString(f))
		default:
			fmt.Fprint(&s, f)
		}
	}
	if p, ok := body.(*wire.Process); ok {
		for _, a := range p.Arguments {
			s.WriteString(" " + strconv.Quote(a))
		}
	}
	return s.String()
}

// loadProcess appends the record of a line, and returns its time. now is the time of the record before.
func loadProcess(b []byte, name string, l *line, now uint64) ([]byte, uint64) {
	time := now
	if len(l.plain) > 0 && strings.HasPrefix(l.plain[0], "@") {
		time = l.number(l.next("a time")[1:], "the time", 64)
	}
	kind := processKind(func(k wire.ProcessKind) bool { return k.Name == name })
	typ := wire.ProcessType(0)
	if kind != nil {
		typ = kind.Type
	} else {
		typ = wire.ProcessType(l.field("type", 16, 0))
		kind = processKind(func(k wire.ProcessKind) bool { return k.Type == typ })
	}
	if kind == nil {
		var body []byte
		if len(l.plain) > 0 {
			body = l.bytes(l.next("bytes"), "the body")
		}
		return wire.AppendProcess(b, typ, time, body), time
	}
	body := kind.New()
	v := reflect.ValueOf(body).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i).Tag.Get("text")
		word, ok := l.fields[field]
		if field == "" || !ok {
			continue
		}
		delete(l.fields, field)
		bits := 8 * int(v.Field(i).Type().Size())
		switch f := v.Field(i); {
		case f.Kind() == reflect.String:
			f.SetString(l.text(word, field))
		case f.Kind() == reflect.Slice:
			f.SetBytes(l.bytes(word, field))
		case f.CanInt():
			f.SetInt(l.signed(word, field, bits))
		default:
			f.SetUint(l.number(word, field, bits))
		}
	}
	if p, ok := body.(*wire.Process); ok {
		for len(l.plain) > 0 {
			p.Arguments = append(p.Arguments, l.text(l.next("an argument"), "an argument"))
		}
	}
	return wire.AppendProcess(b, typ, time, wire.AppendBody(nil, body)), time
}
