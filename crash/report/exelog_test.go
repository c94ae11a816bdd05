package report

import (
	"strings"
	"testing"
)

// TestExeLog checks that the report has the form of the patent's figure.
func TestExeLog(t *testing.T) {
	r := &Report{Local: "2003-02-13 09:23:12", Pointers: 4, Exception: &Exception{Code: 0xc0000005}, Threads: []Thread{
		{ID: 1, Rows: []Row{{Number: 0, Address: 1}}},
		{ID: 2, Rows: []Row{{Number: -1, Source: "log", Functions: []Function{{Name: "waits", File: "w.cpp", Line: 5}}}}},
		{ID: 0xcec, Crashed: true, Rows: []Row{
			{Number: 0, Address: 0x601099, Module: `H:\Log\MAPEXE\Debug\MAPDLL.dll`, Offset: 0x1099, Section: 1, SectionOffset: 0x99,
				Functions: []Function{{Name: "MAPDLLHappyFunc", File: `H:\Log\MAPDLL.cpp`, Line: 38}}},
			{Number: -1, Source: "log", Functions: []Function{{Name: "called"}}},
			{Number: 1, Address: 0x401020, Module: `H:\Log\MAPEXE1.EXE`, Offset: 0x1020, Functions: []Function{{Name: "inner", File: "a.h", Line: 3}, {Name: "main\x1b"}}},
			{Number: 2, Address: 0x77001234, Module: "kernel32.dll", Offset: 0x1234},
			{Number: 3, Address: 0x12},
		}, First: 3, Omitted: 2, Registers: []Register{{"eax", 1}, {"ebx", 2}, {"ecx", 3}, {"edx", 4}, {"eip", 0x601099}}},
		{ID: 0xced},
	}, Modules: []Module{{Base: 0x400000, End: 0x410000, Path: `H:\Log\MAPEXE1.EXE`}}}
	const want = `2003-02-13 09:23:12 Caused an exception in thread 00000CEC at 00601099 0001:00000099 H:\Log\MAPEXE\Debug\MAPDLL.dll
[Exception Code: 0xC0000005]
[Exception Flags: 0x00000000]
Call stack of thread 00000CEC:
[1] MAPDLL.dll 00601099 00001099 MAPDLLHappyFunc, MAPDLL.cpp, line 38
[2] MAPEXE1.EXE 00401020 00001020 inner, a.h, line 3
[2] MAPEXE1.EXE 00401020 00001020 main�
[3] kernel32.dll 77001234 00001234
(2 frames are left out)
[4] 00000012
Registers of thread 00000CEC:
eax=00000001 ebx=00000002 ecx=00000003 edx=00000004
eip=00601099

Call stack of thread 00000001:
[1] 00000001

Call stack of thread 00000002:
[open call] waits, w.cpp, line 5

Call stack of thread 00000CED:

Modules:
00400000-00410000 H:\Log\MAPEXE1.EXE
`
	var out strings.Builder
	if err := Write(&out, r, "exelog"); err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
	r.Exception, r.Cause, r.Pointers = nil, "SIGSEGV", 8
	out.Reset()
	if err := Write(&out, r, "exelog"); err != nil || !strings.HasPrefix(out.String(), "2003-02-13 09:23:12 Caused an exception in thread 3308 at 0000000000601099 ") ||
		!strings.Contains(out.String(), "\n[SIGSEGV]\n[no code]\nCall stack of thread 3308:\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	r.Threads[2].Crashed = false
	out.Reset()
	if err := Write(&out, r, "exelog"); err != nil || strings.Contains(out.String(), "exception") || strings.Count(out.String(), "Call stack of thread ") != 4 {
		t.Errorf("a dump of a running process: %v\n%s", err, out.String())
	}
	r.Local = ""
	r.Threads[0].Unsaved = true
	out.Reset()
	if err := Write(&out, r, "exelog"); err != nil || !strings.HasPrefix(out.String(), "Thread 1 at ") {
		t.Errorf("without a time: %v\n%s", err, out.String())
	}
	for format, want := range map[string]string{"txt": unsavedStack, "html": unsavedStack, "gdb-like": "Backtrace stopped: ", "json": `"unsaved":true`} {
		out.Reset()
		if err := Write(&out, r, format); err != nil || strings.Count(out.String(), want) != 1 {
			t.Errorf("a stack that was cut, %s: %v\n%s", format, err, out.String())
		}
	}
}
