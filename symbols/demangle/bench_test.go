package demangle

import "testing"

// sink keeps the compiler from leaving the work out.
var sink int

func benchmark(b *testing.B, f func(string) string, names ...string) {
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		sink += len(f(names[i%len(names)]))
	}
}

var (
	plainNames = []string{
		"_ZN3app5Shape4areaEv", "_ZNK4llvm5Value7getTypeEv", "_ZN12_GLOBAL__N_14walkEPNS_4NodeE", "_ZN3app5ShapeC2ERKS0_",
	}
	templateNames = []string{
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
		"_ZNSt6vectorIN3app5ShapeESaIS1_EE9push_backERKS1_",
		"_ZNSt8_Rb_treeISsSt4pairIKSsiESt10_Select1stIS2_ESt4lessISsESaIS2_EE8_M_eraseEPSt13_Rb_tree_nodeIS2_E",
		"_ZN3app8RegistryISsNS_5ShapeEE4findERKSs",
	}
	otherNames = []string{
		"_ZZN3app3runEiENKUlvE_clEv", "_ZNKSt8functionIFviEEclEi", "_ZNK3app3BoxcvbEv", "_ZThn16_N3app1A1fEv",
	}
	msvcPlain = []string{
		"?area@Shape@app@@UEBANXZ", "??0Shape@app@@QEAA@XZ", "?make@Shape@app@@SAPEAU12@PEBD@Z", "?helper@?A0x1b2c3d4e@@YAXXZ",
	}
	msvcTemplates = []string{
		"?push_back@?$vector@VShape@app@@V?$allocator@VShape@app@@@std@@@std@@QEAAX$$QEAVShape@app@@@Z",
		"??R<lambda_1>@?0??use@@YAHXZ@QEBA?A?<auto>@@XZ",
		"?append@?$basic_string@DU?$char_traits@D@std@@V?$allocator@D@2@@std@@QEAAAEAV12@QEBD@Z",
		"??$call@V<lambda_1>@?0??uc@@YAHXZ@@@YA?A?<auto>@@V<lambda_1>@?0??uc@@YAHXZ@@Z",
	}
)

func BenchmarkShortItaniumPlain(b *testing.B)     { benchmark(b, Short, plainNames...) }
func BenchmarkShortItaniumTemplates(b *testing.B) { benchmark(b, Short, templateNames...) }
func BenchmarkShortItaniumOther(b *testing.B)     { benchmark(b, Short, otherNames...) }
func BenchmarkShortMSVCPlain(b *testing.B)        { benchmark(b, Short, msvcPlain...) }
func BenchmarkShortMSVCTemplates(b *testing.B)    { benchmark(b, Short, msvcTemplates...) }
func BenchmarkShortC(b *testing.B)                { benchmark(b, Short, "main", "memcpy", "_start", "do_lookup_x") }
func BenchmarkFullItanium(b *testing.B)           { benchmark(b, Full, templateNames...) }
func BenchmarkFullMSVC(b *testing.B)              { benchmark(b, Full, msvcTemplates...) }

func BenchmarkFormsItanium(b *testing.B) {
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		short, full := Forms(templateNames[i%len(templateNames)])
		sink += len(short) + len(full)
	}
}
