package profile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"

	"logparser/calls/index"
)

// The tree of all calls of a log is kept beside its index once it was made: to make it takes a pass over the whole log,
// and to read it next to nothing. The note is treeMagic, how many rows the log has, the hash of the groups and then varints, see encode.

// treeMagic changes with the meaning of what follows it, and with which nodes a tree has.
const treeMagic = "LPTREE\x00\x06"

// keptEvents is how many events a log has for each byte of its kept tree at least, so that an index with it stays within a tenth of a
// trace. A variable for tests.
var keptEvents = int64(24)

// A treeNote is what the tree of some options is kept as.
type treeNote struct {
	src  *index.Index
	name []byte
	// head is treeMagic, the rows that the log had when the tree was begun, since it may have grown and been kept before the tree is
	// made, and a hash of the groups: there is one note for all groups, since those change until all names are known.
	head   []byte
	groups uint32 // are less
}

// newTreeNote returns nil where the tree is none that is kept.
func newTreeNote(src *index.Index, o *TreeOptions, limit int) *treeNote {
	if o.Where != nil || o.Correct != nil {
		return nil
	}
	n := &treeNote{src: src, groups: uint32(src.AddressTable().Len())}
	n.name = binary.LittleEndian.AppendUint64([]byte("tree"), uint64(limit))
	for _, set := range [...]bool{o.PerThread, o.BottomUp, o.Groups == nil} {
		if set {
			n.name = append(n.name, 1)
		} else {
			n.name = append(n.name, 0)
		}
	}
	b := make([]byte, 0, 4*len(o.Groups))
	for _, g := range o.Groups {
		b = binary.LittleEndian.AppendUint32(b, g)
		if g != NoGroup {
			n.groups = max(n.groups, g+1)
		}
	}
	groups := sha256.Sum256(b)
	n.head = append(binary.LittleEndian.AppendUint64([]byte(treeMagic), uint64(src.Len())), groups[:]...)
	return n
}

// tree returns the tree, nil where none is kept.
func (n *treeNote) tree() *Tree {
	if n == nil {
		return nil
	}
	b, ok := bytes.CutPrefix(n.src.Noted(n.name), n.head)
	if !ok {
		return nil
	}
	return decodeTree(b, n.groups, uint32(n.src.Slots()))
}

// keep keeps the tree, unless it is too large for its log.
func (n *treeNote) keep(t *Tree) {
	if n == nil {
		return
	}
	if b := t.encode(n.head); int64(len(b))*keptEvents <= n.src.Len() {
		n.src.Note(n.name, b)
	}
}

// encode appends a tree: how many nodes it has, and of each the way to its parent, group and thread, which the root lacks, and its
// sums.
func (t *Tree) encode(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(t.Nodes)))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if i > 0 {
			other := uint64(0)
			if n.Other {
				other = 1
			}
			b = binary.AppendUvarint(b, uint64(int32(i)-n.Parent)<<1|other)
			// What stands for none is 0.
			b = binary.AppendUvarint(b, uint64(n.Group+1))
			b = binary.AppendUvarint(b, uint64(n.Thread+1))
		}
		b = binary.AppendUvarint(b, uint64(n.Calls))
		b = binary.AppendUvarint(b, uint64(n.Calls-n.Timed))
		b = binary.AppendUvarint(b, uint64(n.Running))
		b = binary.AppendUvarint(b, uint64(n.Self))
		b = binary.AppendVarint(b, n.Total-n.Self)
	}
	return b
}

// decodeTree is encode turned round: nil where that is no tree of so many groups and threads.
func decodeTree(b []byte, groups, threads uint32) *Tree {
	bad := false
	unsigned := func(most uint64) uint64 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > most {
			b, bad = nil, true
			return 0
		}
		b = b[k:]
		return n
	}
	// A node has five bytes at least.
	count := unsigned(uint64(len(b)) / 5)
	if count == 0 {
		return nil
	}
	t := &Tree{Nodes: make([]TreeNode, count)}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		n.Group, n.Thread, n.Parent = NoGroup, AllThreads, -1
		if i > 0 {
			up := unsigned(uint64(i)<<1 | 1)
			n.Other = up&1 != 0
			n.Parent = int32(i) - int32(up>>1)
			n.Group, n.Thread = uint32(unsigned(uint64(groups)))-1, uint32(unsigned(uint64(threads)))-1
			bad = bad || up < 2
		}
		n.Calls = int64(unsigned(math.MaxInt64))
		n.Timed = n.Calls - int64(unsigned(uint64(n.Calls)))
		n.Running = int64(unsigned(uint64(n.Calls)))
		n.Self = int64(unsigned(math.MaxInt64))
		more, k := binary.Varint(b)
		if bad || k <= 0 {
			return nil
		}
		b = b[k:]
		n.Total = n.Self + more
		if n.Other {
			t.Folded += n.Calls
		}
	}
	if len(b) > 0 {
		return nil
	}
	t.sortChildren()
	return t
}
