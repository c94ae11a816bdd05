package dwarf

// readAranges reads .debug_aranges: the code ranges of units, by the offset of
// the unit's header. It is nil where there is no such section. What is damaged
// is left out.
func (t *Table) readAranges() map[int64][]span {
	section, err := t.src.section("aranges")
	if err != nil {
		return nil
	}
	out := map[int64][]span{}
	w := window{c: section}
	limit := t.rangeLimit()
	for off := int64(0); off < section.Size(); {
		head, err := w.at(off, 32)
		if err != nil {
			break
		}
		b := &buf{b: head, big: t.src.big}
		length, offsetSize := b.length()
		start := int64(b.pos)
		if b.failed || length > uint64(section.Size()-off-start) {
			break
		}
		end := off + start + int64(length)
		version := b.u16()
		unit := int64(b.uint(offsetSize))
		size, segment := int(b.u8()), b.u8()
		at := off + int64(b.pos)
		failed := b.failed
		off = end
		if failed || version != 2 || segment != 0 || size != 4 && size != 8 {
			continue
		}
		// Pairs are aligned to their size, counted from the header.
		pair := int64(2 * size)
		at += (pair - (at-(end-int64(length)-start))%pair) % pair
		for at+pair <= end {
			data, err := w.at(at, pair)
			if err != nil {
				return out
			}
			b := &buf{b: data, big: t.src.big}
			lo, n := b.uint(size), b.uint(size)
			at += pair
			if b.failed || lo == 0 && n == 0 {
				break
			}
			if s := (span{lo, lo + n}); s.hi > s.lo && t.isCode(s) {
				if limit--; limit < 0 {
					return out
				}
				out[unit] = append(out[unit], s)
			}
		}
	}
	return out
}
