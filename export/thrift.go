package export

import "encoding/binary"

// A thrift encodes structures in the compact protocol of Thrift.
type thrift struct {
	b []byte
	// last has, for each open structure, the id of its last field.
	last []int
}

func (t *thrift) open() { t.last = append(t.last, 0) }

func (t *thrift) close() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

func (t *thrift) field(id int, kind byte) {
	last := &t.last[len(t.last)-1]
	t.b = append(t.b, byte(id-*last)<<4|kind)
	*last = id
}

func (t *thrift) varint(v int64) { t.b = binary.AppendVarint(t.b, v) }

func (t *thrift) i32(id int, v int64) {
	t.field(id, thriftI32)
	t.varint(v)
}

func (t *thrift) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.varint(v)
}

func (t *thrift) flag(id int, v bool) {
	kind := byte(2)
	if v {
		kind = 1
	}
	t.field(id, kind)
}

func (t *thrift) bytes(s string) {
	t.b = binary.AppendUvarint(t.b, uint64(len(s)))
	t.b = append(t.b, s...)
}

func (t *thrift) text(id int, s string) {
	t.field(id, thriftBinary)
	t.bytes(s)
}

func (t *thrift) list(id int, kind byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
		return
	}
	t.b = append(t.b, 0xf0|kind)
	t.b = binary.AppendUvarint(t.b, uint64(n))
}

func (t *thrift) empty(id int) {
	t.field(id, thriftStruct)
	t.b = append(t.b, 0)
}
