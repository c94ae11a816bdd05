package values

import (
	"strings"
	"testing"

	"logparser/symbols/types"
)

// TestPrototypes reads declarations of all kinds, and those that come with the program.
func TestPrototypes(t *testing.T) {
	p, err := ReadPrototypes(strings.NewReader(`# a comment
int everywhere(void);
library libone.so* libtwo.so.1
size_t strlen(const char *s);
double mix(float, long double x, unsigned char c , struct tm *when, char buffer[20], enum kind k, ...);
char *name(char const *const s, int (*compare)(const void *, const void *), const char **list);
void nothing();
library libthree.so
// of the same name
int strlen(int s);
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ library, name, want string }{
		{"libone.so.3", "strlen", "size_t:uint8(char const*:text8 s)"},
		{"libthree.so", "strlen", "int:int4(int:int4 s)"},
		{"libthree.so", "mix", "none"},
		{"libthree.so", "everywhere", "int:int4()"},
		{"libtwo.so.1", "mix", "double:float8(float:float4 , long double:float16 x, unsigned char:uint1 c, tm*:pointer8 when, char*:pointer8 buffer, enum kind:int4 k, ...)"},
		{"libtwo.so.1", "name", "char*:text8(char const*:text8 s, function*:pointer8 compare, char const**:pointer8 list)"},
		{"libtwo.so.1", "nothing", "void()"},
	} {
		if got := prototypeText(p.Function(test.library, test.name)); got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.name, test.library, got, test.want)
		}
	}
	for _, line := range []string{"int", "int f", "f(int x);", "int f(FILE stream);", "int f(int x", "int f(int, (x));", "int *f g(int);", "int f(int) g", "library [\n", "int f(void v);"} {
		if p, err := ReadPrototypes(strings.NewReader(line)); err == nil {
			t.Errorf("%q: no error: %s", line, prototypeText(p.Function("", "f")))
		}
	}
	builtin, text := BuiltinPrototypes()
	declared := 0
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, ";\n") {
			declared++
		}
	}
	if n := len(builtin.groups[1].functions); n != declared {
		t.Errorf("%d functions of %d declarations: some are there twice", n, declared)
	}
	if got := prototypeText(builtin.Function("libc.so.6", "open")); got != "int:int4(char const*:text8 path, int:int4 flags, ...)" {
		t.Errorf("open is %s", got)
	}
}

func prototypeText(f *types.Function) string {
	if f == nil {
		return "none"
	}
	typeText := func(t *types.Type) string {
		if t == nil {
			return "void"
		}
		kind := map[types.Kind]string{types.Int: "int", types.Uint: "uint", types.Float: "float", types.Pointer: "pointer", types.Text: "text", types.Char: "char"}[t.Kind]
		return t.Name + ":" + kind + string(rune('0'+t.Size%10))
	}
	var list []string
	for _, p := range f.Parameters {
		list = append(list, typeText(p.Type)+" "+p.Name)
	}
	if f.Variadic {
		list = append(list, "...")
	}
	return strings.ReplaceAll(typeText(f.Result)+"("+strings.Join(list, ", ")+")", "float6", "float16")
}

// TestPrototypePlaces takes parameters for which a declaration gives a register or a length.
func TestPrototypePlaces(t *testing.T) {
	for line, want := range map[string]string{
		`void hello(const char text[length] asm("r8"), size_t length asm("r9"));`:        "text:r9+r8:view length:r9:value",
		`void f(const char *a __asm__("rbx"), int b, int (*c)(int) asm("r12"), long d);`: "a:rbx:text b:rdi:value c:r12:value d:rsi:value",
		`ssize_t write(int fd, const void data[count], size_t count);`:                   "fd:rdi:value data:rdx+rsi:view count:rdx:value",
		`ssize_t read(int fd, void data[count], size_t count);`:                          "fd:rdi:value data:rsi:value count:rdx:value",
		`void f(const char a[N], size_t n);`:                                             "a:rdi:text n:rsi:value",
		`void f(const char a[n], double n);`:                                             "a:rdi:text n:xmm0:value",
		`void f(const char a[n], int n);`:                                                "a:rdi:value n:rsi:value",
		`void f(const char a[n], unsigned n);`:                                           "a:rdi:value n:rsi:value",
		`void f(const char a[n], ssize_t n);`:                                            "a:rdi:value n:rsi:value",
		`void f(const long a[n], int n);`:                                                "a:rdi:value n:rsi:value",
		`void f(int a, int b, int c, int d, int e, const char s[n], int n);`:             "a:rdi:value b:rsi:value c:rdx:value d:rcx:value e:r8:value s:r9:value n:stack+0:value",
		`int sum(int a, int b, int c, int d, int e, int f, int g, int h);`:               "a:rdi:value b:rsi:value c:rdx:value d:rcx:value e:r8:value f:r9:value g:stack+0:value h:stack+8:value",
	} {
		p, err := ReadPrototypes(strings.NewReader(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var f *types.Function
		for _, f = range p.groups[0].functions {
		}
		var list []string
		for _, v := range NewMaker(SysV).Function(f, nil).Enter {
			list = append(list, v.Name+":"+v.Place+":"+map[OpKind]string{Unknown: "unknown", Direct: "value", Text: "text", View: "view"}[v.Op.Kind])
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	for _, line := range []string{`void f(int a asm("xmm0"));`, `void f(int a asm(r8));`, `void f(int a asm("r8) );`, `void f(double a asm("r8"));`, `void f(long double a asm("r8"));`, `void f(asm("r8"));`} {
		if _, err := ReadPrototypes(strings.NewReader(line)); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
}
