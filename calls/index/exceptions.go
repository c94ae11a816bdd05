package index

import (
	"encoding/binary"

	"logparser/calls/pairing"
)

// exceptionBits are those of an exception's kind in its short form.
const exceptionBits = 2

// appendExceptions appends exceptions of rising rows in their short form.
func appendExceptions(b []byte, list []pairing.Exception) []byte {
	row := uint32(0)
	for i := range list {
		x := &list[i]
		b = binary.AppendUvarint(b, uint64(x.Row-row)<<exceptionBits|uint64(x.Kind))
		row = x.Row
		switch x.Kind {
		case pairing.Unwound:
			b = binary.AppendUvarint(b, uint64(x.N))
		case pairing.Resumed:
			b = binary.AppendUvarint(b, uint64(x.N))
			b = binary.AppendUvarint(b, uint64(len(x.Pushed)))
			for _, p := range x.Pushed {
				b = binary.AppendUvarint(b, uint64(p.N))
				b = binary.AppendUvarint(b, uint64(p.Address))
			}
		}
	}
	return b
}

// parseExceptions is the reverse of appendExceptions, for n bytes.
func parseExceptions(n int, at func(i int) byte) []pairing.Exception {
	var list []pairing.Exception
	row := uint32(0)
	i := 0
	next := func() uint64 {
		var v uint64
		for shift := 0; i < n; shift += 7 {
			b := at(i)
			i++
			v |= uint64(b&0x7f) << shift
			if b < 0x80 {
				break
			}
		}
		return v
	}
	for i < n {
		v := next()
		row += uint32(v >> exceptionBits)
		x := pairing.Exception{Row: row, Kind: uint8(v & (1<<exceptionBits - 1))}
		switch x.Kind {
		case pairing.Unwound:
			x.N = uint32(next())
		case pairing.Resumed:
			x.N = uint32(next())
			for k := next(); k > 0 && i < n; k-- {
				x.Pushed = append(x.Pushed, pairing.Pushed{N: uint32(next()), Address: uint32(next())})
			}
		}
		list = append(list, x)
	}
	return list
}
