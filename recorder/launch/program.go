package launch

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"strings"

	"logparser/message"
)

// A Format is the kind of a program's file.
type Format int

// Formats of programs.
const (
	ELF Format = iota + 1
	PE
)

// Hooks are functions that compilers have programs call, as a set.
type Hooks uint

// The hooks.
const (
	HookFunctions Hooks = 1 << iota // -finstrument-functions: __cyg_profile_func_enter, _exit
	HookEntry                       // -pg -mfentry: __fentry__
	HookReturn                      // -minstrument-return=call: __return__
	HookMcount                      // -pg: mcount, _mcount
	HookPenter                      // /Gh, /GH: _penter, _pexit
)

// Sleds are the kinds of places that compilers leave in functions for hooks, as a set. The
// recorder patches those of x86-64.
type Sleds uint

// The kinds of sleds.
const (
	SledXRay   Sleds = 1 << iota // -fxray-instrument: enters and leaves
	SledEntry                    // -fpatchable-function-entry, with room for a call: enters
	SledMcount                   // -mnop-mcount -mrecord-mcount: enters
	SledReturn                   // -minstrument-return=nop5 -mrecord-return: leaves
)

// sledSections are the sections that list them.
var sledSections = map[string]Sleds{
	"xray_instr_map": SledXRay, "__patchable_function_entries": SledEntry, "__mcount_loc": SledMcount, "__return_loc": SledReturn,
}

// hookNames are the hooks by the symbols that they are called by.
var hookNames = map[string]Hooks{
	"__cyg_profile_func_enter": HookFunctions, "__cyg_profile_func_exit": HookFunctions,
	"__fentry__": HookEntry, "__return__": HookReturn,
	"mcount": HookMcount, "_mcount": HookMcount, "__mcount": HookMcount,
	"_penter": HookPenter, "_pexit": HookPenter,
}

// taken are the hooks that the recorder takes.
const taken = HookFunctions | HookEntry | HookReturn | HookPenter

// A Program is what is known of a program before it is started.
type Program struct {
	// Path is the file's. Of a script it is the script's, and what else is known is of
	// Interpreter, which runs it.
	Path        string
	Interpreter string
	Format      Format
	Machine     elf.Machine
	Bits        int // 32 or 64
	// Static: the program is linked statically, so that nothing can be preloaded.
	Static bool
	// Privileged: it runs with the rights of another user, or with more than its own.
	Privileged bool
	// Linked: the recorder is linked in, as a part of it or as a library.
	Linked bool
	// Calls are the hooks that the program imports, Own those that it defines itself.
	Calls, Own Hooks
	// Sleds are places in its functions that hooks can be put into.
	Sleds Sleds
	// Compiler is "gcc", "clang" or what else is known, "" for nothing.
	Compiler string
	// Asked: the debug information says that it was compiled with -finstrument-functions.
	Asked bool
	// Library is a library of the program that calls hooks, if it calls none itself;
	// LibrarySleds is one that has sleds, if the program has neither and none calls hooks.
	Library, LibrarySleds string

	// first are the libraries that must be preloaded before all others.
	first []string
	// dll is the name by which a PE image imports the recorder's library, and present
	// says that it lies beside the image.
	dll     string
	present bool
	// other is the library that a PE image imports its hooks from, if that is not the recorder's.
	other string
}

// Errors of [Inspect].
var ErrNotProgram = message.New("this is no program that can be recorded: neither ELF nor PE, nor a script that says what runs it")

// maxInterpreters bounds scripts of scripts; the kernel's limit is 4.
const maxInterpreters = 4

// Inspect looks at a program. Of a script it looks at what runs it.
func Inspect(path string) (*Program, error) {
	p := &Program{Path: path}
	file := path
	for range maxInterpreters {
		head, err := readHead(file)
		if err != nil {
			return nil, err
		}
		switch {
		case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
			p.Format = ELF
			err = p.inspectELF(file)
		case bytes.HasPrefix(head, []byte("MZ")):
			p.Format = PE
			err = p.inspectPE(file)
		case bytes.HasPrefix(head, []byte("#!")):
			if file, err = interpreter(head); err != nil {
				return nil, message.Errorf("%s: %w", path, err)
			}
			p.Interpreter = file
			continue
		default:
			err = ErrNotProgram
		}
		if err != nil {
			return nil, message.Errorf("%s: %w", path, err)
		}
		return p, nil
	}
	return nil, message.Errorf("%s: %w", path, ErrNotProgram)
}

// interpreter returns the program that runs a script, by its first line.
func interpreter(head []byte) (string, error) {
	line, _, _ := bytes.Cut(head[2:], []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return "", ErrNotProgram
	}
	if filepath.Base(words[0]) != "env" {
		return words[0], nil
	}
	// env looks in PATH for its first argument that is neither an option nor a variable.
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return Find(w)
		}
	}
	return words[0], nil
}

func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil
	}
	return head[:n], err
}

func isPE(path string) bool {
	head, err := readHead(path)
	return err == nil && bytes.HasPrefix(head, []byte("MZ"))
}

// settingName is a text that is found in a program if the recorder is linked into it.
const settingName = "LOGREC_SNAPSHOT_SIGNAL"

// maxSearched bounds how much of a section is searched, bytes.
const maxSearched = 256 << 20

// contains reports whether a text is found in what r gives, of which it reads maxSearched bytes at most.
func contains(r io.Reader, text string) bool {
	const piece = 1 << 20
	buf := make([]byte, 0, piece+len(text))
	for total := 0; total < maxSearched; {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		total += n
		if bytes.Contains(buf, []byte(text)) {
			return true
		}
		if err != nil {
			return false
		}
		keep := len(text) - 1
		copy(buf, buf[len(buf)-keep:])
		buf = buf[:keep]
	}
	return false
}

// compilerOf tells the compiler from what it wrote into an image.
func compilerOf(text string) string {
	switch {
	case strings.Contains(text, "clang"):
		return "clang"
	case strings.Contains(text, "rustc"):
		return "rustc"
	case strings.Contains(text, "GCC"):
		return "gcc"
	}
	return ""
}
