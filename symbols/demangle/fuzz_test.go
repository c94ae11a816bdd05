package demangle

import (
	"testing"
	"unicode/utf8"

	itanium "github.com/ianlancetaylor/demangle"
)

// FuzzMSVC looks for Microsoft names that break the reader or its bounds.
func FuzzMSVC(f *testing.F) {
	for _, c := range msvcNames {
		f.Add(c.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) > maxInput {
			return
		}
		full, errFull := msvcFull(name)
		short, errShort := msvcShort(name)
		if len(full) > maxOutput || len(short) > maxOutput {
			t.Fatalf("%q: text of %d and %d bytes", name, len(full), len(short))
		}
		if errFull == nil && errShort != nil && errShort != errTooLong {
			t.Fatalf("%q is %q, and has no short name: %v", name, full, errShort)
		}
		if errFull == nil && full == "" || errShort == nil && short == "" {
			t.Fatalf("%q has an empty name", name)
		}
		if again, _ := msvcFull(name); again != full {
			t.Fatalf("%q is %q, then %q", name, full, again)
		}
		if utf8.ValidString(name) && !utf8.ValidString(full) && name[0] == '?' {
			t.Fatalf("%q is not valid UTF-8: %q", name, full)
		}
	})
}

// FuzzAny feeds names of every scheme to the exported functions.
func FuzzAny(f *testing.F) {
	for _, name := range []string{
		"_ZN3app5Shape4areaEv", "_Z5twiceIiET_S0_", "_ZZ3fooiENKUlvE_clEv", "_ZNKSt8functionIFviEEclEi",
		"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "_RNvCs15kBYyAo9fc_7mycrate7example",
		"?f@S@@QEBAHH@Z", "_foo@12", "@foo@8", "foo@@16", "memcpy@@GLIBC_2.14", "_Z3foov.isra.0.cold",
		"_Z3foov@plt", "__imp__ZN3app1fEv", "____Z3foov_block_invoke_2", "_ZTv0_n24_N3app1AD1Ev",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		limit := maxOutput + len(importPrefix) + len(name) + len(" [clone ]")
		for _, s := range []string{Short(name), Full(name), Name(name), CName(name, true), CName(name, false)} {
			if len(s) > limit {
				t.Fatalf("%q becomes %d bytes", name, len(s))
			}
			if s == "" && name != "" {
				t.Fatalf("%q becomes nothing", name)
			}
		}
	})
}

// FuzzItaniumDirect looks for names that the direct writer and the package
// read differently.
func FuzzItaniumDirect(f *testing.F) {
	for _, name := range []string{
		"_ZN3app5Shape4areaEv", "_ZN12_GLOBAL__N_13fooEv", "_ZNSt6vectorIN3app5ShapeESaIS1_EED2Ev", "_ZN3app5ShapelsEi",
		"_ZN1AILi5ELb1ELb0ELj7ELmn3EE1fEv", "_ZN1AIJicEE1fEv", "_ZN1AIPK1BRKS1_OS2_PPS1_E1fES5_", "_ZSt4moveIRiEvv",
		"_ZN3fooB5cxx11B1xC1Ev", "_Z5twiceIiET_S0_", "_ZN3app4makeIiJcRlOhEEET_PS1_DpRKT0_", "_ZN1A1fIiEEvRKNT_5InnerE",
		"_ZNKO3app5Shape4takeEOS0_", "_ZN1AlsIjEERS_T_", "_ZN1AcvbEv", "_ZN3app3BoxI3FooEC1IS1_EERKT_", "_ZNSt3mapIiSt4pairIKiPKcESt4lessIiESaIS5_EE4findERS1_", "_ZN1A1BIN1CEE1fEv",
		"_ZNSt4pairIiiEC1IRA14_KcRA2_PiLb1EEEOT_OT0_", "_ZN1A1fIJRA8_KcOA3_iEEEiDpOT_PA4_c", "_ZN1A1fIRA8_cEET_v",
		"_Z1fR9A (&) [1]", "_Z1fO1&", "_ZN1A1fIPFRA2_iOA3_cEEEvT_",
		"_ZN1A1fIKcEEvRKT_RKcPKS1_", "_Z1fK7A constRKS_", "_ZThn16_NK3app1A1fEi", "_ZTv0_n24_N3app1A1gIiEET_S1_", "_ZN1A1fIiDcEEDaT_", nested(60, "i"),
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if short, full := itaniumDirectForms(name); full != "" && !isRust(name) {
			if want, err := guarded(name, func() (string, error) { return itanium.ToString(name, fullOptions...) }); err == nil && want != full {
				t.Fatalf("%q:\n direct %q\n tree   %q", name, full, want)
			}
			if want, _ := itaniumDirect(name); want != short {
				t.Fatalf("%q:\n short %q\n alone %q", name, short, want)
			}
		}
		direct, ok := itaniumDirect(name)
		if !ok || isRust(name) {
			return
		}
		if tree, err := itaniumTree(name); err == nil && tree != direct {
			t.Fatalf("%q:\n direct %q\n tree   %q", name, direct, tree)
		}
	})
}
