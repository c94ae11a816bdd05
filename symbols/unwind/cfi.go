package unwind

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"logparser/message"
	"logparser/symbols/image"
)

// Limits of call frame information.
const (
	// maxEntry bounds one CIE or FDE, in bytes. The largest functions have
	// some tens of KiB of instructions.
	maxEntry = 4 << 20
	// maxEntries bounds the FDEs that are kept of a section without a search table.
	maxEntries = 8 << 20
	// maxCIEs bounds the CIEs that are kept.
	maxCIEs = 1 << 12
	// maxRows bounds the rows that are kept for addresses seen again.
	maxRows = 512
)

// CFI is the call frame information of one section of an image. It is safe for
// concurrent use.
type CFI struct {
	im      *image.Image
	machine Machine
	content *image.Content
	addr    uint64 // of the section, as the image is linked
	eh      bool   // .eh_frame, not .debug_frame
	table   searchTable

	mu   sync.Mutex
	cies map[int64]*cie
	rows map[uint64]*row

	index sync.Once
	fdes  []fdeRange // sorted, made when there is no search table or all are wanted
	// ran is how many bytes of instructions were run to collect the rules.
	ran atomic.Int64
}

// An fdeRange is the code that an FDE is about.
type fdeRange struct {
	start, end uint64
	off        int64
}

// A searchTable is .eh_frame_hdr: pairs of a function's start and its FDE's
// address, both of 4 bytes relative to addr.
type searchTable struct {
	content *image.Content
	addr    uint64
	off     int64 // of the first pair
	count   int
}

// NewCFI returns the call frame information of an image, .eh_frame first. The
// image must stay open as long as it is used. The list is empty where there is none.
func NewCFI(im *image.Image) (list []*CFI) {
	machine := MachineOf(im.Machine)
	if machine == Unknown {
		return nil
	}
	for _, eh := range []bool{true, false} {
		if c := openCFI(im, machine, eh); c != nil {
			list = append(list, c)
		}
	}
	return list
}

func openCFI(im *image.Image, machine Machine, eh bool) *CFI {
	s := im.Debug("frame")
	if eh {
		// A PE's names of sections have 8 bytes where there is no string table.
		for _, name := range []string{".eh_frame", ".eh_fram"} {
			if s = im.Section(name); s != nil {
				break
			}
		}
	}
	if s == nil || s.NoBits || s.Size == 0 {
		return nil
	}
	content, err := s.Content()
	if err != nil {
		return nil
	}
	c := &CFI{im: im, machine: machine, content: content, addr: s.Addr, eh: eh,
		cies: make(map[int64]*cie), rows: make(map[uint64]*row)}
	if eh {
		c.table = readSearchTable(im)
	}
	return c
}

// readSearchTable reads the head of .eh_frame_hdr. A table in another form than
// all linkers write counts as none.
func readSearchTable(im *image.Image) (t searchTable) {
	s := im.Section(".eh_frame_hdr")
	if s == nil || s.NoBits {
		return t
	}
	content, err := s.Content()
	if err != nil {
		return t
	}
	head, err := content.Bytes(0, 12)
	if err != nil || head[0] != 1 || head[2] != peUdata4 || head[3] != peDataRel|peSdata4 || head[1]&peFormat != peSdata4 {
		return t
	}
	count := int64(im.Order.Uint32(head[8:]))
	if count > (content.Size()-12)/8 {
		return t
	}
	return searchTable{content: content, addr: s.Addr, off: 12, count: int(count)}
}

// at returns pair i.
func (t *searchTable) at(i int, order interface{ Uint32([]byte) uint32 }) (start, fde uint64, err error) {
	b, err := t.content.Bytes(t.off+8*int64(i), 8)
	if err != nil {
		return 0, 0, err
	}
	rel := func(b []byte) uint64 { return t.addr + uint64(int64(int32(order.Uint32(b)))) }
	return rel(b), rel(b[4:]), nil
}

// A cie is what the FDEs of one compilation have in common.
type cie struct {
	codeAlign    uint64
	dataAlign    int64
	ra           uint64
	instructions []byte
	addr         uint64 // of the instructions
	augmented    bool   // FDEs have the length of their augmentation
	encoding     uint8  // of an FDE's addresses
	signal       bool
	addressSize  int
}

// An fde is the entry of one function.
type fde struct {
	*cie
	start, end   uint64
	instructions []byte
	addr         uint64 // of the instructions
}

var errCFI = message.New("damaged call frame information")

// entry reads the length and the id of the entry at an offset. body begins behind the
// length, at file offset bodyOff of the section. It ends with a nil body at
// the section's terminator.
func (c *CFI) entry(off int64) (body buffer, bodyOff int64, id uint64, wide bool, next int64, err error) {
	order := c.im.Order
	head, err := c.content.Upto(off, 12)
	if err != nil {
		return body, 0, 0, false, 0, err
	}
	if len(head) < 4 {
		return body, 0, 0, false, 0, errCFI
	}
	length, at := uint64(order.Uint32(head)), off+4
	if length == 0xffffffff {
		if len(head) < 12 {
			return body, 0, 0, false, 0, errCFI
		}
		length, at, wide = order.Uint64(head[4:]), off+12, true
	}
	if length == 0 {
		return body, at, 0, wide, at, nil
	}
	if length > uint64(c.content.Size()-at) || length > maxEntry {
		return body, 0, 0, false, 0, message.Errorf("%w: an entry of %d bytes at offset %#x", errCFI, length, off)
	}
	b, err := c.content.Bytes(at, int64(length))
	if err != nil {
		return body, 0, 0, false, 0, err
	}
	body = buffer{b: b, addr: c.addr + uint64(at), order: order}
	if wide && !c.eh {
		id = body.u64()
	} else {
		id = uint64(body.u32())
	}
	if body.bad {
		return body, 0, 0, false, 0, errCFI
	}
	return body, at, id, wide, at + int64(length), nil
}

// cieOf returns the CIE that the id of an FDE points to, -1 for ids of CIEs.
func (c *CFI) cieOf(id uint64, bodyOff int64, wide bool) int64 {
	switch {
	case c.eh && id == 0, !c.eh && !wide && id == 0xffffffff, !c.eh && wide && id == 1<<64-1:
		return -1
	case c.eh:
		return bodyOff - int64(id) // the id's own place is bodyOff
	}
	return int64(id)
}

// readCIE returns the CIE at an offset.
func (c *CFI) readCIE(off int64) (*cie, error) {
	c.mu.Lock()
	known := c.cies[off]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if off < 0 || off >= c.content.Size() {
		return nil, message.Errorf("%w: a common entry at offset %#x", errCFI, uint64(off))
	}
	b, bodyOff, id, wide, _, err := c.entry(off)
	if err != nil {
		return nil, err
	}
	if b.b == nil || c.cieOf(id, bodyOff, wide) != -1 {
		return nil, message.Errorf("%w: no common entry at offset %#x", errCFI, off)
	}
	e := &cie{addressSize: c.im.PointerSize}
	version := b.u8()
	augmentation := b.cString()
	if version == 4 {
		e.addressSize = int(b.u8())
		if segment := b.u8(); segment != 0 || e.addressSize != 4 && e.addressSize != 8 {
			return nil, message.Errorf("%w: addresses of %d bytes", errCFI, e.addressSize)
		}
	}
	if augmentation == "eh" { // gcc 2
		b.pointer(e.addressSize)
		augmentation = ""
	}
	e.codeAlign, e.dataAlign = b.uleb(), b.sleb()
	if version == 1 {
		e.ra = uint64(b.u8())
	} else {
		e.ra = b.uleb()
	}
	if version != 1 && version != 3 && version != 4 {
		return nil, message.Errorf("%w: version %d", errCFI, version)
	}
	if err := c.augment(e, &b, augmentation); err != nil {
		return nil, err
	}
	if b.bad {
		return nil, errCFI
	}
	e.instructions, e.addr = b.b[b.off:], b.addr+uint64(b.off)
	c.mu.Lock()
	if len(c.cies) < maxCIEs {
		c.cies[off] = e
	}
	c.mu.Unlock()
	return e, nil
}

// augment reads what a CIE's augmentation says.
func (c *CFI) augment(e *cie, b *buffer, augmentation string) error {
	for i, a := range augmentation {
		if i == 0 {
			if a != 'z' {
				return message.Errorf("%w: augmentation %q", errCFI, augmentation)
			}
			e.augmented = true
			if n := b.uleb(); n > uint64(b.left()) {
				return errCFI
			}
			continue
		}
		switch a {
		case 'R':
			e.encoding = b.u8()
		case 'P':
			b.encoded(b.u8(), e.addressSize, 0)
		case 'L':
			b.u8()
		case 'S':
			e.signal = true
		case 'B', 'G': // pointer authentication by key B; memory tags
		default:
			return message.Errorf("%w: augmentation %q", errCFI, augmentation)
		}
	}
	return nil
}

// readFDE returns the FDE at an offset. It is nil for a CIE and for the section's
// end. next is the offset of the next entry.
func (c *CFI) readFDE(off int64) (f *fde, next int64, err error) {
	b, bodyOff, id, wide, next, err := c.entry(off)
	if err != nil || b.b == nil {
		return nil, next, err
	}
	at := c.cieOf(id, bodyOff, wide)
	if at == -1 {
		return nil, next, nil
	}
	common, err := c.readCIE(at)
	if err != nil {
		return nil, next, err
	}
	f = &fde{cie: common}
	if c.eh {
		f.start = b.encoded(common.encoding, common.addressSize, 0)
		f.end = f.start + b.value(common.encoding, common.addressSize)
	} else {
		f.start = b.pointer(common.addressSize)
		f.end = f.start + b.pointer(common.addressSize)
	}
	if common.augmented {
		b.take(b.uleb())
	}
	if b.bad || f.end < f.start || common.encoding&peIndirect != 0 {
		return nil, next, message.Errorf("%w: offset %#x", errCFI, off)
	}
	f.instructions, f.addr = b.b[b.off:], b.addr+uint64(b.off)
	return f, next, nil
}

// find returns the FDE of an address, as the image is linked.
func (c *CFI) find(vaddr uint64) (*fde, error) {
	if c.table.count > 0 {
		f, err := c.search(vaddr)
		if err == nil || !c.table.damaged(err) {
			return f, err
		}
	}
	c.index.Do(c.readAll)
	i := sort.Search(len(c.fdes), func(i int) bool { return c.fdes[i].start > vaddr })
	if i == 0 || vaddr >= c.fdes[i-1].end {
		return nil, errNoRule
	}
	f, _, err := c.readFDE(c.fdes[i-1].off)
	if err == nil && f == nil {
		err = errCFI
	}
	return f, err
}

// damaged reports whether an error means that the table is of no use.
func (t *searchTable) damaged(err error) bool { return err != errNoRule }

// search is find by the search table.
func (c *CFI) search(vaddr uint64) (*fde, error) {
	var failed error
	i := sort.Search(c.table.count, func(i int) bool {
		start, _, err := c.table.at(i, c.im.Order)
		if err != nil {
			failed = err
		}
		return start > vaddr
	})
	if failed != nil {
		return nil, failed
	}
	if i == 0 {
		return nil, errNoRule
	}
	start, at, err := c.table.at(i-1, c.im.Order)
	if err != nil {
		return nil, err
	}
	if at < c.addr || at-c.addr >= uint64(c.content.Size()) {
		return nil, message.Errorf("%w: the search table points to %#x", errCFI, at)
	}
	f, _, err := c.readFDE(int64(at - c.addr))
	switch {
	case err != nil:
		return nil, err
	case f == nil || f.start != start:
		return nil, message.Errorf("%w: the search table names another entry for %#x", errCFI, start)
	case vaddr >= f.end:
		return nil, errNoRule
	}
	return f, nil
}

// readAll makes the index of all FDEs. It ends at the first damage; entries that
// came before are kept.
func (c *CFI) readAll() {
	_ = c.each(func(f *fde, off int64) bool {
		if f.end > f.start && f.start != 0 {
			c.fdes = append(c.fdes, fdeRange{f.start, f.end, off})
		}
		return len(c.fdes) < maxEntries
	})
	slices.SortStableFunc(c.fdes, func(a, b fdeRange) int { return cmp.Compare(a.start, b.start) })
}

// each calls visit with all FDEs in the section's order, until it returns false.
// FDEs that are damaged themselves are passed over.
func (c *CFI) each(visit func(f *fde, off int64) bool) error {
	for off := int64(0); off < c.content.Size(); {
		f, next, err := c.readFDE(off)
		if next <= off {
			return err
		}
		if f != nil && err == nil && !visit(f, off) {
			return nil
		}
		off = next
	}
	return nil
}
