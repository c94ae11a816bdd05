package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
)

// A genFunction is a function that is being made, and its calls.
type genFunction struct {
	name string
	// kind is 0 of a method, 1 of a constant one, 2 of a static one, 3 of a template, 4 of a function in an unnamed namespace.
	kind         int
	static, free bool
	list         []genParameter
	// params are declarations, uses statements that use parameters. locals makes the caller's variables, which tells prints and
	// passed passes.
	params, uses, locals, tells, passed []string
	result                              genType
	// shown is the function's full name, call how it is called, object the class of the object that it is called for.
	shown, call, object string
}

type genParameter struct {
	t              genType
	name           string
	named, generic bool
}

// parameter adds a parameter.
func (f *genFunction) parameter(g *generator, i int) {
	p := genParameter{g.draw(), string(rune('a' + i)), true, f.kind == 3 && i == 0}
	unused := g.IntN(5) == 0
	declared, label := p.t.name+" "+p.name, p.name
	if unused && g.IntN(2) == 0 {
		declared, label, p.named = p.t.name, "?", false
	}
	if p.generic {
		declared = strings.Replace(declared, p.t.name, "T", 1)
	}
	f.params = append(f.params, declared)
	cause := p.t.kind
	if f.static || f.kind == 4 {
		cause += ", static"
	}
	if unused {
		cause += ", unused"
	} else {
		f.uses = append(f.uses, "told::sink = told::sink * 31 + "+of(p.t.used, p.name))
	}
	g.causes[f.shown+"\t"+p.name] = cause
	local := fmt.Sprintf("x%d", i)
	hidden := g.IntN(3) > 0
	switch {
	case strings.Contains(p.t.kind, "&") || strings.HasPrefix(p.t.kind, "reference"):
		f.locals = append(f.locals, "auto &&"+local+" = $;")
	case hidden:
		f.locals = append(f.locals, "auto "+local+" = told::hide($);")
	default:
		f.locals = append(f.locals, "auto "+local+" = $;")
	}
	f.tells = append(f.tells, fmt.Sprintf(".text(%q, %s)", label, of(p.t.told, local)))
	if p.t.moved {
		local = "std::move(" + local + ")"
	}
	f.passed = append(f.passed, local)
	f.list = append(f.list, p)
}

// reassign lets some variables become others before anything is done.
func (f *genFunction) reassign(g *generator) {
	if len(f.list) < 2 || g.IntN(6) > 0 {
		return
	}
	for i := range f.list {
		for k := range f.list {
			a, b := &f.list[i], &f.list[k]
			if i != k && a.t.integer && a.t.name == b.t.name && a.named && b.named && !a.generic && !b.generic && g.IntN(2) == 0 {
				f.uses = append([]string{a.name + " = " + b.name}, f.uses...)
			}
		}
	}
}

// body returns the function's body, and draws its result.
func (f *genFunction) body(g *generator) string {
	f.result = genType{name: "void"}
	if g.IntN(5) > 0 {
		for f.result = g.draw(); f.result.noResult || strings.HasSuffix(f.result.name, "&"); {
			f.result = g.draw()
		}
	}
	end := ""
	if name := f.result.name; name != "void" {
		end = " return " + f.result.value(g) + ";"
		if f.result.integer && (strings.HasSuffix(name, "int") || strings.Contains(name, "long")) && g.IntN(2) == 0 && len(f.list) > 0 {
			end = fmt.Sprintf(" return (%s)told::sink;", name)
		}
	}
	calls := ""
	if g.IntN(2) == 0 {
		calls = " told::made();"
	}
	return fmt.Sprintf("{ told::sink = %d; %s;%s%s }", g.n, strings.Join(append(f.uses, "(void)0"), "; "), calls, end)
}

// define writes the function, and finds out how it is called and shown.
func (f *genFunction) define(g *generator, body string) {
	// Of half of the functions the compiler must not change what they take.
	attributes := "KEPT "
	if f.free {
		attributes = "__attribute__((noinline)) "
	}
	if f.static {
		attributes += "static "
	}
	declaration := fmt.Sprintf("%s %s(%s)", f.result.name, f.name, strings.Join(f.params, ", "))
	f.call = f.name
	switch f.kind {
	case 0, 1, 2:
		class := g.name("M")
		qualifier, before := "", ""
		f.shown, f.call, f.object = "app::"+class+"::"+f.name, "object."+f.name, class
		switch f.kind {
		case 1:
			qualifier = " const"
		case 2:
			before, f.call, f.object = "static ", class+"::"+f.name, ""
		}
		fmt.Fprintf(&g.functions, "struct %s { int field = %d; %s%s%s%s %s };\n", class, g.n, attributes, before, declaration, qualifier, body)
	case 3:
		fmt.Fprintf(&g.functions, "template <class T> %s%s %s\n", attributes, declaration, body)
		f.call += "<int>"
		if len(f.list) > 0 {
			f.call = fmt.Sprintf("%s<%s>", f.name, f.list[0].t.name)
		}
	case 4:
		fmt.Fprintf(&g.functions, "namespace { %s%s %s }\n", attributes, declaration, body)
		f.shown = "app::(anonymous namespace)::" + f.name
	default:
		fmt.Fprintf(&g.functions, "%s%s %s\n", attributes, declaration, body)
	}
}

// callIt writes a call of the function, with values of its own.
func (f *genFunction) callIt(g *generator) {
	g.calls.WriteString("  {\n")
	this := ""
	if f.object != "" {
		fmt.Fprintf(&g.calls, "    %s object;\n", f.object)
		this = `.text("this", put((const void *)&object))`
	}
	for i, l := range f.locals {
		fmt.Fprintf(&g.calls, "    %s\n", of(l, f.list[i].t.value(g)))
	}
	fmt.Fprintf(&g.calls, "    { using namespace told; Call(%q)%s%s; }\n", f.shown, this, strings.Join(f.tells, ""))
	call := fmt.Sprintf("%s(%s)", f.call, strings.Join(f.passed, ", "))
	if f.result.name == "void" {
		fmt.Fprintf(&g.calls, "    %s;\n  }\n", call)
		return
	}
	fmt.Fprintf(&g.calls, "    auto r = %s;\n    { using namespace told; told::returned(%s); }\n  }\n", call, of(f.result.told, "r"))
}

// function adds a function and calls of it.
func (g *generator) function() {
	f := &genFunction{name: g.name("f"), kind: g.IntN(12)}
	f.static = f.kind >= 3 && g.IntN(3) == 0
	f.free = g.IntN(2) == 0
	f.shown = "app::" + f.name
	drawn := f.shown
	count := g.IntN(6)
	if g.IntN(6) == 0 {
		count = 6 + g.IntN(5)
	}
	for i := range count {
		f.parameter(g, i)
	}
	f.reassign(g)
	if g.IntN(4) == 0 {
		g.Shuffle(len(f.uses), func(i, k int) { f.uses[i], f.uses[k] = f.uses[k], f.uses[i] })
	}
	f.define(g, f.body(g))
	g.causes[drawn+"\treturn"], g.causes[drawn+"\tthis"] = "result "+f.result.kind, "this"
	for key, cause := range maps.Clone(g.causes) {
		name, of, _ := strings.Cut(key, "\t")
		if name != drawn {
			continue
		}
		if f.free {
			cause += ", free"
		}
		delete(g.causes, key)
		g.causes[f.shown+"\t"+of] = cause
	}
	for range 1 + g.IntN(2) {
		f.callIt(g)
	}
}

// generate returns a program of n functions.
func generate(seed uint64, n int, posix bool) (source string, causes map[string]string) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 33)), causes: make(map[string]string), posix: posix}
	for range n {
		g.function()
	}
	return `#include <array>
#include <complex>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "told.h"

namespace told {
inline volatile long sink;
__attribute__((noinline)) inline void made() { sink = sink + 1; }
#if defined(__clang__)
#define KEPT __attribute__((noinline, used))
#else
#define KEPT __attribute__((noipa))
#endif
template <class T> T hide(T v) { asm volatile("" : : "r"(&v) : "memory"); return v; }
template <class T> T &keep(T v) { static std::list<T> all; all.push_back(std::move(v)); return all.back(); }
inline int &cell(int v) { return keep<int>(v); }
}  // namespace told
` + g.types.String() + "namespace told {\n" + g.puts.String() + `inline void returned(const string &v) { std::printf("return\t%s\n", v.c_str()); std::fflush(stdout); }
}  // namespace told
#include "told_call.h"

namespace app {
` + g.functions.String() + "void all() {\n  using told::Call;\n" + g.calls.String() + "}\n}  // namespace app\n\nint main() { app::all(); }\n", g.causes
}
