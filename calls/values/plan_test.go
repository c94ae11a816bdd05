package values

import (
	"strings"
	"testing"

	"logparser/modules"
)

const plan = `lpvalues 1
machine x86-64
abi sysv
type 1 pointer 8 2 app::Shape*
type 2 struct 16 app::Shape
member 2 0 3 <base>
member 2 8 4 color
member 2 12:3:5 5 bits
type 3 struct 8 app::Base
type 4 enum 4 app::Color
enumerator 4 0 Red
enumerator 4 -1 None
type 5 uint 4 unsigned int
type 6 array 12 3 5 unsigned int[3]
type 7 text 0 char const*
type 8 int 8 long
module libshapes.so
identity build-id 5f3a00
function 1a40 80 app::Shape::area(int, int)
enter rdi value 8 1 this
enter rsi+xmm0 value 12 6 three
enter - unknown 5 lost
enter stack8 value 4 4 color
enter rdx text 64 7 name
leave rax memory 0 16 2 return
function 1b00 10 app::name(std::string const&)
enter rdi string libstdc++ 64 7 s
enter rsi+rdx view libc++ 32 7 v
function 1c00 40 app::hooked(long, char const*)
hook 1c12
enter rbx value 8 8 n
enter rsp:24 text 64 7 s
hook 1c30
leave =1 value 8 8 return
hook 1c38
leave rbp:-24 value 8 8 return
function 1d00 40 app::lost(long)
enter - unknown 8 n
hook 1d20
leave r12 value 8 8 return
function 1e00 40 app::outs(long*, char*)
hook 1e12
keep rbx
keep rsp:24
enter rbx value 8 1 n
hook 1e30
leave @0 memory 0 8 8 n@leave
leave @1 text 64 7 s@leave
module other.dll
identity pdb 0123ABCD456789AB0CDEF012345678912
`

// TestPlanText reads a plan and writes it again.
func TestPlanText(t *testing.T) {
	p, err := Read(strings.NewReader("lpvalues 1\n# made by hand\n\n" + plan[len("lpvalues 1\n"):]))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Write(&out, p); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != plan {
		t.Errorf("written again:\n%s\nwant:\n%s", got, plan)
	}
	m := &p.Modules[0]
	if f := m.Function(0x1c00); len(f.Enter) != 2 || len(f.Leave) != 1 || len(f.Hooks) != 3 || f.Hooks[2].Places[0] != "rbp:-24" {
		t.Errorf("what is taken at hooks is %+v", f)
	}
	if f := m.Function(0x1e00); len(f.Hooks) != 2 || strings.Join(f.Hooks[0].Keeps, " ") != "rbx rsp:24" || strings.Join(f.Hooks[1].Places, " ") != "@0 @1" {
		t.Errorf("what is kept at hooks is %+v", f)
	}
	for rva, want := range map[uint64]string{0x1a3f: "", 0x1a40: "app::Shape::area(int, int)", 0x1abf: "app::Shape::area(int, int)", 0x1ac0: "", 0x1b0f: "app::name(std::string const&)", 0x1b10: ""} {
		got := ""
		if f := m.Function(rva); f != nil {
			got = f.Name
		}
		if got != want {
			t.Errorf("RVA %x is in %q, want %q", rva, got, want)
		}
	}
}

// TestBySignature reads a plan that says of one module that its types are by signature.
func TestBySignature(t *testing.T) {
	text := strings.Replace(plan, "function 1a40", "# by signature: there is no debug information\nfunction 1a40", 1)
	d, err := NewDecoder(takenBy(text + "function 10 10 f()\n"))
	if err != nil {
		t.Fatal(err)
	}
	shapes := modules.Identity{BuildID: "\x5f\x3a\x00"}
	for _, test := range []struct {
		of   *Callee
		want bool
	}{
		{&Callee{Module: "libshapes.so", Identity: shapes, RVA: 0x1a40}, true},
		{&Callee{Module: "libshapes.so", Identity: shapes, RVA: 0x10}, false},
		{&Callee{Module: "libshapes.so", Identity: build, RVA: 0x1a40}, false},
		{&Callee{Module: "other.dll", Identity: d.plan.Modules[1].Identity, RVA: 0x10}, false},
	} {
		if got := d.BySignature(test.of); got != test.want {
			t.Errorf("%s+%#x: %t", test.of.Module, test.of.RVA, got)
		}
	}
	var out strings.Builder
	if err := Write(&out, d.plan); err != nil || strings.Count(out.String(), "\n"+bySignature) != 1 {
		t.Errorf("%v: written again:\n%s", err, out.String())
	}
}

// TestPlanErrors reads texts that are not plans.
func TestPlanErrors(t *testing.T) {
	const head = "lpvalues 1\nmachine x86-64\nabi sysv\n"
	const hooked = head + "type 1 int 4 int\nmodule a\nfunction 10 10 f\nhook 18\n"
	for _, test := range []struct{ text, want string }{
		{"", `values plan: the first line is not "lpvalues 1"`},
		{"lpvalues 2\n", `values plan: line 1: the first line is not "lpvalues 1"`},
		{"lpvalues 1\n", "values plan: it does not say the machine and the calling convention"},
		{"lpvalues 1\nmachine vax\n", "values plan: line 2: not a word that is known here"},
		{head + "function 10 10 f\n", "values plan: line 4: this line cannot stand here"},
		{head + "module a\nenter rdi value 8 1 x\n", "values plan: line 5: this line cannot stand here"},
		{head + "type 1 pointer 8 2 T*\n", "values plan: type 2 is used and not given"},
		{head + "type 1 int 4 int\ntype 1 int 4 int\n", "values plan: line 5: this line cannot stand here"},
		{head + "type 1 int -4 int\n", "values plan: line 4: a number is missing, or is none that can be"},
		{head + "type 1 int 4 int\nmember 1 0 1 m\n", "values plan: line 5: this line cannot stand here"},
		{head + "type 1 int 4 int\nmodule a\nfunction 10 10 f\nenter rdi memory 0 257 1 x\n", "values plan: line 7: a number is missing, or is none that can be"},
		{head + "type 1 int 4 int\nmodule a\nfunction 10 10 f\nenter rdi string qt 7 1 x\n", "values plan: line 7: not a word that is known here"},
		{head + "module a\nfunction 10 10 f\nfunction 18 10 g\n", `values plan: functions "f" and "g" of a overlap`},
		{head + "module a\nhook 10\n", "values plan: line 5: this line cannot stand here"},
		{head + "type 1 int 4 int\nmodule a\nfunction 10 10 f\nhook xyz\n", "values plan: line 7: a number is missing, or is none that can be"},
		{head + "type 1 int 4 int\nmodule a\nfunction 10 10 f\nhook 18\nenter rbx value 4 1 a\nleave rbx value 4 1 return\n", "values plan: line 9: this line cannot stand here"},
		{head + "type 1 int 4 int\nmodule a\nfunction 10 10 f\nhook 18\nleave rbx value 4 1 return\nhook 19\nleave rbx value 8 1 return\nhook 20\n", "values plan: line 11: the hooks of a function do not take the same"},
		{head + "type 1 int 4 int\nmodule a\nfunction 10 10 f\nenter - unknown 1 a\nhook 18\nenter rbx value 4 1 a\n", "values plan: the hooks of a function do not take the same"},
		{hooked + "keep\n", "values plan: line 8: not a word that is known here"},
		{hooked + "keep rdi+rsi\n", "values plan: line 8: not a word that is known here"},
		{hooked + "keep =1\n", "values plan: line 8: not a word that is known here"},
		{hooked + strings.Repeat("keep rdi\n", maxKept+1), "values plan: line 15: more than a plan can have"},
		{hooked + "leave @0 memory 0 4 1 n@leave\n", "values plan: line 8: this line cannot stand here"},
		{hooked + "keep rdi\nleave @0 memory 0 4 1 n@leave\n", "values plan: line 9: this line cannot stand here"},
		{hooked + "keep rdi\nhook 19\nleave @1 memory 0 4 1 n@leave\n", "values plan: line 10: this line cannot stand here"},
		{hooked + "keep rdi\nhook 19\nleave @0 memory 0 4 1 n@leave\nkeep rdi\n", "values plan: line 11: this line cannot stand here"},
		{head + "type 1 int 4 int\nmodule a\nfunction 10 10 f\nkeep rdi\n", "values plan: line 7: this line cannot stand here"},
		{head + "keep rdi\n", "values plan: line 4: this line cannot stand here"},
		{head + "module a\nidentity build-id xyz\n", "values plan: line 5: a number is missing, or is none that can be"},
	} {
		if _, err := Read(strings.NewReader(test.text)); err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
}

// FuzzPlan checks that a plan which can be read is the same after it was written and read again.
func FuzzPlan(f *testing.F) {
	f.Add(plan)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var first, second strings.Builder
		if err := Write(&first, p); err != nil {
			t.Fatal(err)
		}
		again, err := Read(strings.NewReader(first.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, first.String())
		}
		if Write(&second, again); first.String() != second.String() {
			t.Errorf("written:\n%s\nand again:\n%s", first.String(), second.String())
		}
	})
}
