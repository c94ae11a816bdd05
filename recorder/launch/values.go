package launch

import (
	"debug/elf"
	"path/filepath"

	"logparser/message"
)

// WithoutValues says why no arguments and results are taken of a program's own functions, or a library's: the
// recorder comes to them in no way by which it sees any. It is zero where it may. raw: they are taken without a plan.
func (p *Program) WithoutValues(raw bool) message.Text {
	name := filepath.Base(p.Path)
	hooks := p.Calls | p.Own
	patched := p.patchable() && p.Sleds&(SledXRay|SledEntry|SledMcount) != 0
	switch wide := p.Machine == elf.EM_X86_64; {
	case wide && p.Linked && p.dll == "" && hooks == 0:
		return message.Text{} // the recorder is in it, and its symbols are not: nothing tells which hooks it calls
	case raw && wide && (patched || hooks&HookEntry != 0):
		return message.Text{}
	case raw:
		return message.Textf("no registers are taken of %s: they are on x86-64, where it calls __fentry__ (gcc -pg -mfentry -minstrument-return=call) or has room for hooks", name)
	case patched, wide && hooks&(HookEntry|HookFunctions) != 0, p.Machine == elf.EM_386 && hooks&HookEntry != 0, p.Format == ELF && p.Machine == elf.EM_386 && hooks&HookFunctions != 0,
		p.Format == PE && p.Machine == elf.EM_386 && (hooks&HookPenter != 0 || p.Linked && p.dll == "" && hooks == 0):
		return message.Text{}
	case hooks&HookFunctions != 0 && p.Machine == elf.EM_AARCH64:
		return message.Textf("no values are taken of %s: it calls the hooks of -finstrument-functions, at which there are none on arm64; -fxray-instrument (clang) and -fpatchable-function-entry=8 are ways to have them", name)
	case hooks&HookFunctions != 0:
		return message.Textf("no values are taken of %s: it calls the hooks of -finstrument-functions, at which there are none in programs of Windows for x86; -pg -mfentry -minstrument-return=call (gcc) is a way to have them", name)
	case hooks&HookPenter != 0:
		return message.Textf("no values are taken of %s: it calls the hooks of /Gh and /GH, at which there are values in programs for x86 only; -finstrument-functions (clang-cl) is a way to have them", name)
	}
	return message.Textf("no values are taken of %s: it calls no hooks at which there are any (gcc -pg -mfentry -minstrument-return=call, or -finstrument-functions)", name)
}
