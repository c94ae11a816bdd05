package attached

import (
	"encoding/binary"
	"errors"
	"slices"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
)

// A Module is what a container says of a module, and how its symbols are
// found there.
type Module struct {
	// Name is the file's base name, Path where it lay when it was recorded,
	// "" where that was not kept.
	Name, Path string
	// Identity is the build of the module that the symbols belong to.
	Identity modules.Identity
	// Size is the bytes that the module takes in memory, 0 where not known.
	Size uint64
	// Source says what the symbols were read from: "PDB 7.00", "DWARF 5".
	Source string
	// File is the base name of the file that they were read from, Status the
	// word for how far they could be trusted then (see symbols.Status).
	File, Status string
	// Unchecked says that nothing in that file said which build it belongs to.
	Unchecked bool
	// Carrier says that the module is the executable that carries the container.
	Carrier bool

	container *Container
	owner     uint32
}

// The fields of a module's part.
const (
	fieldName      = 1
	fieldPath      = 2
	fieldPDB       = 3
	fieldBuildID   = 4
	fieldPE        = 5
	fieldSize      = 6
	fieldSource    = 7
	fieldFile      = 8
	fieldStatus    = 9
	fieldUnchecked = 10
	fieldCarrier   = 11

	// maxModule bounds a module's part, maxModules all of them, in bytes.
	maxModule  = 1 << 18
	maxModules = 64 << 20
)

// appendField appends a field: its number, its length, its contents.
func appendField(b []byte, number uint64, contents []byte) []byte {
	if len(contents) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, number)
	b = binary.AppendUvarint(b, uint64(len(contents)))
	return append(b, contents...)
}

// part returns the module as a part.
func (m *Module) part(owner uint32) Part {
	le := binary.LittleEndian
	var b []byte
	b = appendField(b, fieldName, []byte(m.Name))
	b = appendField(b, fieldPath, []byte(m.Path))
	if !m.Identity.PDB.IsZero() {
		b = appendField(b, fieldPDB, le.AppendUint32(slices.Clone(m.Identity.PDB[:]), m.Identity.Age))
	}
	b = appendField(b, fieldBuildID, []byte(m.Identity.BuildID))
	if m.Identity.Timestamp != 0 || m.Identity.ImageSize != 0 {
		b = appendField(b, fieldPE, le.AppendUint32(le.AppendUint32(nil, m.Identity.Timestamp), m.Identity.ImageSize))
	}
	if m.Size != 0 {
		b = appendField(b, fieldSize, le.AppendUint64(nil, m.Size))
	}
	b = appendField(b, fieldSource, []byte(m.Source))
	b = appendField(b, fieldFile, []byte(m.File))
	b = appendField(b, fieldStatus, []byte(m.Status))
	if m.Unchecked {
		b = appendField(b, fieldUnchecked, []byte{1})
	}
	if m.Carrier {
		b = appendField(b, fieldCarrier, []byte{1})
	}
	return bytesPart(KindModule, owner, b)
}

// eachField calls yield with the fields of a part.
func eachField(b []byte, yield func(number uint64, contents []byte)) error {
	for len(b) > 0 {
		number, n := binary.Uvarint(b)
		if n <= 0 {
			return ErrFormat
		}
		b = b[n:]
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return ErrFormat
		}
		b = b[n:]
		yield(number, b[:length])
		b = b[length:]
	}
	return nil
}

// readModules reads what the container says of its modules.
func (c *Container) readModules() error {
	le := binary.LittleEndian
	var total int64
	for _, e := range c.entries {
		if e.kind != KindModule {
			continue
		}
		if total += e.length; total > maxModules {
			return message.Errorf("%w: it says too much of its modules", ErrFormat)
		}
		b, err := c.read(e, maxModule)
		if err != nil {
			return err
		}
		m := &Module{container: c, owner: e.owner}
		err = eachField(b, func(number uint64, f []byte) {
			switch {
			case number == fieldName:
				m.Name = modules.BaseName(string(f))
			case number == fieldPath:
				m.Path = string(f)
			case number == fieldPDB && len(f) == 20:
				copy(m.Identity.PDB[:], f)
				m.Identity.Age = le.Uint32(f[16:])
			case number == fieldBuildID && len(f) <= modules.MaxBuildID:
				m.Identity.BuildID = string(f)
			case number == fieldPE && len(f) == 8:
				m.Identity.Timestamp, m.Identity.ImageSize = le.Uint32(f), le.Uint32(f[4:])
			case number == fieldSize && len(f) == 8:
				m.Size = le.Uint64(f)
			case number == fieldSource:
				m.Source = string(f)
			case number == fieldFile:
				m.File = modules.BaseName(string(f))
			case number == fieldStatus:
				m.Status = string(f)
			case number == fieldUnchecked:
				m.Unchecked = len(f) == 1 && f[0] != 0
			case number == fieldCarrier:
				m.Carrier = len(f) == 1 && f[0] != 0
			}
		})
		if err != nil {
			return message.Errorf("%w: what is said of a module at %#x", ErrFormat, e.offset)
		}
		c.modules = append(c.modules, m)
	}
	return nil
}

// Modules returns the modules that the container has something of, in its
// order. They must not be changed.
func (c *Container) Modules() []*Module { return c.modules }

// HasSymbols reports whether the container has the module's symbols.
func (m *Module) HasSymbols() bool {
	_, ok := m.container.part(KindRuns, m.owner)
	return ok
}

// Check reads all that a container has of a module's symbols and rules, and returns the first damage. Look-ups meet damage,
// too, and find nothing then, which looks as if nothing was kept: who opens a container for its user asks here and says it.
func (m *Module) Check() error {
	var all []*blocks
	t, err := m.Open()
	switch {
	case err == nil:
		all = append(all, t.runs, t.functions.blocks, t.strings.blocks)
	case !errors.Is(err, symbols.ErrNoSymbols):
		return err
	}
	u, err := m.OpenUnwind()
	switch {
	case err == nil:
		all = append(all, u.entries, u.rules)
	case !errors.Is(err, ErrNoUnwind):
		return err
	}
	s, err := m.OpenStack()
	switch {
	case err == nil:
		all = append(all, s.text)
	case !errors.Is(err, ErrNoUnwind):
		return err
	}
	for _, b := range all {
		for i := range b.list {
			if _, err := b.stored(i); err != nil {
				return err
			}
		}
	}
	return nil
}
