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

func number(format string, from, to int64) func(*generator) string {
	return func(g *generator) string { return fmt.Sprintf(format, from+g.Int64N(to-from+1)) }
}

func scalar(name, format string, from, to int64) genType {
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

// A genClass is a class that is being made.
type genClass struct {
	name, kind, used              string
	members, params, inits, told  []string
	makers                        []func(*generator) string // of the constructor's arguments
	union, packed, virtual, array bool
}

// addMembers adds members of all kinds, n of them.
func (c *genClass) addMembers(g *generator, n int) {
	for i := range n {
		m := g.scalar()
		switch g.IntN(9) {
		case 0, 1, 2:
			m = genOthers[g.IntN(3)] // float and double
		case 3:
			if !c.union {
				m = genOthers[4] // a text
			}
		case 4:
			if g.posix && g.IntN(3) == 0 {
				m = genOthers[3] // long double
			}
		}
		if c.union {
			m = genScalars[6]
		}
		member := string(rune('a' + i))
		bits := ""
		value := m.value
		if m.name == "int" && g.IntN(5) == 0 {
			bits, value = fmt.Sprintf(" : %d", 5+g.IntN(20)), number("(%d)", -9, 9)
		}
		c.members = append(c.members, fmt.Sprintf("%s %s%s;", m.name, member, bits))
		c.params = append(c.params, m.name+" "+member)
		c.inits = append(c.inits, fmt.Sprintf("%[1]s(%[1]s)", member))
		c.told = append(c.told, fmt.Sprintf("m(%q, (%s)$.%s)", member, m.name, member))
		c.used += " + (" + of(m.used, "$."+member) + ")"
		c.makers = append(c.makers, value)
	}
	switch {
	case c.union:
		c.inits, c.params, c.makers = c.inits[:1], c.params[:1], c.makers[:1]
	case c.array:
		c.members, c.inits = append(c.members, "int v[2];"), append(c.inits, "v{1, 2}")
		c.told = append(c.told, `"v = " + list($.v, 2)`)
	}
}

// addBase adds a base class, if one is there, and returns its name.
func (c *genClass) addBase(g *generator) string {
	if c.union || c.virtual || c.packed || len(g.classes) == 0 || g.IntN(8) > 0 {
		return ""
	}
	b := g.classes[g.IntN(len(g.classes))]
	if b.kind != "struct" || b.noResult {
		return ""
	}
	c.params = append([]string{b.name + " base"}, c.params...)
	c.inits = append([]string{b.name + "(base)"}, c.inits...)
	c.makers = append([]func(*generator) string{b.value}, c.makers...)
	c.told = append([]string{fmt.Sprintf("\"app::%s = \" + ", b.name) + of(b.told, "((const app::"+b.name+" &)$)")}, c.told...)
	c.used += " + " + of(b.used, "((const "+b.name+" &)$)")
	c.kind = "derived"
	return b.name
}

// methods returns the class's constructors and what else decides how it is passed.
func (c *genClass) methods(g *generator, base string, copied bool) string {
	body := fmt.Sprintf("  %s(%s) : %s {}\n", c.name, strings.Join(c.params, ", "), strings.Join(c.inits, ", "))
	switch {
	case c.virtual:
		body += fmt.Sprintf("  virtual int virt() const { return %d; }\n", g.n)
		c.kind = "virtual"
	case copied && c.union:
	case copied && g.IntN(2) == 0:
		if base != "" {
			base = " : " + base + "(o)"
		}
		body += fmt.Sprintf("  %[1]s(const %[1]s &o)%[2]s { std::memcpy((void *)this, (const void *)&o, sizeof o); }\n", c.name, base)
		c.kind = "copied"
	case copied:
		body += fmt.Sprintf("  %[1]s(const %[1]s &) = default;\n  ~%[1]s() {}\n", c.name)
		c.kind = "destroyed"
	case g.IntN(6) == 0:
		body += fmt.Sprintf("  %[1]s(const %[1]s &) = default;\n  ~%[1]s() = default;\n", c.name)
		c.kind = "defaulted"
	}
	return body
}

// class adds a class to the program.
func (g *generator) class() genType {
	c := &genClass{name: g.name("S"), kind: "struct", used: "0L", packed: g.IntN(12) == 0, union: g.IntN(15) == 0, array: g.IntN(10) == 0}
	n := 1 + g.IntN(4)
	if g.IntN(12) == 0 {
		n = 5 + g.IntN(8)
	}
	c.addMembers(g, n)
	how := g.IntN(8)
	copied := how == 1 || how == 2
	c.virtual = how == 0 && !c.union
	c.packed = c.packed && !c.virtual && !copied
	attribute, word, inherits := "", "struct", ""
	switch {
	case c.packed:
		attribute = "__attribute__((packed)) "
	case g.IntN(14) == 0 && !c.union:
		attribute = "alignas(16) "
	}
	if c.union {
		word = "union"
	}
	base := c.addBase(g)
	if base != "" {
		inherits = " : " + base
	}
	body := c.methods(g, base, copied)
	namespace, end, scope := "namespace app {\n", "}\n", "app::"
	if g.IntN(6) == 0 {
		namespace, end, scope = "namespace app {\ninline namespace v1 {\n", "}\n}\n", "app::v1::"
		if c.kind == "struct" {
			c.kind = "struct in inline namespace" // it is no base class, of which the name with all namespaces is shown
		}
	}
	begin := "{"
	if c.virtual {
		begin = scope + c.name + " {"
	}
	fmt.Fprintf(&g.types, "%s%s %s%s%s {\n  %s\n%s};\n%s", namespace, word, attribute, c.name, inherits, strings.Join(c.members, " "), body, end)
	fmt.Fprintf(&g.puts, "inline string p%s(const app::%s &v) { string s = put_all(%s); return %q + s.substr(1); }\n", c.name, c.name, of(strings.Join(c.told, ", "), "v"), begin)
	t := genType{name: c.name, kind: c.kind, moved: true, told: "p" + c.name + "($)", used: "(" + c.used + ")", value: func(g *generator) string {
		var list []string
		for _, m := range c.makers {
			list = append(list, m(g))
		}
		return c.name + "(" + strings.Join(list, ", ") + ")"
	}}
	g.classes = append(g.classes, t)
	return t
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
