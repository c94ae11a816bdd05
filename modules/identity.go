package modules

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"logparser/message"
)

// A GUID is the 16-byte signature of a PDB, in the byte order of the RSDS
// record and of the PDB's own stream (the first three fields little-endian).
type GUID [16]byte

// String returns the GUID in the registry's form without braces,
// "0123ABCD-4567-89AB-CDEF-0123456789AB".
func (g GUID) String() string {
	return fmt.Sprintf("%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-%02X%02X%02X%02X%02X%02X",
		g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9],
		g[10], g[11], g[12], g[13], g[14], g[15])
}

// Key returns the GUID as symbol stores write it: 32 upper-case digits.
func (g GUID) Key() string { return strings.ReplaceAll(g.String(), "-", "") }

// IsZero reports whether no GUID is there.
func (g GUID) IsZero() bool { return g == GUID{} }

// ParseGUID reads a GUID of 32 hexadecimal digits, with or without hyphens
// and braces.
func ParseGUID(s string) (GUID, error) {
	t := strings.ReplaceAll(strings.Trim(s, "{}"), "-", "")
	b, err := hex.DecodeString(t)
	if err != nil || len(b) != 16 {
		return GUID{}, message.Errorf("modules: %q is not a GUID", s)
	}
	var g GUID
	copy(g[:], b)
	g[0], g[1], g[2], g[3] = b[3], b[2], b[1], b[0]
	g[4], g[5] = b[5], b[4]
	g[6], g[7] = b[7], b[6]
	return g, nil
}

// MaxBuildID is the longest build-id kept, in bytes. Linkers write 8 to 32.
const MaxBuildID = 64

// An Identity tells one build of a module from another. Fields that are not
// known are zero; an Identity with no field set checks nothing. It is
// comparable.
type Identity struct {
	// PDB and Age are the CodeView (RSDS) record of a PE image, or the GUID
	// and the DBI stream's age of a PDB.
	PDB GUID
	Age uint32
	// BuildID is the raw GNU build-id of an ELF image.
	BuildID string
	// Timestamp is the PE header's TimeDateStamp and ImageSize its
	// SizeOfImage in bytes; together they identify a PE without a PDB.
	Timestamp, ImageSize uint32
}

// IsZero reports whether there is nothing to check by.
func (id Identity) IsZero() bool {
	return id.PDB.IsZero() && id.BuildID == "" && id.Timestamp == 0
}

// A Match is the outcome of comparing two identities.
type Match int

const (
	// Unknown: the two have no field in common.
	Unknown Match = iota
	// Same: the strongest field both have is equal.
	Same
	// Different: the strongest field both have differs.
	Different
)

// Compare compares two identities by the strongest means both have: PDB GUID
// with age (both must be equal), then build-id, then PE timestamp (not 0) with
// image size.
func (id Identity) Compare(other Identity) Match {
	same := func(equal bool) Match {
		if equal {
			return Same
		}
		return Different
	}
	switch {
	case !id.PDB.IsZero() && !other.PDB.IsZero():
		return same(id.PDB == other.PDB && id.Age == other.Age)
	case id.BuildID != "" && other.BuildID != "":
		return same(sameBuildID(id.BuildID, other.BuildID))
	case id.Timestamp != 0 && other.Timestamp != 0:
		return same(id.Timestamp == other.Timestamp &&
			(id.ImageSize == other.ImageSize || id.ImageSize == 0 || other.ImageSize == 0))
	}
	return Unknown
}

// sameBuildID compares two build-ids, of which one may have been cut to the 16 bytes that a
// PDB's GUID has room for: older crash reporters record it so. The hash's first 128 bits tell
// builds apart as well as a GUID does.
func sameBuildID(a, b string) bool {
	if len(a) == 16 && len(b) > 16 {
		b = b[:16]
	} else if len(b) == 16 && len(a) > 16 {
		a = a[:16]
	}
	return a == b
}

// String returns the identity as the modules file has it in its identity
// column: "pdb:GUID:age", "build-id:hex" or "-". The timestamp has a column
// of its own there and is shown only where nothing stronger is known, as
// "pe:timestamp:size", both hexadecimal.
func (id Identity) String() string {
	switch {
	case !id.PDB.IsZero():
		return fmt.Sprintf("pdb:%s:%d", id.PDB, id.Age)
	case id.BuildID != "":
		return "build-id:" + hex.EncodeToString([]byte(id.BuildID))
	case id.Timestamp != 0:
		return fmt.Sprintf("pe:%08X:%x", id.Timestamp, id.ImageSize)
	}
	return "-"
}

// ParseIdentity reads what [Identity.String] writes.
func ParseIdentity(s string) (Identity, error) {
	kind, rest, _ := strings.Cut(s, ":")
	switch kind {
	case "-":
		if s == "-" {
			return Identity{}, nil
		}
	case "pdb":
		guid, age, ok := strings.Cut(rest, ":")
		g, err := ParseGUID(guid)
		a, err2 := strconv.ParseUint(age, 10, 32)
		if ok && err == nil && err2 == nil {
			return Identity{PDB: g, Age: uint32(a)}, nil
		}
	case "build-id":
		b, err := hex.DecodeString(rest)
		if err == nil && len(b) > 0 && len(b) <= MaxBuildID {
			return Identity{BuildID: string(b)}, nil
		}
	case "pe":
		ts, size, ok := strings.Cut(rest, ":")
		t, err := strconv.ParseUint(ts, 16, 32)
		n, err2 := strconv.ParseUint(size, 16, 32)
		if ok && err == nil && err2 == nil {
			return Identity{Timestamp: uint32(t), ImageSize: uint32(n)}, nil
		}
	}
	return Identity{}, message.Errorf("modules: %q is not an identity", s)
}
