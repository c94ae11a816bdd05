package index

import "encoding/binary"

// An exception is an event that does not just enter a call or close the top.
type exception struct {
	row  uint32 // in the block
	kind uint8
	// n is how many calls were left without a leave.
	n uint32
	// pushed are calls that were found to be open, outermost first.
	pushed []pushed
}

const (
	// stray closes no call.
	stray = iota
	// unwound closes a call below the top.
	unwound
	// tailed closes the top, and is marked as a tail.
	tailed
	// resumed comes before what else the event does: calls end, and others
	// are open whose enters are missing.
	resumed
	exceptionBits = 2
)

// A pushed is so many calls of one address whose enters are missing.
type pushed struct{ n, address uint32 }

// appendExceptions appends exceptions of rising rows in their short form.
func appendExceptions(b []byte, list []exception) []byte {
	row := uint32(0)
	for i := range list {
		x := &list[i]
		b = binary.AppendUvarint(b, uint64(x.row-row)<<exceptionBits|uint64(x.kind))
		row = x.row
		switch x.kind {
		case unwound:
			b = binary.AppendUvarint(b, uint64(x.n))
		case resumed:
			b = binary.AppendUvarint(b, uint64(x.n))
			b = binary.AppendUvarint(b, uint64(len(x.pushed)))
			for _, p := range x.pushed {
				b = binary.AppendUvarint(b, uint64(p.n))
				b = binary.AppendUvarint(b, uint64(p.address))
			}
		}
	}
	return b
}

// parseExceptions is the reverse of appendExceptions, for n bytes.
func parseExceptions(n int, at func(i int) byte) []exception {
	var list []exception
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
		x := exception{row: row, kind: uint8(v & (1<<exceptionBits - 1))}
		switch x.kind {
		case unwound:
			x.n = uint32(next())
		case resumed:
			x.n = uint32(next())
			for k := next(); k > 0 && i < n; k-- {
				x.pushed = append(x.pushed, pushed{uint32(next()), uint32(next())})
			}
		}
		list = append(list, x)
	}
	return list
}
