// Package symbols turns an address within a module into a function, a source
// file, a line and the frames inlined there.
//
// It holds the types that every source of symbols shares and the [Resolver]
// that joins modules with their symbols. The sources are sub-packages, one a
// format (pdb, dwarf, symtab, …), which import this package and never each
// other's callers; store finds the files and checks that they belong to the
// recorded module.
//
// Addresses are RVAs: bytes from the module's lowest mapped address, for ELF
// as for PE. A source looks up exactly the address it is asked. That a return
// address means the instruction before it is the caller's business.
package symbols

import (
	"io"

	"logparser/message"
	"logparser/modules"
)

// ErrNotFound says that a source has no name for an address.
var ErrNotFound = message.New("no symbol at this address")

// A Kind says what sort of thing a name stands for.
type Kind string

const (
	Procedure Kind = "procedure" // a function with its own debug record
	Thunk     Kind = "thunk"     // S_THUNK32, an adjustor or import thunk
	ILTThunk  Kind = "ilt-thunk" // incremental link table: a jump to its target
	Public    Kind = "public"    // a linker's public symbol, size unknown
	Symtab    Kind = "symbol"    // an ELF or COFF symbol table entry
	Export    Kind = "export"    // an export table or .dynsym entry
	PLT       Kind = "plt"       // a procedure linkage table entry
	// FunctionStart is code that unwind rules tell to be one function. The name
	// is made of its address.
	FunctionStart Kind = "start"
)

// A Frame is one level of the chain of inlined calls at an address.
type Frame struct {
	// Function is the name with its scopes and without parameters, as a
	// person would write it: app::Shape::area.
	Function string
	// Signature is the name with its parameter types where they are known,
	// otherwise "".
	Signature string
	// File is the source path as the compiler recorded it, "" if unknown. It
	// comes from another machine.
	File string
	// Line is the line in File, 0 if unknown: in the innermost frame the line
	// of the address, in every other frame the line of the call.
	Line int
}

// A Symbol is all that is known of one address.
type Symbol struct {
	// Frames holds the innermost inlined function first and the procedure
	// that contains the address last. It is never empty.
	Frames []Frame
	// Start is the RVA of the contiguous part of the containing procedure
	// that the address lies in, Size that part's length in bytes, 0 where
	// unknown.
	Start, Size uint64
	// Aliases are other procedures that start at Start (folded functions).
	Aliases []string
	Kind    Kind
	// Printable says that the texts of all frames are known to be printable
	// ASCII, because the table looks at each of its texts once. Who changes
	// them sets it to false.
	Printable bool
}

// Outermost returns the frame of the containing procedure.
func (s *Symbol) Outermost() *Frame { return &s.Frames[len(s.Frames)-1] }

// A Table is an opened source of symbols of one image. Its methods are safe
// for concurrent use; Close ends that.
type Table interface {
	// Lookup returns the symbol at an RVA, or an error that wraps
	// [ErrNotFound] where no symbol covers it. Any other error means damage:
	// this answer is lost, later ones need not be.
	Lookup(rva uint64) (Symbol, error)
	// Procedures calls yield with the start RVA and the outermost name of
	// each procedure, in no promised order, until yield returns false.
	Procedures(yield func(rva uint64, name string) bool) error
	// Identity returns the build that the file says it belongs to.
	Identity() modules.Identity
	// Describe returns the format in a few words: "PDB 7.00", "DWARF 5".
	Describe() string
	// Close frees the table and closes the file it reads.
	Close() error
}

// As returns a table, or the one that it was made of by adding to it, as a type or an interface that it has.
func As[T any](t Table) (as T, ok bool) {
	for t != nil {
		if as, ok = t.(T); ok {
			return as, true
		}
		more, is := t.(interface{ Unwrap() Table })
		if !is {
			break
		}
		t = more.Unwrap()
	}
	return as, false
}

// A File is a symbol file or image opened for reading. The table made from it
// owns it.
type File struct {
	Path string
	io.ReaderAt
	Size int64
	// Sibling opens a file that this one names (a .dwo, an alternate debug
	// file, a .debug file) if the rule for such names permits it: of several
	// that the name may mean, the first that fits. It closes the others. It
	// is nil where nothing else may be opened.
	Sibling func(name string, fits func(*File) bool) (*File, error)
	// Cache is a folder where what is made of the file (inflated sections) may
	// be kept for the next opening, "" where nothing may be.
	Cache string
	// Closer, if not nil, is closed by [File.Close].
	Closer io.Closer
}

// Close closes the file.
func (f *File) Close() error {
	if f.Closer == nil {
		return nil
	}
	return f.Closer.Close()
}

// A Format is one source of symbols, as the session's list of sources has it.
type Format struct {
	// Name is what the user reads: "PDB", "DWARF", "ELF symbols".
	Name string
	// Detect reports whether a file beginning with these bytes (at least 64
	// where the file has them) may be of this format.
	Detect func(head []byte) bool
	// Open makes a table. It returns an error that wraps [ErrNoSymbols] where
	// the file is sound and holds none of this format's symbols. On success
	// the table owns the file; on an error the caller still does.
	Open func(f *File) (Table, error)
}

// ErrNoSymbols says that a file is sound but holds no symbols of the format.
var ErrNoSymbols = message.New("no symbols of this kind in the file")
