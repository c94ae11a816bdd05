package store

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
)

// TestObjectsInLogs gives no names to a module that is a relocatable file with
// several sections of code: its base is that of one of them. By hand, where
// sections are named, it does.
func TestObjectsInLogs(t *testing.T) {
	for _, tt := range []struct {
		object string
		want   symbols.Status
		name   string // at 4
	}{
		{"count.o", symbols.Unverified, "counted"},
		{"gcc5.o", symbols.NotFound, ""},
	} {
		dir := t.TempDir()
		plant(t, dir, "app.ko="+dwarfData+tt.object)
		b, _, attempts := find(t, dir, &modules.Module{Path: "/lib/modules/app.ko"}, "$")
		if b.Status != tt.want || tt.name == "" && !strings.Contains(b.Reason.String(), "a relocatable file with 4 sections of code") {
			t.Errorf("%s: %s (%s), want %s\n%s", tt.object, b.Status, b.Reason, tt.want, strings.Join(attempts, "\n"))
		}
		if tt.name != "" {
			if sym, err := b.Table.Lookup(4); err != nil || sym.Frames[0].Function != tt.name {
				t.Errorf("%s: %+v, %v", tt.object, sym, err)
			}
		}
		byHand, img, err := NewFinder(formats, nil, "", false).FindFor(context.Background(), filepath.Join(dir, "app.ko"))
		if err != nil || byHand.Table == nil || img == nil || !img.Relocatable {
			t.Fatalf("%s by hand: %s, %v, %v", tt.object, byHand.Status, img, err)
		}
		byHand.Table.Close()
	}
}

// TestCOFFObject says what a COFF object is, and that it has no addresses.
func TestCOFFObject(t *testing.T) {
	le := binary.LittleEndian
	small := make([]byte, 200)
	le.PutUint16(small, 0x8664)
	le.PutUint16(small[2:], 2)
	le.PutUint32(small[8:], 150)
	big := append([]byte("\x00\x00\xff\xff\x02\x00\x64\x86\x00\x00\x00\x00\xc7\xa1\xba\xd1\xee\xba\xa9\x4b\xaf\x20\xfa\xf6\x6a\xa4\xdc\xb8"), make([]byte, 100)...)
	for name, data := range map[string][]byte{"small.obj": small, "big.obj": big} {
		dir := t.TempDir()
		write(t, dir, name, data)
		_, _, err := NewFinder(formats, nil, "", false).FindFor(context.Background(), filepath.Join(dir, name))
		if err == nil || !strings.Contains(err.Error(), "a COFF object file") {
			t.Errorf("%s: %v", name, err)
		}
		data[20]++ // neither an object of no optional header nor of that class
		data[16]++
		write(t, dir, name, data)
		if _, _, err := NewFinder(formats, nil, "", false).FindFor(context.Background(), filepath.Join(dir, name)); err == nil || strings.Contains(err.Error(), "COFF") {
			t.Errorf("changed %s: %v", name, err)
		}
	}
}
