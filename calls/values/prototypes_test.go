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
