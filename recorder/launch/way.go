package launch

import (
	"debug/elf"
	"path/filepath"
	"strings"

	"logparser/message"
)

// A WayKind says how a program's calls come to the recorder.
type WayKind int

// The kinds of ways in.
const (
	// Nothing: the program itself cannot be recorded; what it starts may be.
	Nothing WayKind = iota
	// Preload: the system's loader is told to load the recorder's library first.
	Preload
	// Linked: the recorder is in the program, or is a library of it.
	Linked
	// Patch: the recorder is preloaded, and puts its hooks into the program as it starts.
	Patch
)

// A Way is how a program is recorded.
type Way struct {
	Kind WayKind
	// Reason says which way it is and why, in one line.
	Reason message.Text
	// Advice says, where nothing was recorded, what to do about it.
	Advice []message.Text
}

// Way chooses how a program is recorded.
func (p *Program) Way() Way {
	name := filepath.Base(p.Path)
	w := p.way(name)
	if p.Interpreter != "" {
		by := filepath.Base(p.Interpreter)
		w.Reason = message.Textf("%s is a script, which %s runs: %v", name, by, p.way(by).Reason)
	}
	return w
}

// withLibraryCalls is the way in where calls into libraries are asked for, too.
func (p *Program) withLibraryCalls(w Way) Way {
	name := filepath.Base(p.Path)
	if p.Interpreter != "" {
		name = filepath.Base(p.Interpreter)
	}
	why := message.Textf("calls into libraries are recorded in dynamically linked programs of Linux, x86-64")
	switch {
	case p.Format != ELF || p.Machine != elf.EM_X86_64 || p.Bits != 64, p.Static, p.Privileged:
	case p.Linked:
		why = message.Textf("calls into libraries are recorded where the recorder is preloaded, and it is linked into %s", name)
	case w.Kind == Nothing:
		return Way{Kind: Preload, Reason: message.Textf("calls of %s into libraries are recorded: the recorder is preloaded", name), Advice: []message.Text{message.Textf("no function of a library that fits was called by the program itself")}}
	default:
		w.Reason = message.Textf("%v; calls into libraries are recorded, too", w.Reason)
		return w
	}
	w.Reason = message.Textf("%v; %v", w.Reason, why)
	return w
}

func (p *Program) way(name string) Way {
	switch {
	case p.Linked && p.dll != "" && !p.present:
		return Way{Kind: Linked, Reason: message.Textf("%s imports the recorder from %s, which is supplied", name, p.dll)}
	case p.Linked:
		return Way{Kind: Linked, Reason: message.Textf("the recorder is linked into %s", name), Advice: []message.Text{message.Textf("functions that were not compiled with hooks, or have no LogEnterLeave object, are not recorded")}}
	case p.Format == PE && p.other != "":
		return Way{Reason: message.Textf("%s has its hooks from %s, not from the recorder", name, p.other), Advice: []message.Text{relink}}
	case p.Format == PE && p.Own != 0:
		return Way{Reason: message.Textf("%s has hooks of its own, not the recorder's", name), Advice: []message.Text{relink}}
	case p.Format == PE:
		return Way{Reason: message.Textf("the recorder is not linked into %s, and on Windows nothing can be put before a program's own libraries", name), Advice: p.rebuild()}
	case p.Static && p.Own&taken != 0:
		return Way{Reason: message.Textf("%s is linked statically, so its hooks are the empty ones of the C library; only what it starts can be recorded", name), Advice: []message.Text{linkStatic}}
	case p.Static:
		return Way{Reason: message.Textf("%s is linked statically, and nothing can be preloaded; only what it starts can be recorded", name), Advice: append(p.rebuild(), linkStatic)}
	case p.Privileged:
		return Way{Reason: message.Textf("%s runs with the rights of another user, and the system preloads nothing into such a program", name), Advice: []message.Text{message.Textf("start it as the user whose rights it takes, or link the recorder into it")}}
	case p.Own&taken != 0:
		return Way{Reason: message.Textf("%s has hooks of its own, which come before the recorder's; only what it starts can be recorded", name), Advice: []message.Text{message.Textf("leave its own definitions of the hooks (%s) out of the build", p.Own)}}
	case p.Calls&HookFunctions != 0:
		return Way{Kind: Preload, Reason: message.Textf("%s calls the hooks of -finstrument-functions: the recorder is preloaded", name), Advice: noCalls}
	case p.Calls&HookReturn != 0:
		return Way{Kind: Preload, Reason: message.Textf("%s calls the hooks of -pg -mfentry -minstrument-return=call: the recorder is preloaded", name), Advice: noCalls}
	case p.Calls&HookEntry != 0:
		return Way{Kind: Preload, Reason: message.Textf("%s calls the hook of -pg -mfentry, which tells of enters only: the recorder is preloaded, and ends of calls are noticed at the next enter", name), Advice: noCalls}
	case p.Library != "":
		return Way{Kind: Preload, Reason: message.Textf("%s calls no hooks, but its library %s does: the recorder is preloaded", name, filepath.Base(p.Library)), Advice: noCalls}
	case p.patchable() && p.Sleds&SledXRay != 0:
		return Way{Kind: Patch, Reason: message.Textf("%s has room for hooks at enters and leaves (-fxray-instrument): the recorder is preloaded, and patches it", name), Advice: noPatches}
	case p.patchable() && p.Sleds&(SledEntry|SledMcount) != 0 && p.Sleds&SledReturn != 0:
		return Way{Kind: Patch, Reason: message.Textf("%s has room for hooks at enters and leaves (%s): the recorder is preloaded, and patches it", name, p.Sleds), Advice: noPatches}
	case p.patchable() && p.Sleds&(SledEntry|SledMcount) != 0:
		return Way{Kind: Patch, Reason: message.Textf("%s has room for hooks at enters only (%s): the recorder is preloaded, and patches it; ends of calls are noticed at the next enter", name, p.Sleds), Advice: noPatches}
	case p.patchable() && p.LibrarySleds != "":
		return Way{Kind: Patch, Reason: message.Textf("%s calls no hooks, but its library %s has room for them: the recorder is preloaded, and patches it", name, filepath.Base(p.LibrarySleds)), Advice: noPatches}
	case p.Calls&HookMcount != 0:
		return Way{Reason: message.Textf("%s was compiled with -pg alone, whose hook says too little; only what it loads or starts can be recorded", name), Advice: append(p.rebuild(), message.Textf("-pg -mfentry -minstrument-return=call instead of -pg alone also is a way in (gcc, x86-64)"))}
	case p.Sleds != 0:
		return Way{Reason: message.Textf("%s has room for hooks (%s), but the recorder patches programs of x86-64 and arm64 only; only what it loads or starts can be recorded", name, p.Sleds), Advice: p.rebuild()}
	case p.Asked:
		return Way{Reason: message.Textf("%s was compiled with -finstrument-functions, but calls no hooks; only what it loads or starts can be recorded", name), Advice: []message.Text{message.Textf("either all of its functions were left out (-finstrument-functions-exclude-file-list, -finstrument-functions-exclude-function-list, no_instrument_function), or the linker took the hooks from another library")}}
	}
	return Way{Reason: message.Textf("%s calls no hooks; only what it loads or starts can be recorded", name), Advice: p.rebuild()}
}

var (
	relink     = message.Textf("link the recorder's library before others that define the hooks")
	linkStatic = message.Textf("link it dynamically, or link the recorder into it: -DLOGREC_NO_INTERPOSE for its sources, -llogrec for the program")
	noPatches  = []message.Text{message.Textf("no function with room for a hook was called, or all were left out; room is five bytes or more (-fpatchable-function-entry=5), on arm64 eight instructions (-fpatchable-function-entry=8), and /proc must be there"), message.Textf("gcc before 13 may lose the list of a C++ file's functions with -fpatchable-function-entry")}
	noCalls    = []message.Text{message.Textf("no function with a hook was called, or all were left out")}
)

// patchable reports whether the recorder can patch programs of its kind.
func (p *Program) patchable() bool {
	return p.Format == ELF && (p.Machine == elf.EM_X86_64 || p.Machine == elf.EM_AARCH64) && p.Bits == 64
}

// String returns the options that leave the sleds.
func (s Sleds) String() string {
	var names []string
	for _, n := range []struct {
		sled Sleds
		name string
	}{
		{SledXRay, "-fxray-instrument"}, {SledEntry, "-fpatchable-function-entry"}, {SledMcount, "-mnop-mcount"}, {SledReturn, "-minstrument-return=nop5"},
	} {
		if s&n.sled != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// rebuild says how the program is to be compiled.
func (p *Program) rebuild() []message.Text {
	command := "g++ " + hookFlags["gcc"] + " app.cpp -o app"
	switch {
	case p.Interpreter != "":
		return []message.Text{message.Textf("no program that the script started calls hooks; compile the one that is to be recorded with %s", hookFlags["gcc"])}
	case p.Format == PE && p.Compiler == "":
		return []message.Text{rebuild("x86_64-w64-mingw32-g++ -g -finstrument-functions app.cpp liblogrec.a"), rebuild("cl /Gh /GH /Zi app.cpp logrec.lib")}
	case p.Compiler == "clang":
		command = "clang++ " + hookFlags["clang"] + " app.cpp -o app"
	case p.Compiler == "rustc":
		command = "rustc +nightly -g -O -Z instrument-xray=always app.rs"
	}
	return []message.Text{rebuild(command)}
}

func rebuild(command string) message.Text {
	return message.Textf("compile it with hooks, and record it again: %s", command)
}

// hookFlags are the options by which compilers put in calls of hooks. gcc can leave out functions of library
// headers.
var hookFlags = map[string]string{
	"gcc":   "-g -finstrument-functions -finstrument-functions-exclude-file-list=/usr/include,/usr/lib/gcc",
	"clang": "-g -finstrument-functions",
}

// String returns the names of the hooks.
func (h Hooks) String() string {
	text := ""
	for _, n := range []struct {
		hook Hooks
		name string
	}{
		{HookFunctions, "__cyg_profile_func_enter"}, {HookEntry, "__fentry__"}, {HookReturn, "__return__"},
		{HookMcount, "mcount"}, {HookPenter, "_penter"},
	} {
		if h&n.hook == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += n.name
	}
	return text
}
