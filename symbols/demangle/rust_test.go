package demangle

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rustNames are the functions of testdata/shapes.rs as rustc 1.95 mangles
// them. The hash that ends a legacy name and the crate's disambiguator are not
// shown; legacy names have no type arguments.
var rustNames = []struct{ what, v0, legacy, v0Name, legacyName string }{
	{"function",
		"_RNvCs6mEINUzFH5k_6shapes4main",
		"_ZN6shapes4main17hf5fd5fdfcdcdb145E",
		"shapes::main", "shapes::main"},
	{"function in a function",
		"_RNvNvCs6mEINUzFH5k_6shapes4main6nested",
		"_ZN6shapes4main6nested17h6020b0c582fb12bcE",
		"shapes::main::nested", "shapes::main::nested"},
	{"closure",
		"_RNCNvCs6mEINUzFH5k_6shapes4main0B3_",
		"_ZN6shapes4main28_$u7b$$u7b$closure$u7d$$u7d$17h24b5a452a8368e5aE",
		"shapes::main::{closure#0}", "shapes::main::{{closure}}"},
	{"second closure",
		"_RNCNvCs6mEINUzFH5k_6shapes4mains_0B3_",
		"_ZN6shapes4main28_$u7b$$u7b$closure$u7d$$u7d$17h9c0a03b35af79d3dE",
		"shapes::main::{closure#1}", "shapes::main::{{closure}}"},
	{"closure in a closure",
		"_RNCNCNvCs6mEINUzFH5k_6shapes4main00B5_",
		"_ZN6shapes4main28_$u7b$$u7b$closure$u7d$$u7d$28_$u7b$$u7b$closure$u7d$$u7d$17hb6f3e877c71a3ca2E",
		"shapes::main::{closure#0}::{closure#0}", "shapes::main::{{closure}}::{{closure}}"},
	{"generic function of a type",
		"_RINvCs6mEINUzFH5k_6shapes7largestReEB2_",
		"_ZN6shapes7largest17h204f7f6fe92e5102E",
		"shapes::largest::<&str>", "shapes::largest"},
	{"generic function of a number",
		"_RINvCs6mEINUzFH5k_6shapes4fillKj3_EB2_",
		"_ZN6shapes4fill17hdc126f3e78f69680E",
		"shapes::fill::<3>", "shapes::fill"},
	{"generic function of a closure",
		"_RINvCs6mEINUzFH5k_6shapes5applyNCNvB2_4main0EB2_",
		"_ZN6shapes5apply17h9195f8e63a54e548E",
		"shapes::apply::<shapes::main::{closure#0}>", "shapes::apply"},
	{"method of a generic type",
		"_RNvMs_NtCs6mEINUzFH5k_6shapes8geometryINtB4_4PairhE4swapB6_",
		"_ZN6shapes8geometry13Pair$LT$T$GT$4swap17h9ff3e8131f03b963E",
		"<shapes::geometry::Pair<u8>>::swap", "shapes::geometry::Pair<T>::swap"},
	{"trait's method",
		"_RNvXNtCs6mEINUzFH5k_6shapes8geometryNtB2_6SquareNtB2_4Area4area",
		"_ZN67_$LT$shapes..geometry..Square$u20$as$u20$shapes..geometry..Area$GT$4area17h744d49511b723befE",
		"<shapes::geometry::Square as shapes::geometry::Area>::area",
		"<shapes::geometry::Square as shapes::geometry::Area>::area"},
	{"trait's method with a body of its own",
		"_RNvYNtNtCs6mEINUzFH5k_6shapes8geometry6SquareNtB4_4Area8describeB6_",
		"_ZN6shapes8geometry4Area8describe17h7001e2c902671915E",
		"<shapes::geometry::Square as shapes::geometry::Area>::describe",
		"shapes::geometry::Area::describe"},
	{"trait's method for a generic type",
		"_RNvXs0_NtCs6mEINUzFH5k_6shapes8geometryINtB5_4PairNtB5_6SquareENtB5_4Area4areaB7_",
		"_ZN74_$LT$shapes..geometry..Pair$LT$T$GT$$u20$as$u20$shapes..geometry..Area$GT$4area17h6b8b4671e584f4eaE",
		"<shapes::geometry::Pair<shapes::geometry::Square> as shapes::geometry::Area>::area",
		"<shapes::geometry::Pair<T> as shapes::geometry::Area>::area"},
	{"trait's method for an array",
		"_RNvXs1_NtCs6mEINUzFH5k_6shapes8geometryANtB5_6Squarej2_NtB5_4Area4areaB7_",
		"_ZN65_$LT$$u5b$T$u3b$$u20$N$u5d$$u20$as$u20$shapes..geometry..Area$GT$4area17hb0719f14d4ff560bE",
		"<[shapes::geometry::Square; 2] as shapes::geometry::Area>::area",
		"<[T; N] as shapes::geometry::Area>::area"},
	{"closure in a trait's method",
		"_RNCNvXs1_NtCs6mEINUzFH5k_6shapes8geometryANtB7_6Squarej2_NtB7_4Area4area0B9_",
		"_ZN65_$LT$$u5b$T$u3b$$u20$N$u5d$$u20$as$u20$shapes..geometry..Area$GT$4area28_$u7b$$u7b$closure$u7d$$u7d$17h1aa671f7be175f06E",
		"<[shapes::geometry::Square; 2] as shapes::geometry::Area>::area::{closure#0}",
		"<[T; N] as shapes::geometry::Area>::area::{{closure}}"},
	{"another crate's trait",
		"_RNvXCs6mEINUzFH5k_6shapesNtNtB2_8geometry6SquareNtNtCsgEmfK2I1SDS_4core3fmt7Display3fmt",
		"_ZN6shapes73_$LT$impl$u20$core..fmt..Display$u20$for$u20$shapes..geometry..Square$GT$3fmt17h67953c670dae0c68E",
		"<shapes::geometry::Square as core::fmt::Display>::fmt",
		"shapes::<impl core::fmt::Display for shapes::geometry::Square>::fmt"},
	{"destructor",
		"_RNvXs_Cs6mEINUzFH5k_6shapesNtNtB4_8geometry6SquareNtNtNtCsgEmfK2I1SDS_4core3ops4drop4Drop4drop",
		"_ZN6shapes76_$LT$impl$u20$core..ops..drop..Drop$u20$for$u20$shapes..geometry..Square$GT$4drop17h054d33c43a3434c7E",
		"<shapes::geometry::Square as core::ops::drop::Drop>::drop",
		"shapes::<impl core::ops::drop::Drop for shapes::geometry::Square>::drop"},
	{"called from C", "_RNvCs6mEINUzFH5k_6shapes8callback", "_ZN6shapes8callback17h98354c7996f172b9E",
		"shapes::callback", "shapes::callback"},
	{"not mangled", "plain", "plain", "plain", "plain"},
	{"a part that LLVM split off", "_RNvCs6mEINUzFH5k_6shapes4main.cold", "_ZN6shapes4main17hf5fd5fdfcdcdb145E.llvm.1234567890",
		"shapes::main", "shapes::main"},
}

func TestRustNames(t *testing.T) {
	for _, c := range rustNames {
		if got := Short(c.v0); got != c.v0Name {
			t.Errorf("%s, v0: %s\n got  %s\n want %s", c.what, c.v0, got, c.v0Name)
		}
		if got := Short(c.legacy); got != c.legacyName {
			t.Errorf("%s, legacy: %s\n got  %s\n want %s", c.what, c.legacy, got, c.legacyName)
		}
	}
}

// TestRustLegacyEscapes reads what rustc writes for characters that object
// files cannot hold.
func TestRustLegacyEscapes(t *testing.T) {
	const hash = "17h0123456789abcdefE"
	for _, c := range []struct{ what, name, want string }{
		{"a letter", "_ZN4bier11bl$uf6$sser", "bier::bl\u00f6sser"},
		{"at the beginning, behind rustc's underscore", "_ZN4bier7_$uf6$l", "bier::\u00f6l"},
		{"a letter of two bytes' code", "_ZN4bier15_$u6f22$$u5b57$", "bier::\u6f22\u5b57"},
		{"a letter beyond 16 bits", "_ZN4bier9x$u1d4b3$", "bier::x\U0001d4b3"},
		{"ASCII's escapes around it", "_ZN31_$LT$bier..Gl$uf6$ck$u20$as$GT$1f", "<bier::Gl\u00f6ck as>::f"},
		{"in two identifiers", "_ZN6a$uf6$7b$ue4$cE", "a\u00f6::b\u00e4c"},
		{"an identifier's own underscore", "_ZN4bier4_tap", "bier::_tap"},
		{"two of them", "_ZN4bier5__tap", "bier::__tap"},
		{"a control character stays", "_ZN4bier7a$u85$b", "bier::a$u85$b"},
		{"no character", "_ZN4bier9a$ud800$b", "bier::a$ud800$b"},
		{"upper case is none of rustc's", "_ZN4bier7a$uF6$b", "bier::a$uF6$b"},
	} {
		name := strings.TrimSuffix(c.name, "E") + hash
		if got := Short(name); got != c.want {
			t.Errorf("%s: Short(%s) = %s, want %s", c.what, name, got, c.want)
		}
		if got := Full(name); got != c.want {
			t.Errorf("%s: Full(%s) = %s, want %s", c.what, name, got, c.want)
		}
		if short, full := Forms(name); short != c.want || full != c.want {
			t.Errorf("%s: Forms(%s) = %s, %s, want %s", c.what, name, short, full, c.want)
		}
	}
}

// TestRustc builds the program with the installed rustc, in both manglings,
// and finds every function of the table, whatever its hashes are.
func TestRustc(t *testing.T) {
	rustc, err := exec.LookPath("rustc")
	if err != nil {
		t.Skip("no rustc")
	}
	source, err := filepath.Abs("testdata/shapes.rs")
	if err != nil {
		t.Fatal(err)
	}
	for _, mangling := range []string{"v0", "legacy"} {
		t.Run(mangling, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "shapes")
			cmd := exec.Command(rustc, "--edition", "2021", "-C", "opt-level=0", "-Z", "unstable-options",
				"-C", "symbol-mangling-version="+mangling, "-o", out, source)
			cmd.Env = append(os.Environ(), "RUSTC_BOOTSTRAP=1") // permits the legacy mangling
			if b, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			f, err := elf.Open(out)
			if err != nil {
				t.Skip("not an ELF file: ", err)
			}
			defer f.Close()
			list, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range list {
				if elf.ST_TYPE(s.Info) == elf.STT_FUNC && strings.Contains(s.Name, "shapes") || s.Name == "plain" {
					names = append(names, Short(s.Name))
				}
			}
			for _, c := range rustNames {
				want := c.v0Name
				if mangling == "legacy" {
					want = c.legacyName
				}
				if !slices.Contains(names, want) {
					t.Errorf("%s: no %s", c.what, want)
				}
			}
			for _, name := range names {
				if strings.HasPrefix(name, "_R") || strings.HasPrefix(name, "_ZN") || strings.Contains(name, "$LT$") || strings.Contains(name, "17h") {
					t.Errorf("not demangled: %s", name)
				}
			}
		})
	}
}
