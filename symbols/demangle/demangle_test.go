package demangle

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, full, short string }{
		// Functions and their scopes.
		{"_Z3fooi", "foo(int)", "foo"},
		{"_Z5twiceIiET_S0_", "int twice<int>(int)", "twice<int>"},
		{"_ZN3app5Shape4areaEv", "app::Shape::area()", "app::Shape::area"},
		{"_ZNK3app5Shape4areaEv", "app::Shape::area() const", "app::Shape::area"},
		{"_ZNO3app5Shape4takeEv", "app::Shape::take() &&", "app::Shape::take"},
		{"_ZL6helperi", "helper(int)", "helper"},
		{"_ZN3appL6helperEi", "app::helper(int)", "app::helper"},
		{"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()", "(anonymous namespace)::foo"},
		{"_ZSt4moveRi", "std::move(int&)", "std::move"},
		{"_ZNSt6thread4joinEv", "std::thread::join()", "std::thread::join"},
		{"_ZN3fooB5cxx11Ev", "foo[abi:cxx11]()", "foo"},
		{"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
			"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)",
			"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append"},
		// Constructors, destructors, operators.
		{"_ZN3app5ShapeC2Ev", "app::Shape::Shape()", "app::Shape::Shape"},
		{"_ZN3app5ShapeD0Ev", "app::Shape::~Shape()", "app::Shape::~Shape"},
		{"_ZN3app3BoxIiEC1Ei", "app::Box<int>::Box(int)", "app::Box<int>::Box"},
		{"_ZN3app3BoxcvbEv", "app::Box::operator bool()", "app::Box::operator bool"},
		{"_ZNK3app1AcvT_IiEEv", "app::A::operator int<int>() const", "app::A::operator int<int>"},
		{"_ZN3appltERKNS_1AES2_", "app::operator<(app::A const&, app::A const&)", "app::operator<"},
		{"_ZN3applsIiEERNS_1AES2_T_", "app::A& app::operator<< <int>(app::A&, int)", "app::operator<< <int>"},
		{"_ZNKSt8functionIFviEEclEi", "std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"},
		{"_Znwm", "operator new(unsigned long)", "operator new"},
		{"_ZdlPv", "operator delete(void*)", "operator delete"},
		{"_Zli3_kmy", `operator"" _km(unsigned long long)`, `operator"" _km`},
		// Local things and lambdas.
		{"_ZZ3fooiENKUlvE_clEv", "foo(int)::{lambda()#1}::operator()() const", "foo::{lambda()#1}::operator()"},
		{"_ZZ4mainENUlT_E_clIiEEDaS_", "auto main::{lambda(auto:1)#1}::operator()<int>(int)", "main::{lambda(auto:1)#1}::operator()<int>"},
		{"_ZZZ4mainENKUlvE_clEvENKUliE_clEi", "main::{lambda()#1}::operator()() const::{lambda(int)#1}::operator()(int) const",
			"main::{lambda()#1}::operator()::{lambda(int)#1}::operator()"},
		{"_ZZN3app3runEiE5local", "app::run(int)::local", "app::run::local"},
		{"_ZZN3app3runEiEN5Inner4workEv", "app::run(int)::Inner::work()", "app::run::Inner::work"},
		{"_ZN3app3runINS_1AEEEvT_", "void app::run<app::A>(app::A)", "app::run<app::A>"},
		// What the compiler makes.
		{"_ZTVN3app1AE", "vtable for app::A", "vtable for app::A"},
		{"_ZThn16_N3app1A1fEv", "non-virtual thunk to app::A::f()", "app::A::f"},
		{"_ZTv0_n24_N3app1AD1Ev", "virtual thunk to app::A::~A()", "app::A::~A"},
		{"_ZGVZ3foovE1x", "guard variable for foo()::x", "guard variable for foo::x"},
		{"_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main"},
		// Underscores of the object format.
		{"__ZN3app1fEv", "app::f()", "app::f"},
		{"___ZN3app1fEv", "app::f()", "app::f"},
		{"___Z3foov_block_invoke", "invocation function for block in foo()", "invocation function for block in foo"},
		{"____Z3foov_block_invoke_2", "invocation function for block in foo()", "invocation function for block in foo"},
		// Copies and parts, versions, stubs, imports.
		{"_Z3foov.cold", "foo() [clone .cold]", "foo"},
		{"_Z3foov.isra.0.cold", "foo() [clone .isra.0] [clone .cold]", "foo"},
		{"_ZN3app3BoxIiE3putEi.constprop.1", "app::Box<int>::put(int) [clone .constprop.1]", "app::Box<int>::put"},
		{"_ZL5tablem.llvm.123", "table(unsigned long) [clone .llvm.123]", "table"},
		{"_ZN3app5tableE.llvm.123", "app::table [clone .llvm.123]", "app::table"},
		{"?f@@YAXXZ.cold", "void __cdecl f(void) [clone .cold]", "f"},
		{"main.cold", "main.cold", "main"},
		{"f.part.0.isra.0", "f.part.0.isra.0", "f"},
		{"f.lto_priv.0", "f.lto_priv.0", "f"},
		{"main.main", "main.main", "main.main"},
		{"main.init.0", "main.init.0", "main.init.0"},
		{".cold", ".cold", ".cold"},
		{"_Z3foov@plt", "foo()@plt", "foo@plt"},
		{"memcpy@plt", "memcpy@plt", "memcpy@plt"},
		{"_Z3foov@@V1.0", "foo()@@V1.0", "foo"},
		{"memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14", "memcpy"},
		{"memcpy@GLIBC_2.2.5", "memcpy@GLIBC_2.2.5", "memcpy"},
		{"..@4.non_prefetch", "..@4.non_prefetch", "..@4.non_prefetch"},
		{".inner@8", ".inner@8", ".inner@8"},
		{".loop@@V1", ".loop@@V1", ".loop@@V1"},
		{".puts@plt", ".puts@plt", ".puts@plt"},
		{"__imp__ZN3app1fEv", "__imp_app::f()", "__imp_app::f"},
		{"__imp_?f@app@@YAXXZ", "__imp_void __cdecl app::f(void)", "__imp_app::f"},
		{"__imp_puts", "__imp_puts", "__imp_puts"},
		{"__imp__puts@4", "__imp__puts@4", "__imp_puts"},
		// C of Windows.
		{"_foo@12", "_foo@12", "foo"},
		{"@foo@8", "@foo@8", "foo"},
		{"foo@@16", "foo@@16", "foo"},
		{"_main", "_main", "_main"},
		{"_a@b@12", "_a@b@12", "_a@b@12"},
		// Rust.
		{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str", "core::fmt::Formatter::write_str"},
		{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE.llvm.77", "core::fmt::Formatter::write_str", "core::fmt::Formatter::write_str"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
			"<Test + 'static as foo::Bar<Test>>::bar", "<Test + 'static as foo::Bar<Test>>::bar"},
		{"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example", "mycrate::example"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", "std::mem::align_of::<f64>"},
		{"__RNvC7mycrate3foo", "mycrate::foo", "mycrate::foo"},
		// Not mangled, or not understood.
		{"", "", ""},
		{"main", "main", "main"},
		{"_Run", "_Run", "_Run"},
		{"_RC_", "_RC_", "_RC_"},
		{"_Z", "_Z", "_Z"},
		{"_Zor_else", "_Zor_else", "_Zor_else"},
		{"_ZN3fooE4", "_ZN3fooE4", "foo"},
		{"_ZN99fooE", "_ZN99fooE", "_ZN99fooE"},
		{"?", "?", "?"},
		{"??", "??", "??"},
		{"?f", "?f", "?f"},
		{"?f@@", "?f@@", "?f@@"},
		{"@", "@", "@"},
		{"@@", "@@", "@@"},
		{"@12", "@12", "@12"},
		{"_@12", "_@12", "_@12"},
		{"a@", "a@", "a@"},
		{"__imp_", "__imp_", "__imp_"},
	} {
		if got := Full(c.name); got != c.full {
			t.Errorf("Full(%q)\n got  %s\n want %s", c.name, got, c.full)
		}
		if got := Short(c.name); got != c.short {
			t.Errorf("Short(%q)\n got  %s\n want %s", c.name, got, c.short)
		}
	}
}

func TestCName(t *testing.T) {
	for _, c := range []struct {
		name  string
		is386 bool
		want  string
	}{
		{"_main", true, "main"},
		{"_main", false, "_main"},
		{"__main", true, "_main"},
		{"main", true, "main"},
		{"_foo@12", true, "foo"},
		{"_foo@12", false, "foo"},
		{"@foo@8", true, "foo"},
		{"foo@@16", true, "foo"},
		{"_", true, "_"},
		{"", true, ""},
	} {
		if got := CName(c.name, c.is386); got != c.want {
			t.Errorf("CName(%q, %v) = %q, want %q", c.name, c.is386, got, c.want)
		}
	}
}

// TestItaniumDirect holds the direct writer against the package.
func TestItaniumDirect(t *testing.T) {
	left := 0
	for _, name := range []string{
		"_Z3fooi", "_ZL6helperi", "_ZN3app5Shape4areaEv", "_ZNK3app5Shape4areaEv", "_ZN3app5ShapeC2Ev",
		"_ZN3app5ShapeD0Ev", "_ZNSt6thread4joinEv", "_ZN3appL6helperEi", "_ZNVKR3app1fEv", "_ZN12_GLOBAL__N_13fooEv",
		"_Z5twiceIiET_S0_", "_ZSt4moveIRiEvv", "_ZN3app3BoxIiE3putEi", "_ZN3app3BoxIiEC1Ei", "_ZN3app3BoxI3FooEC1IS1_EEv",
		"_ZNSt6vectorIN3app5ShapeESaIS1_EE9push_backERKS1_", "_ZNSt6vectorIN3app5ShapeESaIS1_EED2Ev",
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc", "_ZNSbIwSt11char_traitsIwESaIwEE6appendEv",
		"_ZN3appeqERKS_S1_", "_ZN3app5ShapelsEi", "_ZN3app5ShapeaSERKS0_", "_ZN3app3BoxIiEclEv",
		"_ZN1AILi5ELb1ELb0ELj7ELmn3EE1fEv", "_ZN1AILN3app1EE2EE1fEv", "_ZN1AIJicEE1fEv", "_ZN1AIJEE1fEv", "_ZN1AIiJEcE1fEv",
		"_ZN1AIPK1BRKS1_OS1_PPS1_E1fES5_", "_ZN1AI1BIS0_IiEES2_E1fEv", "_ZN1AI1BIiES1_S2_E1fEv", "_ZN1A1BC1Ev", "_ZNSaIcEC2Ev",
		"_Z3fooB5cxx11v", "_ZN3fooB5cxx11Ev", "_ZN3fooB5cxx11B1xC1Ev", "_ZN3fooB5cxx11IDnDuEEvv", "_ZN1AIDiDsDuDnE1fEv",
		"_ZNSt3mapIiSt4pairIKiPKcESt4lessIiESaIS5_EE4findERS1_", "_ZN1AcvbEv", "_ZN1AIRRiE1fEv", "_ZN1AnwEm", "_ZN1AplIjEES_T_", "_ZN1AIFivEE1fEv",
		"_ZN1AIK3FooRKS1_E1fEv", "_ZN1A1fIKcEEvRKT_RKcPKS1_", "_ZN1A1fIRKcEEvOKT_", "_ZN1AIDaDcE1fEv", "_ZThn16_N3app1A1fEv", "_ZTv0_n24_N3app1AD1Ev", "_ZThn8_N3app1BB5cxx11Ev",
		nested(40, "i"), nested(100, "PKc"),
	} {
		direct, ok := itaniumDirect(name)
		tree, err := itaniumTree(name)
		if ok && (err != nil || direct != tree) {
			t.Errorf("%s:\n direct %q\n tree   %q, %v", name, direct, tree, err)
		}
		if !ok {
			left++
		}
	}
	if left > 5 {
		t.Errorf("%d names are left to the package", left)
	}
	for _, name := range []string{
		"_Z", "_ZNSs6appendEPKc", "_ZN3appC1", "_ZTh", "_ZTh16_", "_ZThn_N3app1A1fEv", "_ZTh9999999999_N3app1A1fEv", "_ZTvn16_N3app1A1fEv", "_ZTch0_h0_N3app1A1fEv", "_ZTI1A", nested(200, "i"),
		"_ZN1AI7B constKS1_E1fEv", "_ZN1AIKKiE1fEv", "_ZNStI1AE1fEv", "_Z3fooBx",
		"_ZNC1Ev", "_ZNE", "_ZN3app", "_ZN9app3fooEv", "_ZN4core3fmt17h0123456789abcdefE", "_ZN99999999999999999999999appEv",
		"_ZN1AIT_E1fEv", "_ZN1AIFiPivEE1fEv", "_ZN1AIPPFivEE1fEv", "_ZN1AIA3_iE1fEv", "_ZN1AIM1BiE1fEv", "_ZN1AIXadL_Z1fvEEE1fEv", "_ZN1AIS9_E1fEv",
		"_ZN1Acv1BEv", "_ZZ1fvE1x", "_ZTV1A", "_ZN1AIPRiE1fEv", "_ZNS_1fEv", "_ZN1AI",
	} {
		if direct, ok := itaniumDirect(name); ok {
			t.Errorf("%s: written directly as %q", name, direct)
		}
	}
}

// nested returns the name of a method of a template whose argument is the same template, and so on, a number of times.
func nested(depth int, inner string) string {
	return "_ZN1A" + strings.Repeat("I1B", depth) + "I" + inner + strings.Repeat("E", depth+1) + "1fEv"
}

// TestForms holds the two forms made in one reading against each alone.
func TestForms(t *testing.T) {
	direct := 0
	for _, name := range []string{
		"_Z3foov", "_Z3fooi", "_Z3fooiz", "_Z5twiceIiET_S0_", "_ZN3app5Shape4areaEv", "_ZNK3app5Shape4areaEPKS0_",
		"_ZNKO3app5Shape4takeEv", "_ZNVK3app5Shape4peekEv", "_ZN3app5ShapeC2ERKS0_", "_ZN3app3BoxI3FooEC1IS1_EERKT_",
		"_ZN3app5countE", "_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_", "_ZN3app4makeIJiRKcEEEvDpOT_", "_ZN3app4makeIJEEEvDpOT_",
		"_ZN3app4makeIiJcRlOhEEET_PS1_DpRKT0_", "_ZN1AplIjEES_T_", "_ZN1AlsIjEERS_T_", "_ZN1AcvbEv", "_ZNSaIcEC2Ev",
		"_ZN1A1fIiEEvRKNT_5InnerE", "_ZNKSt6vectorIN3app5ShapeESaIS1_EE4sizeEv", "_ZN1A1fIPKcRS2_EEvT_T0_S4_",
		"_ZN1A1fEPFvvE", "_ZNKSt8functionIFviEEclEi", "_ZN1A1gEPFvPKczEPFS2_vERFivES6_", "_ZN1A1fIPFvvEEEvT_S3_",
		"_ZThn16_N3app1A1fEv", "_ZThn16_NK3app1A1fEi", "_ZTv0_n24_N3app1AD1Ev", "_ZTv0_n24_N3app1A1gIiEET_S1_", "_ZThn8_N3app1cE",
		"_ZN1A1fIKcEEvRKT_RKc", "_ZN1A1fIiEEDaT_", nested(60, "i"),
		// These the package reads.
		"_ZN3fooB5cxx11Ev", "_ZZ3fooiENKUlvE_clEv", "_ZN1A1fEPPFvvE", "_ZN1A1hIiEEPFvvET_", "_ZTch0_h0_N3app1A1fEv", "_ZTVN3app1AE",
		"_Z3foov.cold", "_ZN3app1fEv.isra.0", "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "_RNvCs15kBYyAo9fc_7mycrate7example",
		// These have other schemes, or none.
		"_Z3foov@plt", "_Z3foov@@VERS_1", "?f@S@@QEBAHH@Z", "main", "_foo@12", "__imp__ZN3app1fEv", "_ZN3app", "",
	} {
		short, full := Forms(name)
		if wantShort, wantFull := Short(name), Full(name); short != wantShort || full != wantFull {
			t.Errorf("%s:\n short %q\n want  %q\n full  %q\n want  %q", name, short, wantShort, full, wantFull)
		}
		if _, full := itaniumDirectForms(name); full != "" {
			direct++
		}
	}
	if direct < 28 {
		t.Errorf("only %d signatures were written directly", direct)
	}
}

// TestBounds feeds names that stand for more text, depth or time than any
// program's do.
func TestBounds(t *testing.T) {
	repeat := strings.Repeat
	doubling := func(n int) string {
		// Each type names the one before twice.
		s := "?f@@YAXV?$A@HH@@"
		for i := 0; i < n; i++ {
			s = "?f@@YAXV?$A@" + strings.TrimPrefix(s, "?f@@YAX") + "V1@@@"
		}
		return s + "@Z"
	}
	itaniumDoubling := "_Z1f1AI1BS_E"
	for i := 1; i < 36; i++ {
		last := "S" + strings.ToUpper(strconv.FormatInt(int64(i), 36)) + "_"
		itaniumDoubling += "1AI" + last + last + "E"
	}
	for name, c := range map[string]string{
		"long":               "?" + repeat("a", 1<<20) + "@@YAXXZ",
		"long Itanium":       "_Z" + repeat("N", 1<<20),
		"pointers":           "?f@@YAX" + repeat("PEA", 5000) + "H@Z",
		"functions":          "?f@@YAX" + repeat("P6A", 5000) + "X" + repeat("XZ", 5000) + "@Z",
		"templates":          repeat("?$A@V", 3000),
		"?templates":         "?f@" + repeat("?$A@V", 3000),
		"local scopes":       "?x" + repeat("@?1??f", 2000) + "@@YAXXZ",
		"doubling":           doubling(14),
		"parameters":         "?f@@YAXV?$A@" + repeat("PEAV?$B@PEAH@@", 600) + "@@@Z",
		"back references":    "?f@@YAXP6AXPEAHPEAD01010101@Z" + repeat("0", 8000) + "@Z",
		"nested back refs":   "?f@@YAX" + repeat("P6AX", 9) + "PEAH" + repeat("0000000000@Z", 9) + repeat("0123456789", 1000) + "@Z",
		"variable templates": repeat("??$x@$1", 100) + "?y@@3HA" + repeat("@@3HA", 100),
		"array":              "?x@@3PAY" + "DPPP@" + repeat("0", 1023) + "HA",
		"array rank":         "?x@@3PAYPPPPPPPPPPPPPPP@0HA",
		"string":             "??_C@_0PPPPPPPPPPPPPPPP@AAAAAAAA@" + repeat("a", 8000) + "@",
		"Itanium pointers":   "_Z1f" + repeat("P", 16000) + "i",
		"Itanium nesting":    "_Z1f" + repeat("1AI", 4000) + "i" + repeat("E", 4000),
		"Itanium doubling":   itaniumDoubling,
		"Itanium packs":      "_Z1fI" + repeat("J", 4000) + "i" + repeat("E", 4000) + "v",
		"Itanium lambdas":    "_Z" + repeat("Z", 4000) + "1f",
		"Rust":               "_R" + repeat("I", 8000) + "C1a",
		"Rust back refs":     "_RIC1a" + repeat("TB_", 3000) + "E",
		"dots":               "a" + repeat(".cold", 3000),
		"at signs":           repeat("@", 16000),
	} {
		start := time.Now()
		short, full := Short(c), Full(c)
		t.Logf("%s: %v, %d and %d bytes", name, time.Since(start), len(short), len(full))
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
		if n := max(len(short), len(full)); n > max(maxOutput, len(c)) {
			t.Errorf("%s: %d bytes of text", name, n)
		}
	}
}
