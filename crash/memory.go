package crash

import (
	"cmp"
	"io"
	"slices"
	"sort"

	"logparser/message"
)

// A Range is a part of a process's memory: the addresses from Start up to, but not including, End.
type Range struct {
	Start, End uint64
	// Saved is how many bytes from Start on are in the file, and Offset where they begin in it. The rest was not saved, because
	// the image's file has it or the size of the dump was limited.
	Saved  uint64
	Offset int64
	// Executable, Writable and Readable are the access rights. They are valid only if Rights is set.
	Executable, Writable, Readable, Rights bool
}

// A Memory is the memory of a process as a dump has saved it. It reads the file on demand. It is safe for concurrent use.
type Memory struct {
	file   io.ReaderAt
	size   int64   // of file, in bytes
	ranges []Range // by address, without overlaps
	runs   []run   // by address, without overlaps
}

// A run is saved memory without a gap: whole ranges that lie one behind the other, and the saved beginning of one behind them.
type run struct{ lo, hi uint64 }

// ErrMemory says that memory was not saved.
var ErrMemory = message.New("this memory was not saved")

// NewMemory makes a memory of ranges in a file of size bytes. If ranges overlap, the one that begins first takes precedence.
// cut is the number of bytes that the ranges should have beyond the end of the file.
func NewMemory(file io.ReaderAt, size int64, ranges []Range) (m *Memory, cut uint64) {
	m = &Memory{file: file, size: size}
	ranges = slices.Clone(ranges)
	slices.SortStableFunc(ranges, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	var end uint64
	for _, r := range ranges {
		if r.End <= r.Start || r.End <= end {
			continue
		}
		r.Saved = min(r.Saved, r.End-r.Start)
		if r.Start < end {
			gone := end - r.Start
			r.Start = end
			r.Offset += int64(gone)
			r.Saved -= min(r.Saved, gone)
		}
		if r.Saved > 0 {
			there := uint64(0)
			if r.Offset >= 0 && r.Offset < size {
				there = min(r.Saved, uint64(size-r.Offset))
			}
			cut += r.Saved - there
			r.Saved = there
		}
		end = r.End
		m.ranges = append(m.ranges, r)
		if n := len(m.runs); r.Saved > 0 && n > 0 && m.runs[n-1].hi == r.Start {
			m.runs[n-1].hi += r.Saved
		} else if r.Saved > 0 {
			m.runs = append(m.runs, run{r.Start, r.Start + r.Saved})
		}
	}
	return m, cut
}

// Size returns the size of the file that the memory is in, in bytes. It can say of more memory than it has bytes.
func (m *Memory) Size() int64 { return m.size }

// Ranges returns the ranges in order of address. Do not change them.
func (m *Memory) Ranges() []Range { return m.ranges }

// at returns the index of the range that contains an address, or -1.
func (m *Memory) at(address uint64) int {
	i := sort.Search(len(m.ranges), func(i int) bool { return m.ranges[i].Start > address }) - 1
	if i < 0 || address >= m.ranges[i].End {
		return -1
	}
	return i
}

// Find returns the range that contains an address.
func (m *Memory) Find(address uint64) (Range, bool) {
	i := m.at(address)
	if i < 0 {
		return Range{}, false
	}
	return m.ranges[i], true
}

// ReadMemory implements [unwind.Memory].
func (m *Memory) ReadMemory(p []byte, address uint64) error {
	for i := m.at(address); len(p) > 0; i++ {
		if i < 0 || i >= len(m.ranges) || m.ranges[i].Start > address {
			return ErrMemory
		}
		r := &m.ranges[i]
		at := address - r.Start
		if at >= r.Saved {
			return ErrMemory
		}
		n := min(uint64(len(p)), r.Saved-at)
		if k, err := m.file.ReadAt(p[:n], r.Offset+int64(at)); uint64(k) < n {
			return message.Errorf("offset %#x: %w", r.Offset+int64(at), err)
		}
		p, address = p[n:], address+n
		if len(p) > 0 && r.Saved < r.End-r.Start {
			return ErrMemory
		}
	}
	return nil
}

// Range implements [unwind.Memory].
func (m *Memory) Range(address uint64) (lo, hi uint64, ok bool) {
	i := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].hi > address })
	if i == len(m.runs) || m.runs[i].lo > address {
		return 0, 0, false
	}
	return m.runs[i].lo, m.runs[i].hi, true
}

// Executable reports whether memory is known to be code.
func (m *Memory) Executable(address uint64) bool {
	r, ok := m.Find(address)
	return ok && r.Rights && r.Executable
}

// String reads a string of at most limit bytes up to its NUL. It returns "" if the memory was not saved.
func (m *Memory) String(address uint64, limit int) string {
	var s []byte
	var b [64]byte
	for len(s) < limit {
		n := len(b)
		for n > 0 && m.ReadMemory(b[:n], address) != nil {
			n /= 2
		}
		if n == 0 {
			return ""
		}
		if i := slices.Index(b[:n], 0); i >= 0 {
			return string(append(s, b[:i]...))
		}
		s = append(s, b[:n]...)
		address += uint64(n)
	}
	return ""
}
