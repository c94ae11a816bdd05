package launch

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"logparser/message"
)

// inspectELF looks at an ELF program and, where it calls no hooks itself, at its libraries.
func (p *Program) inspectELF(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return message.Errorf("it is damaged: %w", err)
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return ErrNotProgram
	}
	p.Machine = f.Machine
	p.Bits = 32
	if f.Class == elf.ELFCLASS64 {
		p.Bits = 64
	}
	loader := ""
	for _, s := range f.Progs {
		if s.Type == elf.PT_INTERP && s.Filesz < 4096 {
			b := make([]byte, s.Filesz)
			if _, err := s.ReadAt(b, 0); err == nil {
				loader = strings.TrimRight(string(b), "\x00")
			}
		}
	}
	p.Static = loader == ""
	p.Privileged = privileged(path)
	needed, err := f.ImportedLibraries()
	if err != nil && !p.Static {
		return message.Errorf("it is damaged: %w", err)
	}
	answers := answersSanitizer(f)
	for _, name := range needed {
		switch {
		case strings.HasPrefix(name, "liblogrec.so"):
			p.Linked = true
		case answers && (strings.HasPrefix(name, "libasan.so") || strings.HasPrefix(name, "libclang_rt.asan")):
			p.first = append(p.first, name)
		}
	}
	p.Calls, p.Own = elfHooks(f)
	p.sections(f)
	if p.Linked {
		return nil
	}
	if p.Calls&taken == 0 && !p.Static {
		p.Library, p.LibrarySleds = libraryWithHooks(path, f)
	}
	return nil
}

// elfHooks returns the hooks that an image imports, and those that it defines itself.
func elfHooks(f *elf.File) (calls, own Hooks) {
	dynamic, err := f.DynamicSymbols()
	if err != nil {
		dynamic = nil
	}
	for _, s := range dynamic {
		switch h := hookNames[s.Name]; {
		case s.Section == elf.SHN_UNDEF:
			calls |= h
		default:
			own |= h
		}
	}
	static, err := f.Symbols()
	if err != nil {
		static = nil
	}
	for _, s := range static {
		// In the linker's symbol table, names of other libraries end with their version.
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			own |= hookNames[s.Name]
		}
	}
	return calls, own
}

// sections reads what the sections of an image say of the program.
func (p *Program) sections(f *elf.File) {
	for _, s := range f.Sections {
		switch s.Name {
		case ".comment":
			if s.Size < 1<<16 {
				if b, err := s.Data(); err == nil {
					p.Compiler = compilerOf(string(b))
				}
			}
		case ".rodata":
			p.Linked = p.Linked || contains(s.Open(), settingName)
		case ".debug_str", ".debug_line_str":
			p.Asked = p.Asked || contains(s.Open(), "-finstrument-functions")
		}
	}
	p.Sleds = sledsOf(f)
}

// sledsOf returns the sleds that an image has.
func sledsOf(f *elf.File) (found Sleds) {
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Size > 0 {
			found |= sledSections[s.Name]
		}
	}
	return found
}

// maxLibraries bounds how many libraries are looked at.
const maxLibraries = 500

// answersSanitizer reports whether a program itself tells the address sanitizer its options. Then the recorder is not asked, which tells
// it that another library may come first.
func answersSanitizer(f *elf.File) bool {
	symbols, err := f.DynamicSymbols()
	return err == nil && slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		return s.Name == "__asan_default_options" && s.Section != elf.SHN_UNDEF
	})
}

// libraryWithHooks returns the first library of a program that calls hooks, and the first one that
// has sleds, "" for none.
func libraryWithHooks(path string, program *elf.File) (hooks, sleds string) {
	eachLibrary(path, program, func(path string, f *elf.File) bool {
		if calls, _ := elfHooks(f); calls&taken != 0 {
			hooks = path
			return false
		}
		if sleds == "" && sledsOf(f) != 0 {
			sleds = path
		}
		return true
	})
	return hooks, sleds
}

// Libraries returns the paths of the libraries that a dynamically linked ELF program is loaded with.
func Libraries(path string) (libraries []string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	eachLibrary(path, f, func(path string, _ *elf.File) bool {
		libraries = append(libraries, path)
		return true
	})
	return libraries, nil
}

// HookedLibraries returns the paths of those libraries that call hooks, or leave room for some.
func HookedLibraries(path string) (libraries []string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	eachLibrary(path, f, func(path string, f *elf.File) bool {
		if calls, own := elfHooks(f); calls&^own&taken != 0 || sledsOf(f) != 0 {
			libraries = append(libraries, path)
		}
		return true
	})
	return libraries, nil
}

// eachLibrary calls visit with the libraries that a program is loaded with, until it returns false. It looks
// where the loader looks, except in the loader's cache.
func eachLibrary(path string, program *elf.File, visit func(path string, f *elf.File) bool) {
	type image struct {
		path string
		f    *elf.File
		run  []string // where the images look that need this one
	}
	seen := map[string]bool{}
	queue := []image{{path, program, nil}}
	defer func() {
		for _, im := range queue {
			if im.f != program && im.f != nil {
				im.f.Close()
			}
		}
	}()
	for i := 0; i < len(queue) && i < maxLibraries; i++ {
		im := queue[i]
		if i > 0 && !visit(im.path, im.f) {
			return
		}
		origin := filepath.Dir(im.path)
		if real, err := filepath.EvalSymlinks(im.path); err == nil {
			origin = filepath.Dir(real)
		}
		rpath := append(searchPath(im.f, elf.DT_RPATH, origin), im.run...)
		dirs := slices.Concat(rpath, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), searchPath(im.f, elf.DT_RUNPATH, origin), systemLibraries(im.f))
		needed, err := im.f.ImportedLibraries()
		if err != nil {
			continue
		}
		for _, name := range needed {
			if seen[name] {
				continue
			}
			seen[name] = true
			if found, f := openLibrary(name, dirs, im.f); f != nil {
				queue = append(queue, image{found, f, rpath})
			}
		}
	}
}

// openLibrary opens a library of that name for the same machine as of.
func openLibrary(name string, dirs []string, of *elf.File) (string, *elf.File) {
	if strings.Contains(name, "/") {
		dirs, name = []string{filepath.Dir(name)}, filepath.Base(name)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		if f.Machine == of.Machine && f.Class == of.Class {
			return path, f
		}
		f.Close()
	}
	return "", nil
}

// searchPath returns the folders that an image names for its libraries.
func searchPath(f *elf.File, tag elf.DynTag, origin string) (dirs []string) {
	lists, err := f.DynString(tag)
	if err != nil {
		return nil
	}
	for _, list := range lists {
		for _, dir := range filepath.SplitList(list) {
			dir = strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin).Replace(dir)
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// triplets are Debian's names of the machines for which the recorder is made.
var triplets = map[elf.Machine]string{
	elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_386: "i386-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu", elf.EM_ARM: "arm-linux-gnueabihf",
}

// systemLibraries returns the system's folders of libraries for an image's machine.
func systemLibraries(f *elf.File) []string {
	var dirs []string
	for _, root := range []string{"/usr/local/lib", "/lib", "/usr/lib"} {
		if t := triplets[f.Machine]; t != "" {
			dirs = append(dirs, filepath.Join(root, t))
		}
		if f.Class == elf.ELFCLASS64 {
			dirs = append(dirs, root+"64")
		}
		dirs = append(dirs, root)
	}
	return dirs
}

// checkLibrary says why a file is not the recorder's library for a machine, nil if it is.
func checkLibrary(path string, machine elf.Machine, bits int) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if class := map[int]elf.Class{32: elf.ELFCLASS32, 64: elf.ELFCLASS64}[bits]; f.Machine != machine || f.Class != class {
		return message.New("it is for another machine")
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name == "logrec_enter" && s.Section != elf.SHN_UNDEF {
			return nil
		}
	}
	return message.New("it is another library")
}
