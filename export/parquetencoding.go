package export

import (
	"encoding/binary"
	"math/bits"
)

// appendHybrid appends values with width bits each in the RLE/bit-packing hybrid encoding: runs of equal values, and groups of
// eight packed values.
func appendHybrid(dst []byte, values []uint32, width int) []byte {
	// packed is the offset of the header of the current bit-packed run, or -1 if there is none, and groups its number of groups
	// so far. The header has one byte, which limits a run to 63 groups.
	packed, groups := -1, 0
	for k := 0; k < len(values); {
		v, run := values[k], 1
		for k+run < len(values) && values[k+run] == v {
			run++
		}
		if run >= 8 {
			if packed >= 0 {
				dst[packed] = byte(groups<<1 | 1)
				packed = -1
			}
			dst = binary.AppendUvarint(dst, uint64(run)<<1)
			for b := 0; b < width; b += 8 {
				dst = append(dst, byte(v>>b))
			}
			k += run
			continue
		}
		if packed < 0 {
			packed, groups = len(dst), 0
			dst = append(dst, 0)
		}
		var word uint64
		used := 0
		for i := range 8 {
			// The last group may be padded with anything.
			if k+i < len(values) {
				word |= uint64(values[k+i]) << used
			}
			if used += width; used >= 32 {
				dst = binary.LittleEndian.AppendUint32(dst, uint32(word))
				word >>= 32
				used -= 32
			}
		}
		for ; used > 0; used -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
		k += 8
		if groups++; groups == 63 {
			dst[packed] = byte(groups<<1 | 1)
			packed = -1
		}
	}
	if packed >= 0 {
		dst[packed] = byte(groups<<1 | 1)
	}
	return dst
}

const (
	deltaBlock = 128
	deltaMini  = 32
)

// appendDeltas appends values in the encoding DELTA_BINARY_PACKED.
func appendDeltas(dst []byte, values []int64) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaBlock/deltaMini)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(dst, 0)
	}
	dst = binary.AppendVarint(dst, values[0])
	last := values[0]
	values = values[1:]
	for len(values) > 0 {
		var deltas [deltaBlock]int64
		n := min(len(values), deltaBlock)
		low := values[0] - last
		for i, v := range values[:n] {
			deltas[i] = v - last
			low = min(low, deltas[i])
			last = v
		}
		values = values[n:]
		dst = binary.AppendVarint(dst, low)
		widths := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		for m := 0; m*deltaMini < n; m++ {
			mini := deltas[m*deltaMini : (m+1)*deltaMini]
			for i := range mini {
				if m*deltaMini+i < n {
					mini[i] -= low
				} else {
					mini[i] = 0
				}
			}
			var all uint64
			for _, d := range mini {
				all |= uint64(d)
			}
			width := bits.Len64(all)
			dst[widths+m] = byte(width)
			if width == 0 {
				continue
			}
			var word uint64
			used := 0
			for _, d := range mini {
				v := uint64(d)
				word |= v << used
				if used += width; used >= 64 {
					dst = binary.LittleEndian.AppendUint64(dst, word)
					used -= 64
					// The bits of v that did not fit. If used is 0, all bits fitted, and the shift gives 0.
					word = v >> (width - used)
				}
			}
			// 32 values of any width fill a whole number of 32-bit words.
			for ; used > 0; used -= 32 {
				dst = binary.LittleEndian.AppendUint32(dst, uint32(word))
				word >>= 32
			}
		}
	}
	return dst
}

// Types of the compact protocol of Thrift.
const (
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)
