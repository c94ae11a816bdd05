package pdb

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"logparser/modules"
)

// linkedIDs is an id stream as linkers have written it since there are ids:
// with the sizes of its hash table.
func linkedIDs(list [][]byte) []byte {
	b := typeStreamBytes(list)
	le.PutUint32(b[24:], typeHashSize)
	le.PutUint32(b[28:], maxTypeBuckets)
	return b
}

// change returns a copy of a stream with another word at an offset.
func change(b []byte, off int, v uint32) []byte {
	b = slices.Clone(b)
	le.PutUint32(b[off:], v)
	return b
}

// vs2008Stream4 begins as stream 4 of a file of Visual Studio 2008 does that
// has no ids: read as a header of types it would have types 0x18 to 0x5a in 79
// bytes.
func vs2008Stream4() []byte {
	return bin(uint32(typesV80), uint32(0), uint32(0x18), uint32(0x5A), uint32(79), make([]byte, 59))
}

// TestStream4 has the id stream, or something else in its place, in the files
// of each linker.
func TestStream4(t *testing.T) {
	ids := linkedIDs(someIDs())
	const known, unknown = "ns::inlined", "(inlined function 0x1000)"
	none := []uint32{}
	for _, c := range []struct {
		name     string
		version  uint32
		features []uint32
		stream4  []byte
		called   string
		err      error
		// want is the name of the inlined call.
		want string
	}{
		{"2005 and 2008, nothing", 0, none, []byte{}, "", nil, unknown},
		{"2008, something else", 0, none, vs2008Stream4(), "", nil, unknown},
		{"2008, text", 0, none, []byte(strings.Repeat("not ids ", 20)), "", nil, unknown},
		{"2008, a few bytes", 0, none, []byte("few"), "", nil, unknown},
		{"2008, only a header", 0, none, ids[:typeHeaderSize], "", nil, unknown},
		{"2008, types", 0, none, linkedIDs(someTypes()), "", nil, unknown},
		{"2008, version of 2003", 20030901, none, vs2008Stream4(), "", nil, unknown},
		{"2012", 0, []uint32{featureVC110}, ids, "", nil, known},
		{"2012, other version", featureVC110, []uint32{featureVC110}, ids, "", nil, known},
		{"2015 to 2022", 0, []uint32{featureVC140}, ids, "", nil, known},
		{"2015 to 2022, other version", featureVC140, []uint32{featureVC140}, ids, "", nil, known},
		{"2015 to 2022, FASTLINK", 0, []uint32{featureVC140, featureFastlink}, ids, "", nil, known},
		{"2015 to 2022, in another order", 0, []uint32{featureFastlink, featureVC140}, ids, "", nil, known},
		{"2012, empty", 0, []uint32{featureVC110}, []byte{}, "", nil, unknown},
		{"2012, something else", 0, []uint32{featureVC110}, vs2008Stream4(), "", ErrDamaged, ""},
		{"2015 to 2022, text", 0, []uint32{featureVC140}, []byte(strings.Repeat("not ids ", 20)), "", ErrDamaged, ""},
		// A tool that rewrote the file has lost the feature.
		{"rewritten", 0, none, ids, "", nil, known},
		{"rewritten, other features", 0, []uint32{featureFastlink, 7}, ids, "", nil, known},
		{"rewritten, but it has a name", 0, none, ids, "/tool", nil, unknown},
		{"rewritten, older records", 0, none, change(ids, 0, 19990903), "", nil, unknown},
		{"rewritten, other hash keys", 0, none, change(ids, 24, 2), "", nil, unknown},
		{"rewritten, other buckets", 0, none, change(ids, 28, maxTypeBuckets+1), "", nil, unknown},
		{"rewritten, bytes behind", 0, none, append(slices.Clone(ids), 0, 0, 0, 0), "", nil, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sample()
			p.version, p.features, p.stream4, p.stream4Name = c.version, c.features, c.stream4, c.called
			table, err := p.open()
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			s, err := table.Lookup(0x1018)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Frames[0].Function; got != c.want {
				t.Errorf("inlined call named %q, want %q", got, c.want)
			}
			// All else of the file is as it was.
			if got := s.Outermost(); got.Signature != "main(int, char *)" || got.Line != 101 {
				t.Errorf("procedure %+v", got)
			}
		})
	}
}

// TestFeaturesBehindVC110 has a number behind the feature of Visual Studio
// 2012, which is always the last one.
func TestFeaturesBehindVC110(t *testing.T) {
	p := sample()
	p.features = []uint32{featureVC110, featureFastlink}
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(table.Describe(), "FASTLINK") {
		t.Errorf("described as %q", table.Describe())
	}
}

// TestInfoVersions has information streams with a GUID and without one. Both
// have the names of streams behind it, without which no source file is known.
func TestInfoVersions(t *testing.T) {
	guid := modules.GUID([]byte("0123456789abcdef"))
	for version, want := range map[uint32]modules.GUID{
		19970604: {}, vc70Deprecated: {}, 20000404: guid, 20030901: guid, featureVC110: guid, featureVC140: guid,
	} {
		p := sample()
		p.version = version
		table, err := p.open()
		if err != nil {
			t.Errorf("%d: %v", version, err)
			continue
		}
		if table.Identity().PDB != want {
			t.Errorf("%d: identity %v, want %v", version, table.Identity(), want)
		}
		if s, err := table.Lookup(0x1010); err != nil || s.Frames[0].File != `C:\src\a.cpp` {
			t.Errorf("%d: %+v, %v", version, s, err)
		}
	}
}

// TestOldTypes has types of a layout before the header that is read: names
// without parameters.
func TestOldTypes(t *testing.T) {
	f := sample().file()
	f.Streams[streamTPI] = bin(uint32(19950410), uint16(0x1000), uint16(0x1000), uint32(0), uint16(noStream), make([]byte, 60))
	table, err := openBytes(f.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(t, table, 0x1010); got != `1010+40 procedure main a.cpp:100` {
		t.Errorf("got %s", got)
	}
}
