package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A generator writes programs of functions with parameters and results of all kinds that calling conventions and compilers
// tell apart, drawn at random. Their callers print what they pass, since a function that does not use a parameter cannot, and
// the compiler may then leave it out.
type generator struct {
	*rand.Rand
	types, puts, functions, calls strings.Builder
	// classes are the program's own types, by name.
	classes []genType
	n       int // of names
	// causes has, by function and parameter, what may be the reason that its value is not known.
	causes map[string]string
	// posix says that the program is for a system where long has 64 bits and there is __int128 in registers.
	posix bool
}

// A genType is a type of parameters.
type genType struct {
	// name is the type in a declaration; value an expression that makes a value of it; told an expression, with $ for the
	// value, that says as what LogParser shows it; used one that makes a number of it.
	name, told, used string
	value            func(*generator) string
	// moved says that a value is passed on by std::move. kind is the name of its kind in statistics.
	moved bool
	kind  string
	// plain says that it is no class, so that it may be volatile, or the type of a bit field.
	integer bool
	// result says that a function may return it.
	noResult bool
}

// of puts a value into a template of an expression.
func of(template, value string) string { return strings.ReplaceAll(template, "$", value) }

func (g *generator) name(prefix string) string {
	g.n++
	return fmt.Sprintf("%s%d", prefix, g.n)
}

func number(format string, from, to int) func(*generator) string {
	return func(g *generator) string { return fmt.Sprintf(format, from+g.IntN(to-from+1)) }
}

func scalar(name, format string, from, to int) genType {
	return genType{name: name, value: number(format, from, to), told: "put($)", used: "(long)$", kind: "number", integer: true}
}

var genScalars = []genType{
	scalar("bool", "%d != 3", 2, 4), scalar("char", "(char)(%d)", 'a', 'z'), scalar("signed char", "(signed char)(%d)", -128, 127),
	scalar("unsigned char", "(unsigned char)(%d)", 0, 255), scalar("short", "(short)(%d)", -32768, 32767), scalar("unsigned short", "(unsigned short)(%d)", 0, 65535),
	scalar("int", "(%d)", -2000000000, 2000000000), scalar("int", "(%d)", -9, 9), scalar("unsigned", "%du", 0, 4000000000), scalar("long", "(%dL)", -2000000000, 2000000000),
	scalar("long long", "(%dLL)", -9000000000000, 9000000000000), scalar("unsigned long long", "%dull", 0, 9000000000000), scalar("wchar_t", "(wchar_t)%d", 'a', 'z'),
}

var genOthers = []genType{
	{name: "float", value: number("%d.5f", -1000, 1000), told: "put($)", used: "(long)$", kind: "floating"},
	{name: "double", value: number("%d.25", -1000, 1000), told: "put($)", used: "(long)$", kind: "floating"},
	{name: "double", value: number("%d.25", -1000, 1000), told: "put($)", used: "(long)$", kind: "floating"},
	{name: "long double", value: number("%d.75L", -1000, 1000), told: "put($)", used: "(long)$", kind: "long double"},
	{name: "const char *", value: text, told: "put($)", used: "(long)$[0]", kind: "text"},
	{name: "const void *", value: number("(void *)0x%x", 4096, 1<<40), told: "put($)", used: "(long)$", kind: "pointer"},
	{name: "int *", value: number("&told::cell(%d)", -9, 9), told: "put((const void *)$)", used: "(long)*$", kind: "pointer"},
	{name: "int &", value: number("told::cell(%d)", -9, 9), told: "put($)", used: "(long)$", kind: "reference", noResult: true},
	{name: "const double &", value: number("told::keep(%d.5)", -9, 9), told: "put($)", used: "(long)$", kind: "reference", noResult: true},
	{name: "std::string", value: str, told: "put($)", used: "(long)$.size()", kind: "std::string", moved: true},
	{name: "const std::string &", value: keep("std::string", str), told: "put($)", used: "(long)$.size()", kind: "std::string&", noResult: true},
	{name: "std::string &&", value: str, told: "put($)", used: "(long)$.size()", kind: "std::string&", moved: true, noResult: true},
	{name: "const std::string *", value: func(g *generator) string { return "&" + keep("std::string", str)(g) }, told: "put(*$)", used: "(long)$->size()", kind: "std::string&", noResult: true},
	{name: "std::string_view", value: func(g *generator) string { return "std::string_view(" + text(g) + ")" }, told: "put($)", used: "(long)$.size()", kind: "string_view"},
	{name: "std::vector<int>", value: number("std::vector<int>{1, %d}", 2, 9), told: `string("?")`, used: "(long)$.size()", kind: "container", moved: true},
	{name: "const std::vector<int> &", value: keep("std::vector<int>", number("{1, %d}", 2, 9)), told: "put((const void *)&$)", used: "(long)$.size()", kind: "container&", noResult: true},
	{name: "std::unique_ptr<int>", value: number("std::make_unique<int>(%d)", 2, 9), told: `string("?")`, used: "(long)*$", kind: "container", moved: true},
	{name: "std::pair<int, double>", value: number("std::pair<int, double>(%d, 1.5)", 2, 9), told: "put_all(m(\"first\", $.first), m(\"second\", $.second))", used: "(long)$.first", kind: "struct"},
	{name: "std::array<short, 3>", value: number("std::array<short, 3>{1, 2, %d}", 2, 9), told: `("[1, 2, " + put($[2]) + "]")`, used: "(long)$[2]", kind: "struct"},
	{name: "std::complex<float>", value: number("std::complex<float>(%d, 2)", 2, 9), told: "put_all(m(\"re\", $.real()), m(\"im\", $.imag()))", used: "(long)$.real()", kind: "struct"},
	{name: "std::nullptr_t", value: func(*generator) string { return "nullptr" }, told: `string("null")`, used: "(long)($ == nullptr)", kind: "nullptr", noResult: true},
}

func text(g *generator) string {
	return fmt.Sprintf("%q", strings.Repeat("text ", g.IntN(4))+fmt.Sprint(g.IntN(1000)))
}

func str(g *generator) string {
	return fmt.Sprintf("std::string(%d, '%c')", g.IntN(80), 'a'+rune(g.IntN(26)))
}

// keep makes a value that outlives the call.
func keep(of string, value func(*generator) string) func(*generator) string {
	return func(g *generator) string { return "told::keep<" + of + ">(" + value(g) + ")" }
}

func (g *generator) scalar() genType {
	t := genScalars[g.IntN(len(genScalars))]
	if !g.posix && t.name == "long" {
		t = genScalars[6]
	}
	return t
}

// class adds a class to the program.
func (g *generator) class() genType {
	name := g.name("S")
	t := genType{name: name, kind: "struct", moved: true}
	var members, params, inits, values, told []string
	var makers []func(*generator) string
	used := "0L"
	n := 1 + g.IntN(4)
	if g.IntN(12) == 0 {
		n = 5 + g.IntN(8)
	}
	packed, word, union := g.IntN(12) == 0, "struct", g.IntN(15) == 0
	for i := range n {
		m := g.scalar()
		switch g.IntN(9) {
		case 0, 1, 2:
			m = genOthers[g.IntN(3)] // float and double
		case 3:
			if !union {
				m = genOthers[4] // a text
			}
		case 4:
			if g.posix && g.IntN(3) == 0 {
				m = genOthers[3] // long double
			}
		}
		if union {
			m = genScalars[6]
		}
		member := string(rune('a' + i))
		bits := ""
		value := m.value
		if m.name == "int" && g.IntN(5) == 0 {
			bits, value = fmt.Sprintf(" : %d", 5+g.IntN(20)), number("(%d)", -9, 9)
		}
		members = append(members, fmt.Sprintf("%s %s%s;", m.name, member, bits))
		params = append(params, m.name+" "+member)
		inits = append(inits, fmt.Sprintf("%[1]s(%[1]s)", member))
		told = append(told, fmt.Sprintf("m(%q, (%s)$.%s)", member, m.name, member))
		used += " + (" + of(m.used, "$."+member) + ")"
		makers = append(makers, value)
	}
	arrayed := !union && g.IntN(10) == 0
	if arrayed {
		members = append(members, "int v[2];")
		told = append(told, `"v = " + list($.v, 2)`)
	}
	if union {
		word = "union"
		inits, params, makers = inits[:1], params[:1], makers[:1]
	}
	virtual, copied := false, false
	switch g.IntN(8) {
	case 0:
		virtual = !union
	case 1, 2:
		copied = true
	}
	if virtual || copied {
		packed = false
	}
	attribute, base := "", ""
	switch {
	case packed:
		attribute = "__attribute__((packed)) "
	case g.IntN(14) == 0 && !union:
		attribute = "alignas(16) "
	}
	begin := "{"
	if !union && !virtual && !packed && len(g.classes) > 0 && g.IntN(8) == 0 {
		if b := g.classes[g.IntN(len(g.classes))]; b.kind == "struct" && b.result() {
			base = " : " + b.name
			params = append([]string{b.name + " base"}, params...)
			inits = append([]string{b.name + "(base)"}, inits...)
			makers = append([]func(*generator) string{b.value}, makers...)
			told = append([]string{fmt.Sprintf("\"app::%s = \" + ", b.name) + of(b.told, "((const app::"+b.name+" &)$)")}, told...)
			used += " + " + of(b.used, "((const "+b.name+" &)$)")
			t.kind = "derived"
		}
	}
	more := ""
	if arrayed {
		more = ", v{1, 2}"
	}
	body := fmt.Sprintf("  %s(%s) : %s%s {}\n", name, strings.Join(params, ", "), strings.Join(inits, ", "), more)
	switch {
	case virtual:
		body += fmt.Sprintf("  virtual int virt() const { return %d; }\n", g.n)
		t.kind, begin = "virtual", "app::"+name+" {"
	case copied && union:
	case copied && g.IntN(2) == 0:
		body += fmt.Sprintf("  %[1]s(const %[1]s &o) { std::memcpy((void *)this, (const void *)&o, sizeof o); }\n", name)
		t.kind = "copied"
	case copied:
		body += fmt.Sprintf("  %[1]s(const %[1]s &) = default;\n  ~%[1]s() {}\n", name)
		t.kind = "destroyed"
	case g.IntN(6) == 0:
		body += fmt.Sprintf("  %[1]s(const %[1]s &) = default;\n  ~%[1]s() = default;\n", name)
		t.kind = "defaulted"
	}
	if copied && strings.Contains(body, "memcpy") && base != "" {
		body = strings.Replace(body, "const "+name+" &o) {", "const "+name+" &o) : "+base[3:]+"(o) {", 1)
	}
	for _, m := range makers {
		values = append(values, m(g))
	}
	namespace, end := "namespace app {\n", "}\n"
	if g.IntN(6) == 0 {
		namespace, end = "namespace app {\ninline namespace v1 {\n", "}\n}\n"
		if virtual {
			begin = "app::v1::" + name + " {"
		}
	}
	inline := end == "}\n}\n"
	fmt.Fprintf(&g.types, "%s%s %s%s%s {\n  %s\n%s};\n%s", namespace, word, attribute, name, base, strings.Join(members, " "), body, end)
	putName := "p" + name
	expr := of("put_all("+strings.Join(told, ", ")+")", "v")
	if inline {
		expr = strings.ReplaceAll(expr, "app::"+name, "app::v1::"+name)
	}
	fmt.Fprintf(&g.puts, "inline string %s(const app::%s &v) { string s = %s; return %q + s.substr(1); }\n", putName, name, expr, begin)
	t.told, t.used = putName+"($)", "("+used+")"
	t.value = func(g *generator) string {
		var list []string
		for _, m := range makers {
			list = append(list, m(g))
		}
		return name + "(" + strings.Join(list, ", ") + ")"
	}
	t.inlineScope(inline)
	g.classes = append(g.classes, t)
	return t
}

func (t *genType) result() bool { return !t.noResult }

// inlineScope keeps classes in inline namespaces from being bases, of which the name with all namespaces is shown.
func (t *genType) inlineScope(is bool) {
	if is && t.kind == "struct" {
		t.kind = "struct in inline namespace"
	}
}

// enum adds an enumeration.
func (g *generator) enum() genType {
	name := g.name("E")
	of := []string{"", " : unsigned char", " : short", " : long long"}[g.IntN(4)]
	class := []string{"", "class "}[g.IntN(2)]
	fmt.Fprintf(&g.types, "namespace app { enum %s%s%s { %[2]sA = 1, %[2]sB = 100, %[2]sC = 101 }; }\n", class, name, of)
	fmt.Fprintf(&g.puts, "inline string p%[1]s(app::%[1]s v) { return (int)v == 1 ? \"%[1]sA\" : (int)v == 100 ? \"%[1]sB\" : (int)v == 101 ? \"%[1]sC\" : put((int)v); }\n", name)
	t := genType{name: name, told: "p" + name + "($)", used: "(long)$", kind: "enum", value: func(g *generator) string {
		return fmt.Sprintf("(%s)%d", name, []int{1, 100, 101, 7}[g.IntN(4)])
	}}
	g.classes = append(g.classes, t)
	return t
}

// alias gives a type another name.
func (g *generator) alias(t genType) genType {
	name := g.name("A")
	constant := ""
	if g.IntN(4) == 0 && !strings.HasSuffix(t.name, "&") {
		constant = "const "
	}
	switch of := t.name; {
	case constant != "" && strings.HasSuffix(of, "*"):
		fmt.Fprintf(&g.types, "namespace app { typedef %s const %s; }\n", of, name)
	case g.IntN(3) == 0:
		fmt.Fprintf(&g.types, "namespace app { template <class T> using %sT = T; using %[1]s = %[3]s%[1]sT<%[2]s>; }\n", name, of, constant)
	case g.IntN(2) == 0:
		fmt.Fprintf(&g.types, "namespace app { typedef %s%s %s; }\n", constant, of, name)
	default:
		fmt.Fprintf(&g.types, "namespace app { using %s = %s%s; }\n", name, constant, of)
	}
	t.name, t.kind = name, t.kind+" by alias"
	t.integer = false
	if constant != "" {
		t.noResult = true
	}
	return t
}

// draw returns a type for a parameter.
func (g *generator) draw() genType {
	var t genType
	switch k := g.IntN(20); {
	case k < 7:
		t = g.scalar()
	case k < 13:
		t = genOthers[g.IntN(len(genOthers))]
	case k < 15:
		t = g.class()
	case k == 15:
		t = g.enum()
	case len(g.classes) > 0:
		t = g.classes[g.IntN(len(g.classes))]
	default:
		t = g.class()
	}
	if g.posix && g.IntN(40) == 0 {
		t = genType{name: "__int128", value: number("(__int128)%d * 1000000000000", -9000000000000, 9000000000000), told: "put($)", used: "(long)$", kind: "int128"}
	}
	if g.IntN(6) == 0 {
		t = g.alias(t)
	}
	// A constant reference to a small class shows what is in it.
	if strings.HasPrefix(t.kind, "struct") && g.IntN(5) == 0 {
		t.name, t.kind, t.value, t.noResult, t.moved = "const "+t.name+" &", t.kind+"&", keep(t.name, t.value), true, false
	}
	return t
}

// function adds a function and calls of it.
func (g *generator) function() {
	name := g.name("f")
	static := g.IntN(3) == 0
	kind := g.IntN(12) // 0: a method, 1: a constant one, 2: a static one, 3: a template, 4: in an unnamed namespace
	if kind < 3 {
		static = false
	}
	var params, locals, tells, passed, uses []string
	count := g.IntN(6)
	if g.IntN(6) == 0 {
		count = 6 + g.IntN(5)
	}
	shown := "app::" + name
	type parameter struct {
		t              genType
		name           string
		named, generic bool
	}
	var list []parameter
	for i := range count {
		p := parameter{g.draw(), string(rune('a' + i)), true, kind == 3 && i == 0}
		unused, unnamed := g.IntN(5) == 0, false
		declared := p.t.name + " " + p.name
		if unused && g.IntN(2) == 0 {
			unnamed, declared, p.named = true, p.t.name, false
		}
		if kind == 3 && i == 0 {
			declared = strings.Replace(declared, p.t.name, "T", 1)
		}
		params = append(params, declared)
		cause := p.t.kind
		if static || kind == 4 {
			cause += ", static"
		}
		if unused {
			cause += ", unused"
		} else {
			uses = append(uses, "told::sink = told::sink * 31 + "+of(p.t.used, p.name))
		}
		local := fmt.Sprintf("x%d", i)
		hidden := g.IntN(3) > 0
		switch {
		case strings.Contains(p.t.kind, "&") || strings.HasPrefix(p.t.kind, "reference"):
			locals = append(locals, "auto &&"+local+" = $;")
		case hidden:
			locals = append(locals, "auto "+local+" = told::hide($);")
		default:
			locals = append(locals, "auto "+local+" = $;")
		}
		label := p.name
		if unnamed {
			label = "?"
		}
		g.causes[shown+"\t"+p.name] = cause
		tells = append(tells, fmt.Sprintf(".text(%q, %s)", label, of(p.t.told, local)))
		if p.t.moved {
			local = "std::move(" + local + ")"
		}
		passed = append(passed, local)
		list = append(list, p)
	}
	// A variable may become another before anything is done.
	if len(list) >= 2 && g.IntN(6) == 0 {
		for i := range list {
			for k := range list {
				if a, b := &list[i], &list[k]; i != k && a.t.integer && a.t.name == b.t.name && a.named && b.named && !a.generic && !b.generic && g.IntN(2) == 0 {
					uses = append([]string{fmt.Sprintf("%s = %s", list[i].name, list[k].name)}, uses...)
				}
			}
		}
	}
	if g.IntN(4) == 0 {
		g.Shuffle(len(uses), func(i, k int) { uses[i], uses[k] = uses[k], uses[i] })
	}
	result := genType{name: "void"}
	if g.IntN(5) > 0 {
		for result = g.draw(); !result.result() || strings.HasSuffix(result.name, "&"); {
			result = g.draw()
		}
	}
	end := ""
	if result.name != "void" {
		end = " return " + result.value(g) + ";"
		if result.integer && (strings.HasSuffix(result.name, "int") || strings.Contains(result.name, "long")) && g.IntN(2) == 0 && len(list) > 0 {
			end = fmt.Sprintf(" return (%s)told::sink;", result.name)
		}
	}
	g.causes[shown+"\treturn"] = "result " + result.kind
	g.causes[shown+"\tthis"] = "this"
	body := fmt.Sprintf("{ told::sink = %d; %s; told::made();%s }", g.n, strings.Join(append(uses, "(void)0"), "; "), end)
	if g.IntN(2) == 0 {
		body = strings.Replace(body, " told::made();", "", 1)
	}
	call := name
	// Of half of the functions the compiler must not change what they take.
	attributes, free := "KEPT ", g.IntN(2) == 0
	if free {
		attributes = "__attribute__((noinline)) "
		for i := range list {
			g.causes[shown+"\t"+list[i].name] += ", free"
		}
		g.causes[shown+"\treturn"] += ", free"
	}
	declaration := fmt.Sprintf("%s %s(%s)", result.name, name, strings.Join(params, ", "))
	object := ""
	switch kind {
	case 0, 1, 2:
		class := g.name("M")
		qualifier, before := "", ""
		if kind == 1 {
			qualifier = " const"
		} else if kind == 2 {
			before = "static "
		}
		fmt.Fprintf(&g.functions, "struct %s { int field = %d; %s%s%s%s %s };\n", class, g.n, attributes, before, declaration, qualifier, body)
		g.moveCauses(shown, "app::"+class+"::"+name)
		shown = "app::" + class + "::" + name
		call = class + "::" + name
		if kind != 2 {
			object = class
			call = "object." + name
		}
	case 3:
		if static {
			attributes += "static "
		}
		fmt.Fprintf(&g.functions, "template <class T> %s%s %s\n", attributes, declaration, body)
		if len(list) > 0 {
			call = fmt.Sprintf("%s<%s>", name, list[0].t.name)
		} else {
			call = name + "<int>"
		}
	case 4:
		fmt.Fprintf(&g.functions, "namespace { %s%s %s }\n", attributes, declaration, body)
		g.moveCauses(shown, "app::(anonymous namespace)::"+name)
		shown = "app::(anonymous namespace)::" + name
	default:
		if static {
			attributes += "static "
		}
		fmt.Fprintf(&g.functions, "%s%s %s\n", attributes, declaration, body)
	}
	for range 1 + g.IntN(2) {
		g.calls.WriteString("  {\n")
		if object != "" {
			fmt.Fprintf(&g.calls, "    %s object;\n", object)
		}
		for i, l := range locals {
			fmt.Fprintf(&g.calls, "    %s\n", of(l, list[i].t.value(g)))
		}
		this := ""
		if object != "" {
			this = `.text("this", put((const void *)&object))`
		}
		fmt.Fprintf(&g.calls, "    { using namespace told; Call(%q)%s%s; }\n", shown, this, strings.Join(tells, ""))
		if result.name == "void" {
			fmt.Fprintf(&g.calls, "    %s(%s);\n  }\n", call, strings.Join(passed, ", "))
			continue
		}
		fmt.Fprintf(&g.calls, "    auto r = %s(%s);\n    { using namespace told; told::returned(%s); }\n  }\n", call, strings.Join(passed, ", "), of(result.told, "r"))
	}
}

func (g *generator) moveCauses(from, to string) {
	for key, cause := range g.causes {
		if rest, ok := strings.CutPrefix(key, from+"\t"); ok {
			delete(g.causes, key)
			g.causes[to+"\t"+rest] = cause
		}
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
