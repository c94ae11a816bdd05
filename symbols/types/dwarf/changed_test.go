package dwarf

import "testing"

// TestDeclaredParameters counts the parameters that names have.
func TestDeclaredParameters(t *testing.T) {
	for name, want := range map[string]int{
		"_Z1fv": 0, "_Z1fi": 1, "_ZN3app3f40EiNS_1NEPKSt4pairIidE": 3, "_Z1fIiEvT_PFiicE": 2, "_ZNK3app1M1gERKS0_z": 1, "_ZN3app1aEPFvvERA3_i": 2,
		"_ZN12_GLOBAL__N_11hEfd": 2, "main": -1, "?f@@YAXH@Z": -1, "_Z": -1,
	} {
		n, told := declaredParameters(name)
		if !told {
			n = -1
		}
		if n != want {
			t.Errorf("%s: %d, want %d", name, n, want)
		}
	}
}

// TestClangVersion reads the version out of the name of a compiler.
func TestClangVersion(t *testing.T) {
	for producer, want := range map[string]int{
		"Debian clang version 14.0.6": 14, "Ubuntu clang version 19.1.7 (3)": 19, "clang version 9.0.0": 9, "GNU C++17 12.2.0": 0, "": 0, "clang version trunk": 0,
		"Apple clang version 15.0.0 (clang-1500.3.9.4)": 15,
	} {
		if got := clangVersion(producer); got != want {
			t.Errorf("%q: %d, want %d", producer, got, want)
		}
	}
}
