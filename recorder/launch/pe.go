package launch

import (
	"debug/elf"
	"debug/pe"
	"os"
	"path/filepath"
	"strings"

	"logparser/message"
)

// recorderDLLs are the names of the recorder's library on Windows, in lower case.
var recorderDLLs = []string{"logrec.dll", "liblogrec.dll"}

// inspectPE looks at a program for Windows.
func (p *Program) inspectPE(path string) error {
	f, err := pe.Open(path)
	if err != nil {
		return message.Errorf("it is damaged: %w", err)
	}
	defer f.Close()
	switch f.Machine {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		p.Machine, p.Bits = elf.EM_X86_64, 64
	case pe.IMAGE_FILE_MACHINE_I386:
		p.Machine, p.Bits = elf.EM_386, 32
	case pe.IMAGE_FILE_MACHINE_ARM64:
		p.Machine, p.Bits = elf.EM_AARCH64, 64
	default:
		return ErrNotProgram
	}
	imports, err := f.ImportedSymbols()
	if err != nil {
		return message.Errorf("it is damaged: %w", err)
	}
	for _, s := range imports {
		// NAME:DLL
		name, dll, _ := strings.Cut(s, ":")
		h := hookNames[name]
		if p.Machine == elf.EM_386 {
			h |= hookNames["_"+name] // x86 has an underscore before all names
		}
		recorder := false
		for _, r := range recorderDLLs {
			recorder = recorder || strings.EqualFold(dll, r)
		}
		switch {
		case recorder:
			p.dll, p.Linked = dll, true
			p.Calls |= h
		case h != 0:
			p.other = dll
			p.Calls |= h
		}
	}
	for _, s := range f.Symbols {
		// x86 has an underscore before all names.
		if s.SectionNumber > 0 {
			p.Own |= hookNames[s.Name] | hookNames[strings.TrimPrefix(s.Name, "_")]
		}
	}
	for _, s := range f.Sections {
		switch s.Name {
		case ".rdata", ".rodata", ".data":
			if p.dll == "" {
				p.Linked = p.Linked || contains(s.Open(), settingName)
			}
		}
	}
	if p.dll != "" {
		_, err := os.Stat(filepath.Join(filepath.Dir(path), p.dll))
		p.present = err == nil
	}
	return nil
}
