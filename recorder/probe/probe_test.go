package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"logparser/calls/values"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/parser/probes"
	"logparser/symbols/types"
)

var (
	intType    = &types.Type{Kind: types.Int, Size: 4, Name: "int"}
	shortType  = &types.Type{Kind: types.Int, Size: 2, Name: "short"}
	doubleType = &types.Type{Kind: types.Float, Size: 8, Name: "double"}
	charType   = &types.Type{Kind: types.Char, Size: 1, Name: "char"}
	textType   = &types.Type{Kind: types.Text, Size: 8, Name: "char const*"}
	stringType = &types.Type{Kind: types.Text, Size: 32, Name: types.StdString, Library: types.Libstdcxx}
	viewType   = &types.Type{Kind: types.Text, Size: 16, Name: types.StdStringView, Library: types.Libstdcxx}
	pointType  = &types.Type{Kind: types.Struct, Size: 8, Name: "Point", Members: []types.Member{{Name: "x", Type: intType}, {Name: "y", Type: intType, Offset: 4}}}
	mixedType  = &types.Type{Kind: types.Struct, Size: 16, Name: "Mixed", Members: []types.Member{{Name: "n", Type: intType}, {Name: "d", Type: doubleType, Offset: 8}}}
	bigType    = &types.Type{Kind: types.Struct, Size: 64, Name: "Big", Members: []types.Member{
		{Name: types.Base, Type: pointType}, {Name: "name", Type: stringType, Offset: 8}, {Name: "text", Type: textType, Offset: 40},
		{Name: "d", Type: doubleType, Offset: 48}, {Name: "label", Type: &types.Type{Kind: types.Array, Size: 4, Count: 4, Target: charType, Name: "char[4]"}, Offset: 56}, {Name: "bits", Type: intType, Offset: 60, Bits: 3}}}
)

// what the kernel's line has for values of a function.
func fetched(t *testing.T, result *types.Type, parameters ...types.Parameter) (enter, leave string, notes []string) {
	t.Helper()
	f := types.Function{RVA: 0x1380, Size: 16, Name: "app::f", Parameters: parameters, Result: result}
	v := values.NewMaker(values.SysV).Function(&f, nil)
	p, err := New(Target{Path: "/opt/app", Machine: "x86-64"}, []Function{{Name: "app::f(...)", Linkage: "_ZN3app1fEz", RVA: 0x1380, Offset: 0x380, Code: []byte{0x55}, Values: &v}}, Options{Return: true, Tool: FindTool("uprobe")})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Notes {
		notes = append(notes, n.String())
	}
	cut := func(b *Probe, start string) string {
		line := p.definition(b)
		rest, ok := strings.CutPrefix(line, start)
		if !ok {
			t.Errorf("%q does not begin with %q", line, start)
		}
		return strings.TrimPrefix(rest, " ")
	}
	return cut(&p.Probes[0], "p:lp/lp_0001_f /opt/app:0x380"), cut(&p.Probes[1], "r:lp/lp_0001_f__return /opt/app:0x380"), notes
}

func TestFetches(t *testing.T) {
	parameter := func(t *types.Type) types.Parameter { return types.Parameter{Name: "a", Type: t} }
	pointer := func(to *types.Type) *types.Type {
		return &types.Type{Kind: types.Pointer, Size: 8, Name: to.Name + "*", Target: to}
	}
	reference := func(to *types.Type) *types.Type {
		return &types.Type{Kind: types.Reference, Size: 8, Name: to.Name + "&", Target: to}
	}
	for _, c := range []struct {
		result      *types.Type
		parameters  []*types.Type
		enter       string
		leave, note string
	}{
		{intType, []*types.Type{intType, textType, shortType}, "a=%di:s32 a_2=+0(%si):string a_3=%dx:s16", "ret=$retval:s32", ""},
		{nil, []*types.Type{doubleType, intType}, "a_2=%di:s32", "", "vector register"},
		{doubleType, nil, "", "", "vector register"},
		{nil, []*types.Type{pointType}, "a_x=%di:s32 a_y=%di:b32@32/64", "", ""},
		{nil, []*types.Type{mixedType}, "a_n=%di:s32", "", "vector register"},
		{nil, []*types.Type{reference(stringType)}, "a=+0(+0(%di)):string", "", ""},
		{nil, []*types.Type{reference(viewType)}, "a_size=+0(%di):u64 a_data=+0(+8(%di)):string", "", ""},
		{nil, []*types.Type{viewType}, "a_size=%di:u64 a_data=+0(%si):string", "", ""},
		{nil, []*types.Type{bigType}, "a_x=+8(%sp):s32 a_y=+12(%sp):s32 a_name=+0(+16(%sp)):string a_text=+0(+48(%sp)):string a_d=+56(%sp):x64 a_label=+64(%sp):string", "", ""},
		{nil, []*types.Type{pointer(bigType)}, "a=%di:x64", "", ""},
		{nil, []*types.Type{intType, intType, intType, intType, intType, intType, intType, textType},
			"a=%di:s32 a_2=%si:s32 a_3=%dx:s32 a_4=%cx:s32 a_5=%r8:s32 a_6=%r9:s32 a_7=+8(%sp):s32 a_8=+0(+16(%sp)):string", "", ""},
		{pointType, nil, "", "ret_x=$retval:s32 ret_y=$retval:b32@32/64", ""},
	} {
		var list []types.Parameter
		for _, typ := range c.parameters {
			list = append(list, parameter(typ))
		}
		enter, leave, notes := fetched(t, c.result, list...)
		if enter != c.enter || leave != c.leave {
			t.Errorf("%q and %q, want %q and %q", enter, leave, c.enter, c.leave)
		}
		if c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) != 1 || !strings.Contains(notes[0], c.note)) {
			t.Errorf("%s: notes %q", c.enter, notes)
		}
	}
}

// A start that only unwind rules tell may be none that is called, such as the program's first: it
// gets no return probe, which would end the program, but probes at its return instructions.
func TestUnnamedReturns(t *testing.T) {
	p, err := New(Target{Path: "/opt/app", Machine: "x86-64"}, []Function{
		{Name: "sub_1000", RVA: 0x1000, Offset: 0x800, Size: 2, Code: []byte{0x5d, 0xc3}},
		{Name: "f", Linkage: "f", RVA: 0x2000, Offset: 0x1800, Size: 2, Code: []byte{0x5d, 0xc3}},
		{Name: "_start", Linkage: "_start", RVA: 0x3000, Offset: 0x2800, Size: 2, Code: []byte{0x5d, 0xc3}},
	}, Options{Return: true, NoArguments: true, Tool: FindTool("perf")})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range p.Probes {
		lines = append(lines, p.definition(&p.Probes[i]))
	}
	want := []string{"p:lp/lp_0001_sub_1000 /opt/app:0x800", "p:lp/lp_0001_sub_1000_ret1 /opt/app:0x801",
		"p:lp/lp_0002_f /opt/app:0x1800", "r:lp/lp_0002_f__return /opt/app:0x1800", "p:lp/lp_0003__start /opt/app:0x2800"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}

// Functions of Go get probes at their return instructions, or none where these are not known.
func TestGoReturns(t *testing.T) {
	code := []byte{0x55, 0x48, 0x8d, 0x05, 0xc3, 0xc3, 0xc3, 0xc3, 0x74, 0x02, 0x5d, 0xc3, 0x5d, 0xc3, 0xcc, 0xcc} // lea has c3 in its operand
	p, err := New(Target{Path: "/opt/app", Machine: "x86-64"}, []Function{
		{Name: "main.f", RVA: 0x1000, Offset: 0x800, Size: 16, Go: true, Code: code},
		{Name: "main.h", RVA: 0x3000, Offset: 0x2800, Size: 9, Go: true, Code: []byte{0x49, 0x3b, 0x66, 0x10, 0x76, 0x02, 0xc3, 0x90, 0x90}}, // cmp rsp, [r14+16]; jbe
		{Name: "main.g", RVA: 0x2000, Offset: 0x1800, Size: 2, Go: true, Code: []byte{0x06, 0xc3}},
	}, Options{Return: true, Tool: FindTool("perf")})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range p.Probes {
		line, _, _ := strings.Cut(p.definition(&p.Probes[i]), " arg2")
		lines = append(lines, line)
	}
	want := []string{
		"p:lp/lp_0001_f /opt/app:0x800 arg1=%ax:x64",
		"p:lp/lp_0001_f_ret1 /opt/app:0x80b ret=%ax:x64 ret2=%bx:x64",
		"p:lp/lp_0001_f_ret2 /opt/app:0x80d ret=%ax:x64 ret2=%bx:x64",
		"p:lp/lp_0002_g /opt/app:0x1800 arg1=%ax:x64",
		"p:lp/lp_0003_h /opt/app:0x2806 arg1=%ax:x64",
		"r:lp/lp_0003_h_ret1 /opt/app:0x2806 ret=$retval:x64 ret2=%bx:x64",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	names := p.Names()
	if e := names.Events[2]; e.Kind != parser.Leave || e.Start != 0x1000 || e.Probe != 0x100d || e.Function != "main.f" {
		t.Errorf("%+v", e)
	}
	if !slices.ContainsFunc(p.Notes, func(n message.Text) bool { return strings.HasPrefix(n.String(), "main.g") }) {
		t.Error("nothing is said of main.g")
	}
}

// A function whose first instruction is its return has the end of its calls by a return probe: of two probes at one place, nobody
// promises which is hit first.
func TestReturnAtEnter(t *testing.T) {
	for tool, want := range map[string][]string{
		"perf": {"p:lp/lp_0001_empty /opt/app:0x800", "r:lp/lp_0001_empty_ret1 /opt/app:0x800", "p:lp/lp_0002_f /opt/app:0x810", "p:lp/lp_0002_f_ret1 /opt/app:0x811"},
		"gdb":  {"p:lp/lp_0001_empty /opt/app:0x800", "p:lp/lp_0001_empty_ret1 /opt/app:0x800", "p:lp/lp_0002_f /opt/app:0x810", "p:lp/lp_0002_f_ret1 /opt/app:0x811"},
	} {
		p, err := New(Target{Path: "/opt/app", Machine: "x86-64"}, []Function{
			{Name: "empty", Linkage: "empty", RVA: 0x1000, Offset: 0x800, Size: 1, Code: []byte{0xc3}},
			{Name: "f", Linkage: "f", RVA: 0x1010, Offset: 0x810, Size: 2, Code: []byte{0x90, 0xc3}},
		}, Options{Return: true, AtReturns: true, NoArguments: true, Tool: FindTool(tool)})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for i := range p.Probes {
			lines = append(lines, p.definition(&p.Probes[i]))
		}
		if !slices.Equal(lines, want) || p.Probes[1].AtEnter != (tool == "perf") {
			t.Errorf("%s: %q", tool, lines)
		}
	}
}

func TestEventNames(t *testing.T) {
	for name, want := range map[string]string{
		"app::Shape::area(int, char const*)": "area", "std::vector<int>::push_back(int)": "vector", "main": "main",
		"app::Shape::~Shape()": "destroy_Shape", "main.(*T).f": "f", "app::(anonymous namespace)::g(int)": "g", "sub_1380": "sub_1380", "()": "f",
		"a_function_with_a_name_that_is_much_too_long_for_an_event": "a_function_with_a_name_that_is_m",
	} {
		if got := eventName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestEmulated(t *testing.T) {
	for code, want := range map[string]bool{"\x55": true, "\x41\x57": true, "\x0f\x1f\x44\x00\x00": true, "\x66\x90": true, "\x90": true, "\xf3\x0f\x1e\xfa": false, "\x48\x8d\x05": false, "": false} {
		if isEmulated([]byte(code)) != want {
			t.Errorf("%x", code)
		}
	}
}

// Where the kernel takes no probe a function gets none at its returns either.
func TestRefused(t *testing.T) {
	lock, other := []byte("\xf0\x48\xff\x05\x00\x00\x00\x00\xc3"), []byte("\xf3\x0f\x1e\xfa\xc3")
	functions := []Function{{Name: "locks", Linkage: "locks", Code: lock, Size: 9}, {Name: "other", Linkage: "other", RVA: 16, Code: other, Size: 5}}
	target := Target{Path: "/opt/app", Machine: "x86-64"}
	for tool, want := range map[string]int{"perf": 2, "gdb": 4} {
		p, err := New(target, slices.Clone(functions), Options{Return: true, AtReturns: true, Tool: FindTool(tool)})
		if err != nil || len(p.Probes) != want || p.Refused != (4-want)/2 {
			t.Errorf("%s: %v, %d probes, want %d", tool, err, len(p.Probes), want)
		}
	}
	if _, err := New(target, functions[:1:1], Options{Tool: FindTool("perf")}); !errors.Is(err, errRefused) {
		t.Error(err)
	}
}

// A part of a function that the compiler put elsewhere is no call, and its return instructions are the function's.
func TestColdParts(t *testing.T) {
	functions := func() []Function {
		return []Function{
			{Name: "f(int) [clone .cold]", Linkage: "_Z1fi.cold", RVA: 0x10, Offset: 0x10, Size: 2, Code: []byte{0x90, 0xc3}},
			{Name: "f(int)", Linkage: "_Z1fi", RVA: 0x20, Offset: 0x20, Size: 3, Code: []byte{0x90, 0x90, 0xc3}},
		}
	}
	target := Target{Path: "/opt/app", Machine: "x86-64"}
	for atReturns, want := range map[bool][]string{
		true:  {"p:lp/lp_0002_f /opt/app:0x20", "p:lp/lp_0002_f_ret1 /opt/app:0x22", "p:lp/lp_0002_f_ret2 /opt/app:0x11"},
		false: {"p:lp/lp_0002_f /opt/app:0x20", "r:lp/lp_0002_f__return /opt/app:0x20"},
	} {
		p, err := New(target, functions(), Options{Return: true, AtReturns: atReturns, NoArguments: true, Tool: FindTool("perf")})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for i := range p.Probes {
			lines = append(lines, p.definition(&p.Probes[i]))
			if p.Probes[i].Function.RVA != 0x20 {
				t.Errorf("%s is of %s", lines[i], p.Probes[i].Function.Name)
			}
		}
		if !slices.Equal(lines, want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
	if _, err := New(target, functions()[:1], Options{Tool: FindTool("perf")}); !errors.Is(err, errCold) {
		t.Error(err)
	}
}

// Arguments whose number is known are taken from the stack, too, by the calling convention.
func TestRawArguments(t *testing.T) {
	for _, c := range []struct {
		target Target
		isGo   bool
		n      int
		want   string
	}{
		{Target{Machine: "x86-64"}, false, 8, "rdi rsi rdx rcx r8 r9 stack+8 stack+16"},
		{Target{Machine: "x86-64", PE: true}, false, 6, "rcx rdx r8 r9 stack+40 stack+48"},
		{Target{Machine: "x86-64"}, true, 12, "rax rbx rcx rdi rsi r8 r9 r10 r11"},
		{Target{Machine: "x86-64"}, true, 0, "rax rbx rcx rdi rsi r8"},
		{Target{Machine: "arm64"}, false, 9, "x0 x1 x2 x3 x4 x5 x6 x7 stack+0"},
		{Target{Machine: "arm64"}, false, 0, "x0 x1 x2 x3 x4 x5"},
		{Target{Machine: "x86"}, false, 3, ""},
	} {
		p := &Plan{Target: c.target}
		enter, _ := p.fetches(&Function{Go: c.isGo}, c.n)
		var list []string
		for _, f := range enter {
			if f.Memory != nil {
				f.Place += fmt.Sprintf("+%d", f.Memory[0])
			}
			list = append(list, f.Place)
		}
		if got := strings.Join(list, " "); got != c.want {
			t.Errorf("%+v, %d: %s, want %s", c.target, c.n, got, c.want)
		}
	}
}

// Values on the stack, too, begin behind the return address, which arm64 has in a register.
func TestStackValues(t *testing.T) {
	v := &values.Function{Enter: []values.Value{{Name: "a", Place: "stack+16", Op: values.Op{Kind: values.Direct, Size: 4}, Type: intType}}}
	for machine, want := range map[string]int{"x86-64": 24, "arm64": 16} {
		p := &Plan{Target: Target{Machine: machine}}
		if enter, _ := p.fetches(&Function{Values: v}, 0); len(enter) != 1 || !slices.Equal(enter[0].Memory, []int{want}) {
			t.Errorf("%s: %+v, want %d", machine, enter, want)
		}
	}
}

// Offsets are hexadecimal, as WinDbg reads them.
func TestWinDbgOffsets(t *testing.T) {
	p, err := New(Target{Path: "/opt/app.exe", PE: true, Machine: "x86-64"}, []Function{{Name: "f", RVA: 0x1000}}, Options{RawArguments: 5, Tool: FindTool("windbg")})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := p.Write(&text, false); err != nil || !strings.Contains(text.String(), "poi(@rsp+0x28)") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// A script tells where there is more of a text than it takes, or may be.
func TestTextLimits(t *testing.T) {
	f := types.Function{RVA: 0x1380, Size: 16, Name: "f", Parameters: []types.Parameter{{Name: "s", Type: textType}}}
	v := values.NewMaker(values.SysV).Function(&f, nil)
	for tool, want := range map[string]string{
		"bpftrace": `s=\"%s\"/63\n", nsecs, pid, tid, reg("ip"), str(arg0, 64)`,
		"gdb":      `s[:256] + ('"/256' if len(s) > 256 else '"')`,
		"frida":    `s.slice(0, 256) + (s.length > 256 ? '"/256' : '"')`,
	} {
		p, err := New(Target{Path: "/opt/app", Machine: "x86-64"}, []Function{{Name: "f", Linkage: "f", RVA: 0x1380, Values: &v}}, Options{Tool: FindTool(tool)})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := p.Write(&text, false); err != nil || !strings.Contains(text.String(), want) || strings.Contains(text.String(), "MOST") {
			t.Errorf("%s: %v: %s", tool, err, text.String())
		}
	}
}

// Values have their own sizes and signs in WinDbg, in memory and as parts of registers.
func TestWinDbgSizes(t *testing.T) {
	for want, f := range map[string]Fetch{
		"@rcx":              {Place: "rcx", Size: 8, Kind: Signed},
		"(@rcx&0xffffffff)": {Place: "rcx", Size: 4, Kind: Unsigned},
		"(((@rcx>>0x20)&0xffffffff)^0x80000000)-0x80000000": {Place: "rcx", Size: 4, Shift: 32, Kind: Signed},
		"((@rdx&0xff)^0x80)-0x80":                           {Place: "rdx", Size: 1, Kind: Signed},
		"by(@rcx+0x4)":                                      {Place: "rcx", Memory: []int{4}, Size: 1, Kind: Unsigned},
		"wo(poi(@rsp+0x28)+0x2)":                            {Place: "stack", Memory: []int{40, 2}, Size: 2, Kind: Hex},
		"(dwo(@rsp+0x28)^0x80000000)-0x80000000":            {Place: "stack", Memory: []int{40}, Size: 4, Kind: Signed},
		"poi(@rsp+0x30)":                                    {Place: "stack", Memory: []int{48}, Size: 8, Kind: Signed},
		"(poi(@rcx+0x8)+0x0)":                               {Place: "rcx", Memory: []int{8, 0}, Kind: Text},
	} {
		if f.Kind == Signed && f.Size < 8 {
			want = "(" + want + ")"
		}
		if got := f.windbg(); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
}

// Each tool gets lines for each probe, and the names are read from them again.
func TestTools(t *testing.T) {
	f := types.Function{RVA: 0x1380, Size: 16, Name: "app::f", Parameters: []types.Parameter{{Name: "a", Type: intType}, {Name: "s", Type: textType}, {Name: "d", Type: doubleType}}, Result: intType}
	v := values.NewMaker(values.SysV).Function(&f, nil)
	for i := range Tools {
		tool := &Tools[i]
		target := Target{Path: "/opt/app", PE: tool.Name == "windbg", Machine: "x86-64", Size: 0x4000, Identity: modules.Identity{BuildID: "\x01\x02"}}
		p, err := New(target, []Function{{Name: "app::f(int, char const*, double)", Linkage: "_ZN3app1fEiPKcd", RVA: 0x1380, Offset: 0x380, Values: &v}}, Options{Return: true, Tool: tool})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := p.Write(&out, true); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		where := map[string]string{"perf": ":0x380 ", "uprobe": ":0x380 ", "bpftrace": `"_ZN3app1fEiPKcd"`, "gdb": "0x1380", "windbg": "app+0x1380", "frida": "0x1380", "stap": `"_ZN3app1fEiPKcd"`}[tool.Name]
		for _, part := range []string{where, "lp_0001_f__return", "lp_0001_f"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in\n%s", tool.Name, part, text)
			}
		}
		if has := strings.Contains(text, "xmm0"); has != tool.vectors {
			t.Errorf("%s has xmm0: %v", tool.Name, has)
		}
		n, err := probes.ReadNames(strings.NewReader(text))
		if err != nil || len(n.Events) != 2 || len(n.Images) != 1 || n.Images[0].Identity != target.Identity || n.Events[0].Arguments[1] != (probes.Argument{Printed: "s", Name: "s", Type: "char const*"}) {
			t.Errorf("%s: %+v, %v", tool.Name, n, err)
		}
	}
	p, err := New(Target{Path: "/opt/a.exe", PE: true, Machine: "x86-64"}, []Function{{Name: "f"}}, Options{Tool: FindTool("perf")})
	if err == nil {
		err = p.Write(&strings.Builder{}, false)
	}
	if err != ErrTool {
		t.Error(err)
	}
}

// Paths and names of symbols are from files that anybody may have made: none becomes a command of the tool.
func TestHostileNames(t *testing.T) {
	write := func(tool, path, linkage string) (string, error) {
		p, err := New(Target{Path: path, PE: tool == "windbg", Machine: "x86-64"}, []Function{{Name: "f;.shell echo 1", Linkage: linkage, RVA: 0x1000, Offset: 0x800}}, Options{NoArguments: true, Tool: FindTool(tool)})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		err = p.Write(&text, true)
		return text.String(), err
	}
	for _, tool := range ToolNames() {
		for path, good := range map[string]bool{"/opt/d\nEND\n}\ntouch x\n/app": false, "/opt/\x1bapp": false, "/opt/my app": tool != "perf" && tool != "uprobe",
			"/opt/#app": tool != "perf" && tool != "uprobe", "/opt/\u00e0/app": tool != "perf" && tool != "uprobe", `/opt/a"app`: tool != "bpftrace", `/opt/a\app`: tool != "bpftrace", "/opt/a*": tool != "bpftrace", "/opt/app": true} {
			if text, err := write(tool, path, "f"); (err == nil) != good || err != nil && text != "" {
				t.Errorf("%s: %q: %v, %q", tool, path, err, text)
			}
		}
		text, err := write(tool, "/opt/app", `f"{}BEGIN{system("touch x")}//`)
		if err != nil || strings.Contains(text, "BEGIN") {
			t.Errorf("%s: %v: %s", tool, err, text)
		}
		if n, err := probes.ReadNames(strings.NewReader(text)); err != nil || len(n.Events) != 1 || n.Events[0].Function != "f;.shell echo 1" || tool == "windbg" && strings.Contains(text, ";.shell") {
			t.Errorf("%s: %+v, %v: %s", tool, n, err, text)
		}
	}
	if text, _ := write("bpftrace", "/opt/my app", "f"); !strings.Contains(text, `uprobe:"/opt/my app":"f" {`) {
		t.Error(text)
	}
	if text, _ := write("bpftrace", "/opt/app", `f"`); !strings.Contains(text, `uprobe:"/opt/app":0x1000 {`) || !strings.Contains(text, "unsafe") {
		t.Error(text)
	}
}

// Probes in the kernel print the kernel's addresses, and what they print is read as calls.
func TestKernelScripts(t *testing.T) {
	for tool, want := range map[string][]string{
		"bpftrace": {`kprobe:vfs_read { printf("lp E %llu %d %d 0x%llx lp_0001_vfs_read\n", nsecs, pid, tid, reg("ip")); }`, `kretprobe:vfs_read { printf("lp L %llu %d %d - lp_0001_vfs_read__return\n", nsecs, pid, tid); }`},
		"stap": {`probe kernel.function("vfs_read") { printf("lp E %d %d %d 0x%x lp_0001_vfs_read\n", gettimeofday_ns(), pid(), tid(), addr()) }`,
			`probe kernel.function("vfs_read").return { printf("lp L %d %d %d - lp_0001_vfs_read__return\n", gettimeofday_ns(), pid(), tid()) }`},
		"uprobe": {"p:lp/lp_0001_vfs_read vfs_read\nr:lp/lp_0001_vfs_read__return vfs_read\n"},
	} {
		p, err := New(Target{Machine: "x86-64"}, []Function{{Name: "vfs_read", Linkage: "vfs_read"}}, Options{Return: true, NoArguments: true, Tool: FindTool(tool)})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := p.Write(&text, true); err != nil {
			t.Fatal(err)
		}
		for _, line := range append(want, `lp N lp_0001_vfs_read__return L -1 0x0 0x0 "vfs_read"`) {
			if !strings.Contains(text.String(), line) {
				t.Errorf("%s: no %q in\n%s", tool, line, text.String())
			}
		}
	}
}
