package texts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// String returns a reference in the form of the tests: the text, its kind, and what it is relative to.
func describe(line string, f *Reference) string {
	s := fmt.Sprintf("%s %v", line[f.Start:f.End], f.Kind)
	space := [...]string{"process", "linked", "file", "code", "section", "function"}[f.Space]
	if f.Module != "" {
		s += " " + f.Module
	}
	switch f.Space {
	case Function:
		s += fmt.Sprintf(" %s+%#x", f.Name, f.Offset)
	case Section:
		s += fmt.Sprintf(" section %d+%#x", f.SectionNumber, f.Offset)
	default:
		s += fmt.Sprintf(" %s %#x", space, f.Offset)
	}
	if id := f.Identity; id.BuildID != "" {
		s += fmt.Sprintf(" %x", id.BuildID)
	} else if id.Timestamp != 0 {
		s += fmt.Sprintf(" %08x", id.Timestamp)
	}
	return s
}

// The texts of the formats, and what is in their lines.
var fixtures = []struct {
	name string
	text string
	want []string // of all lines, one after the other
}{
	{"glibc", `./seg(+0x11e8)[0x562cbd9791e8]
./seg(mid+0x18) [0x55b25f3cb28e]
./segnp[0x40125f]
/lib/x86_64-linux-gnu/libc.so.6(__libc_start_main+0x85)[0x7fadfb1d1305]`, []string{
		"0x562cbd9791e8 return ./seg linked 0x11e8",
		"0x55b25f3cb28e return ./seg mid+0x18",
		"0x40125f return ./segnp linked 0x40125f",
		"0x7fadfb1d1305 return /lib/x86_64-linux-gnu/libc.so.6 __libc_start_main+0x85",
	}},
	{"glibc with maps", `55b25f3ca000-55b25f3cb000 r--p 00000000 08:01 77  /opt/seg
55b25f3cb000-55b25f3cc000 r-xp 00001000 08:01 77   /opt/seg
7fff1000-7fff2000 rw-p 00000000 00:00 0    [stack]
./seg(mid+0x18)[0x55b25f3cb28e]
called by 0x55b25f3cb28e
called by 0x7fff1800`, []string{
		"0x55b25f3cb28e return /opt/seg file 0x128e",
		"0x55b25f3cb28e return /opt/seg file 0x128e",
		"0x7fff1800 return process 0x7fff1800",
	}},
	{"the article's", "00c5d000-00c5e000 r-xp 00000000 08:05 2129013    /opt/libbt_so.so\ncalled by 0xc5d4eb\ncalled by 0×8048440", []string{
		"0xc5d4eb return /opt/libbt_so.so file 0x4eb",
		"0×8048440 return process 0x8048440",
	}},
	{"kernel, new", "[1.5] seg[8730]: segfault at 8 ip 000055d0a1f00272 sp 00007fffa5636988 error 4 in seg[1272,55d0a1f00000+1000] likely on CPU 0 (core 0, socket 0)", []string{
		"000055d0a1f00272 exact seg file 0x1272",
	}},
	{"kernel, old", "app[12]: segfault at 0 ip 00007f3201002345 sp 00007ffd000 error 4 in libfoo.so[7f3201000000+5000]", []string{
		"00007f3201002345 exact libfoo.so code 0x2345",
	}},
	{"kernel, trap", "traps: app[12] general protection fault ip:55d0a1f00272 sp:7ffd1000 error:0 in app[55d0a1f00000+1000]", []string{
		"55d0a1f00272 exact app code 0x272",
	}},
	{"oops", "RIP: 0010:drv_write+0x1c/0x90 [drv]\n ? vfs_write+0x10/0x20\n ksys_read.cold+0x5/0x9 [mod 8a3b]", []string{
		"drv_write+0x1c exact drv.ko drv_write+0x1c",
		"vfs_write+0x10 return vmlinux vfs_write+0x10",
		"ksys_read.cold+0x5 return mod.ko ksys_read.cold+0x5",
	}},
	{"AddressSanitizer", `==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x5612de1ec1da bp 0x7ffe sp 0x7ffd
    #0 0x5612de1ec1d9 in inner /opt/a.c:3
    #1 0x5650da804a96  (/opt/ac+0x10ba96) (BuildId: b9b70a)
    #2 0x7f00 in main (/opt/my app+0x1234)`, []string{
		"0x5612de1ec1da return process 0x5612de1ec1da",
		"0x5612de1ec1d9 called process 0x5612de1ec1d9",
		"0x5650da804a96 called /opt/ac linked 0x10ba96 b9b70a",
		"0x7f00 called /opt/my app linked 0x1234",
	}},
	{"ThreadSanitizer", "    #0 <null> <null> (tc+0xe45ff) (BuildId: fc78)\n    #1 use /opt/a.c:2 (app+0x13b7)", []string{
		"0xe45ff called tc linked 0xe45ff fc78",
		"0x13b7 called app linked 0x13b7",
	}},
	{"markup", `{{{reset}}}
{{{module:0:/opt/ac:elf:b9b7}}}
{{{mmap:0x561100000000:0xdfb95:load:0:rx:0x2c000}}}
{{{bt:0:0x561100000010}}} and {{{bt:1:0x561100000020}}}
{{{pc:0x561100000030:ra}}}{{{pc:0x561100000040}}}{{{bt:2:0x561100000050:pc}}}`, []string{
		"0x561100000010 exact /opt/ac linked 0x2c010 b9b7",
		"0x561100000020 return /opt/ac linked 0x2c020 b9b7",
		"0x561100000030 return /opt/ac linked 0x2c030 b9b7",
		"0x561100000040 exact /opt/ac linked 0x2c040 b9b7",
		"0x561100000050 exact /opt/ac linked 0x2c050 b9b7",
	}},
	{"gdb", `          0x555555554000     0x555555555000     0x1000        0x0  r--p   /opt/seg
          0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /opt/seg
#0  handler (sig=11) at seg.c:8
#1  <signal handler called>
#2  0x0000555555555272 in inner (p=0x8) at seg.c:5
#3  0x000055555555528e in mid (p=0x8) at seg.c:11
#4  0x00007ffff7df524a in ?? () from /lib/libc.so.6`, []string{
		"0x0000555555555272 exact /opt/seg file 0x1272",
		"0x000055555555528e return /opt/seg file 0x128e",
		"0x00007ffff7df524a return process 0x7ffff7df524a",
	}},
	{"gdb, frame 0", "#0  0x0000555555555272 in inner ()\n#1  0x000055555555528e in mid ()", []string{
		"0x0000555555555272 exact process 0x555555555272",
		"0x000055555555528e return process 0x55555555528e",
	}},
	{"Valgrind", `==9010==    at 0x109272: ??? (in /opt/segs)
==9010==    by 0x10928D: mid (seg.c:11)
==9010==    by 0x40112D: main (in /opt/segnp)
==9010==    by 0x48F1249: (below main) (in /lib/libc.so.6)`, []string{
		"0x109272 exact /opt/segs linked 0x1272",
		"0x10928D called process 0x10928d",
		"0x40112D called /opt/segnp linked 0x40112d",
		"0x48F1249 called /lib/libc.so.6 process 0x48f1249",
	}},
	{"Go", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47a748]\n\t/opt/main.go:9 +0x1d fp=0xc00006 sp=0xc00005 pc=0x471ecf", []string{
		"0x47a748 exact process 0x47a748",
		"0x471ecf return process 0x471ecf",
	}},
	{"Go, arguments", "goroutine 1 gp=0xc000002380 m=0 mp=0x53d0e0 [running]:\nmain.(*T).inner({0x4d03b0?, 0x8?}, 0xc00001c0a8)\n\t/opt/main.go:9 +0x1d\n" +
		"main.outer(0x4d03b0)\ncreated by main.main in goroutine 1\nlib.so(0x4d03b0)\nrax    0x4d03b0\nrip    0x47a748\nr11 = 0x4d03b1", []string{
		"0x4d03b0 return process 0x4d03b0",
		"0x47a748 exact process 0x47a748",
	}},
	{"abseil and glog", "*** SIGSEGV received at time=1700000000 ***\nPC: @     0x55d0a1f00272  (unknown)  inner()\n    @     0x55d0a1f00290  (unknown)  outer()\n*** SIGSEGV (@0x8) received by PID 12", []string{
		"0x55d0a1f00272 exact process 0x55d0a1f00272",
		"0x55d0a1f00290 return process 0x55d0a1f00290",
	}},
	{"exceptions", "Unhandled exception at 0x00007ff612341072 in app.exe: 0xC0000005\nException thrown at 0x00007ff612341073 in app.exe\nException address: 0x00007ff612341074\n" +
		"Crash address: 0x00007ff612341075\nCrashed at 0x00007ff612341076\nAccess violation at address 0x00007ff612341077\nfaulting address = 0x00007ff612341078\n" +
		"returned from handler to 0x00007ff612341079\ncalled at 0x00007ff61234107a\nException 5 called by 0x00007ff61234107b\nsafe exceptional place at 0x00007ff61234107c", []string{
		"0x00007ff612341072 exact process 0x7ff612341072", "0xC0000005 return process 0xc0000005",
		"0x00007ff612341073 exact process 0x7ff612341073", "0x00007ff612341074 exact process 0x7ff612341074",
		"0x00007ff612341075 exact process 0x7ff612341075", "0x00007ff612341076 exact process 0x7ff612341076",
		"0x00007ff612341077 exact process 0x7ff612341077", "0x00007ff612341078 exact process 0x7ff612341078",
		"0x00007ff612341079 return process 0x7ff612341079", "0x00007ff61234107a return process 0x7ff61234107a",
		"0x00007ff61234107b return process 0x7ff61234107b", "0x00007ff61234107c return process 0x7ff61234107c",
	}},
	{"WinDbg, .exr", "ExceptionAddress: 00007ff6`12341072 (app!main+0x0000000000000022)\nExceptionAddress: 0000000140001072\n   ExceptionCode: c0000005 (Access violation)", []string{
		"app!main+0x0000000000000022 exact app main+0x22",
		"0000000140001072 exact process 0x140001072",
	}},
	{"Wine", `wine: Unhandled page fault on write access to 0000000000000008 at address 0x0000000140001560 (thread 0020)
Unhandled exception: page fault on write access to 0x00000008 in 64-bit code (0x0000000140001560).
=>0 0x0000000140001560 inner+0x10() [Z:\opt\a.c:3] in app (0x000000000021fe40)
  1 0x0000000140001580 outer+0x10() [Z:\opt\a.c:9] in app (0x000000000021fe70)`, []string{
		"0x0000000140001560 exact process 0x140001560",
		"0x0000000140001560 exact process 0x140001560",
		"0x0000000140001560 exact process 0x140001560",
		"0x0000000140001580 return process 0x140001580",
	}},
	{"Rust", "   0:     0x557dd76fa97a - <unknown>\n  11:     0x557dd76fa990 - main", []string{
		"0x557dd76fa97a return process 0x557dd76fa97a",
		"0x557dd76fa990 return process 0x557dd76fa990",
	}},
	{"Java", `# C  [libjli.so+0x4592]  JavaMain+0xd82
Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)
V  [libjvm.so+0xed2f94]  Unsafe_PutLong+0x124
C  [libjli.so+0x4592]  JavaMain+0xd82`, []string{
		"0x4592 exact libjli.so linked 0x4592",
		"0xed2f94 exact libjvm.so linked 0xed2f94",
		"0x4592 return libjli.so linked 0x4592",
	}},
	{"Java, native frames below Java's", `V  [libjvm.so+0xed2f94]  Unsafe_PutLong+0x124
j  sun.misc.Unsafe.putAddress(JJ)V+0
J 81 C2 Crash.run([Ljava/lang/String;)V (5 bytes) @ 0x00007f3f0d0a6b2c [0x00007f3f0d0a6b00+0x2c]
v  ~StubRoutines::call_stub
V  [libjvm.so+0x5d8c4e]  JavaCalls::call_helper+0x33e

V  [libjvm.so+0x5d8c4f]  another list`, []string{
		"0xed2f94 exact libjvm.so linked 0xed2f94",
		"0x00007f3f0d0a6b2c return process 0x7f3f0d0a6b2c",
		"0x00007f3f0d0a6b00 return process 0x7f3f0d0a6b00",
		"0x5d8c4e return libjvm.so linked 0x5d8c4e",
		"0x5d8c4f exact libjvm.so linked 0x5d8c4f",
	}},
	{"Android", `I/DEBUG   (   31):       #01 pc 000083fe  /system/lib/libc.so (f+40) (BuildId: 0a0b)
      #02 pc 0000000000012345  /system/lib64/libart.so`, []string{
		"000083fe called /system/lib/libc.so linked 0x83fe 0a0b",
		"0000000000012345 called /system/lib64/libart.so linked 0x12345",
	}},
	{"Windows event", `Name der fehlerhaften Anwendung: app.exe, Version: 1.0.0.0, Zeitstempel: 0x5f000001
Name des fehlerhaften Moduls: ntdll.dll, Version: 10.0.19041.5607, Zeitstempel: 0x15600361
Ausnahmecode: 0xc0000374
Fehleroffset: 0x000e6d23
ID des fehlerhaften Prozesses: 0x1234`, []string{
		"0x000e6d23 exact ntdll.dll linked 0xe6d23 15600361",
	}},
	{"WinDbg", "00 006ffb2c 778624c0 ntdll!RtlpNtSetValueKey+0x27a0\n01 00000012`7f2ff8d0 00007ff6`12341072 app+0x1072\n02 00000012`7f2ff8e0 00007ff6`12341099 app!ns::f [c:\\src\\f.cpp @ 7]", []string{
		"ntdll!RtlpNtSetValueKey+0x27a0 exact ntdll RtlpNtSetValueKey+0x27a0",
		"app+0x1072 return app linked 0x1072",
		"app!ns::f return app ns::f+0x0",
	}},
	{"WinDbg, lm", "00007ff6`12340000 00007ff6`12350000   app        (pdb symbols)          c:\\sym\\app.pdb\n00400000 00410000   old      (deferred)\nrip=0x7ff612341072 called by 0x00401099", []string{
		"0x7ff612341072 exact app linked 0x1072",
		"0x00401099 return old linked 0x1099",
	}},
	{"macOS, with UUIDs", "0x100000000 - 0x100013fff app arm64  <d6d1fec9-a15d-e7f3-8a23-6898871a2e77> /opt/app\n1   app   0x0000000100001010 f + 16", []string{
		"0x0000000100001010 return /opt/app linked 0x1010 c9fed1d65da1f3e78a236898871a2e77",
	}},
	{"microdump", "W/google-breakpad( 37): M 000000555F608000 0000000000000000 00000000000C0000 D6D1FEC9A15DE7F38A236898871A2E770 my app\npc 0x555f609010", []string{
		"0x555f609010 exact my app linked 0x1010 c9fed1d65da1f3e78a236898871a2e77",
	}},
	{"perf", `app 41 [001]   662.723444: lpx:f: (55d0a1f01380)
	            1380 app::f+0x0 (/opt/app)
	            1399 main+0x9 (/opt/app)`, []string{
		"1380 exact /opt/app linked 0x1380",
		"1399 return /opt/app linked 0x1399",
	}},
	{"perf, two samples", "app 41 [001]   662.723444: cycles:\n\t    1380 f+0x0 (/opt/app)\n\t    1399 main+0x9 (/opt/app)\n\n" +
		"app 41 [001]   662.9: cycles:\n\tffffffff81000000 do_it ([kernel.kallsyms])\n\t    1380 (/ ()\n\t    1399 main+0x9 (/opt/app)", []string{
		"1380 exact /opt/app linked 0x1380",
		"1399 return /opt/app linked 0x1399",
		"ffffffff81000000 exact process 0xffffffff81000000",
		"1380 return process 0x1380",
		"1399 return /opt/app linked 0x1399",
	}},
	{"perf with mmap events", `app 41 662.7: PERF_RECORD_MMAP2 41/41: [0x55d0a1f01000(0x1000) @ 0x1000 08:01 123 0]: r-xp /opt/app
	    55d0a1f01380 [unknown] (/opt/app)`, []string{
		"55d0a1f01380 exact /opt/app file 0x1380",
	}},
	{"systemd", "#0  0x0000555668fbe11d n/a (/tmp/a.out + 0x111d)\n#1  0x00007f1234567890 __libc_start_main (libc.so.6 + 0x27890)", []string{
		"0x0000555668fbe11d exact /tmp/a.out linked 0x111d",
		"0x00007f1234567890 return libc.so.6 linked 0x27890",
	}},
	{"systemd by syslog", "Stack trace of thread 5:#012#0  0x0000555668fbe11d n/a (/tmp/a.out + 0x111d)#012#1  0x0000555668fbe130 f (a.out + 0x1130)", []string{
		"0x0000555668fbe11d exact /tmp/a.out linked 0x111d",
		"0x0000555668fbe130 return a.out linked 0x1130",
	}},
	{"macOS", `0   app            0x0000000100c74d2a 0x100a49000 + 2276650
3   bdlli-bind     0x10507c1ac llvm::ThreadPool::wait() + 60
0x1000ac000 -        0x100c13fff +app arm64  <0123> /opt/app
4   app            0x00000001000ad000 f + 16`, []string{
		"0x0000000100c74d2a exact app linked 0x22bd2a",
		"0x10507c1ac return bdlli-bind process 0x10507c1ac",
		"0x00000001000ad000 return /opt/app linked 0x1000",
	}},
	{"the patent's", `at 00601099 0001:00000099 H:\Log\MAPEXE\Debug\MAPDLL.dll`, []string{
		`0001:00000099 exact H:\Log\MAPEXE\Debug\MAPDLL.dll section 1+0x99`,
	}},
	{"free text", `crashed at rip=0x55d0a1f01380, called from 0x55d0a1f01399
module app.dll+0x1234 and ntdll!RtlFoo+0x27, color 0xff0000 0x12 x0x123456 0x1234567z
EIP: 0x00401099`, []string{
		"0x55d0a1f01380 exact process 0x55d0a1f01380",
		"0x55d0a1f01399 return process 0x55d0a1f01399",
		"app.dll+0x1234 return app.dll linked 0x1234",
		"ntdll!RtlFoo+0x27 return ntdll RtlFoo+0x27",
		"0xff0000 return process 0xff0000",
		"0x00401099 exact process 0x401099",
	}},
	{"UndefinedBehaviorSanitizer", "u.c:1:75: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'\n    #0 0x55d0a1f01399 in main /opt/u.c:1:75\n    #1 0x7fadfb1d1305  (/lib/libc.so.6+0x27305) (BuildId: 18b9)", []string{
		"0x55d0a1f01399 called process 0x55d0a1f01399",
		"0x7fadfb1d1305 called /lib/libc.so.6 linked 0x27305 18b9",
	}},
	{"MemorySanitizer", "==9==WARNING: MemorySanitizer: use-of-uninitialized-value\n    #0 0x5650da804a96  (/opt/m+0x10ba96) (BuildId: b9b7)", []string{
		"0x5650da804a96 called /opt/m linked 0x10ba96 b9b7",
	}},
	{"Java, with libraries", `7f3f01000000-7f3f02000000 r-xp 00500000 08:05 2129 /usr/lib/jvm/lib/server/libjvm.so
j  J.main([Ljava/lang/String;)V+30
# Problematic frame: pc=0x00007f3f01000010`, []string{
		"0x00007f3f01000010 exact /usr/lib/jvm/lib/server/libjvm.so file 0x500010",
	}},
	{"Android, in an apk", "      #03 pc 0000000000001f40  /data/app/x/base.apk (offset 0x1000) (f+40)\n      #04 pc 0000000000001f44  /data/app/x/base.apk!libx.so (offset 0x1000) (BuildId: 0a0b)", []string{
		"0000000000001f40 called /data/app/x/base.apk linked 0x1f40",
		"0000000000001f44 called /data/app/x/base.apk!libx.so linked 0x1f44 0a0b",
	}},
	{"Windows event, English", `Faulting application name: app.exe, version: 1.0.0.0, time stamp: 0x5f000001
Faulting module name: ntdll.dll, version: 10.0.19041.5607, time stamp: 0x15600361
Exception code: 0xc0000374
Fault offset: 0x00000000000e6d23`, []string{
		"0x00000000000e6d23 exact ntdll.dll linked 0xe6d23 15600361",
	}},
	{"systemd by syslog, with build-ids", "x systemd-coredump[9]: Process 5 (a) dumped core.#012#012Module /tmp/a.out with build-id 0a0b#012Stack trace of thread 5:#012#0  0x0000555668fbe11d n/a (a.out + 0x111d)", []string{
		"0x0000555668fbe11d exact a.out linked 0x111d 0a0b",
	}},
	{"systemd, with build-ids", "Module libc.so.6 with build-id 18b9a9a8c523e5cfe5b5d946d605d09242f09798\n#0  0x00007f1234567890 abort (libc.so.6 + 0x27890)\n#1  0x00007f1234567895 f (libc.so.6 + 0x27895)", []string{
		"0x00007f1234567890 exact libc.so.6 linked 0x27890 18b9a9a8c523e5cfe5b5d946d605d09242f09798",
		"0x00007f1234567895 return libc.so.6 linked 0x27895 18b9a9a8c523e5cfe5b5d946d605d09242f09798",
	}},
	{"folly", "    @ 000055ce12345678 folly::f(int)\n    @ 0000000000401234 (unknown)\n@ 00 a@ 000055ce12345678 by x", []string{
		"000055ce12345678 return process 0x55ce12345678",
		"0000000000401234 return process 0x401234",
	}},
	{"Python", `Current thread's C stack trace (most recent call first):
  Binary file "/usr/lib/libpython3.14.so.1.0", at _Py_DumpStack+0x4a [0x7f0123456789]
  Binary file "/usr/bin/my app", at +0x1d3ae7 [0x5580123d3ae7]
  Binary file "/usr/bin/app" [0x401136]
  Binary file '<unknown>' [0x7f00deadbeef]`, []string{
		"0x7f0123456789 return /usr/lib/libpython3.14.so.1.0 _Py_DumpStack+0x4a",
		"0x5580123d3ae7 return /usr/bin/my app linked 0x1d3ae7",
		"0x401136 return /usr/bin/app linked 0x401136",
		"0x7f00deadbeef return process 0x7f00deadbeef",
	}},
	{"WinDbg, kb", strings.ReplaceAll(` # ChildEBP RetAddr  Args to Child
00 006ffb2c 778624c0 00401000 00000001 00000000 ntdll!RtlpNtSetValueKey+0x27a0
01 006ffb4c 00401099 00401000 00000002 00000000 app+0x1072 (FPO: [3,4,0])
ChildEBP RetAddr  Args to Child
006ffb2c 778624c0 00401000 00000001 00000000 ntdll!RtlpNtSetValueKey+0x27a0
006ffb4c 00401099 00401000 00000002 00000000 app+0x1072
RetAddr           : Args to Child                                                           : Call Site
00007ff6'12341072 : 00007ff6'12340000 00007ff6'12341000 00000000'00000000 00000000'00000000 : ntdll!Foo+0x12
00000012'7f2ff8d0 00007ff6'12341072 : 00007ff6'12340000 00007ff6'12341000 00000000'00000000 00000000'00000000 : ntdll!Foo+0x12
00000012'7f2ff8e0 00007ff6'12341099 : 00000000'00000001 00000000'00000002 00000000'00000003 00000000'00000004 : app+0x1072 [c:\src\f.cpp @ 7]`, "'", "`"), []string{
		"ntdll!RtlpNtSetValueKey+0x27a0 exact ntdll RtlpNtSetValueKey+0x27a0",
		"app+0x1072 return app linked 0x1072",
		"ntdll!RtlpNtSetValueKey+0x27a0 exact ntdll RtlpNtSetValueKey+0x27a0",
		"app+0x1072 return app linked 0x1072",
		"ntdll!Foo+0x12 exact ntdll Foo+0x12",
		"ntdll!Foo+0x12 return ntdll Foo+0x12",
		"app+0x1072 return app linked 0x1072",
	}},
	{"stackwalk", `Thread 0 (crashed)
 0  crash + 0x1d72
     rax = 0x0000000000401d72   rdx = 0x00000000004041b9
     rip = 0x0000000000401d72
    Found by: given as instruction pointer in context
 1  crash!main + 0x12
     rbp = 0x0000000000401d72   rip = 0x00000000004041b9
    Found by: call frame info
 2  crash!start [start.cc : 12 + 0x5]
     rip = 0x00000000004041c9
    Found by: call frame info
 3  lib c.so.6 + 0x2724a
rip = 0x00000000004041c9`, []string{
		"crash + 0x1d72 exact crash linked 0x1d72",
		"crash!main + 0x12 return crash main+0x12",
		"lib c.so.6 + 0x2724a return lib c.so.6 linked 0x2724a",
		"0x00000000004041c9 exact process 0x4041c9",
	}},
	{"colours", "\x1b[1m#0\x1b[0m  \x1b[34m0x0000555555555272\x1b[39;49m\x1b[m in \x1b[33minner\x1b[m ()\n\x1b[34m#1  0x000055555555528e\x1b[m in mid ()\n" +
		"\x1b[31m/opt/seg(+0x1272)\x1b[0m[0x55b25f3cb272]\x1b[K", []string{
		"0x0000555555555272 exact process 0x555555555272",
		"0x000055555555528e return process 0x55555555528e",
		"0x55b25f3cb272 return /opt/seg linked 0x1272",
	}},
	{"behind a log's prefix", `2024-05-01T10:00:00.123456789Z stderr F /lib/x86_64-linux-gnu/libc.so.6(+0x2724a)[0x7f42dbefc24a]
2024-05-01T10:00:00.123456789+02:00 stderr F     #0 0x5650da804a96  (/opt/ac+0x10ba96) (BuildId: b9b7)
May  1 10:00:00 host app[12]: ./seg(+0x1272)[0x55b25f3cb272]
May 11 10:00:00 host app[12]:    0:     0x557dd76fa97a - <unknown>
web_1  | V  [libjvm.so+0xed2f94]  Unsafe_PutLong+0x124
web_1  | C  [libjli.so+0x4592]  JavaMain+0xd82
[2024-05-01 10:00:00] ERROR my.logger: ./seg(+0x1273)[0x55b25f3cb273]
ERROR seg(mid+0x18) [0x55b25f3cb28e]
/opt/my programs/seg(+0x1272)[0x55b25f3cb272]`, []string{
		"0x7f42dbefc24a return /lib/x86_64-linux-gnu/libc.so.6 linked 0x2724a",
		"0x5650da804a96 called /opt/ac linked 0x10ba96 b9b7",
		"0x55b25f3cb272 return ./seg linked 0x1272",
		"0x557dd76fa97a return process 0x557dd76fa97a",
		"0xed2f94 exact libjvm.so linked 0xed2f94",
		"0x4592 return libjli.so linked 0x4592",
		"0x55b25f3cb273 return ./seg linked 0x1273",
		"0x55b25f3cb28e return seg mid+0x18",
		"0x55b25f3cb272 return /opt/my programs/seg linked 0x1272",
	}},
	{"no addresses", "2026-11-26 21:00:07 up\n21:00:00.000000 00:00:00\n4711:00:00:00 x.y\n#define X 12\nissue #15 is fixed\n12:30:01 started: ok, 5%\n== results ==\n", nil},
}

func TestFormats(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			r := NewReader()
			passing := NewReader()
			var got []string
			for line := range strings.SplitSeq(f.text, "\n") {
				list := r.Line(line)
				// Lines that are not interesting may be skipped.
				var others []Reference
				if Interesting([]byte(line)) {
					others = passing.Line(line)
				} else {
					passing.Pass(line)
				}
				if !slices.Equal(others, list) {
					t.Errorf("%q: got %v where lines were passed over, %v without", line, others, list)
				}
				if len(list) > 0 && !Interesting([]byte(line)) {
					t.Errorf("%q is not interesting", line)
				}
				for i := range list {
					got = append(got, describe(line, &list[i]))
				}
			}
			if g, w := strings.Join(got, "\n"), strings.Join(f.want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

// appleText has frames in one line, as macOS writes them, and in several lines. The images come after them.
const appleText = `{"app_name":"app","bug_type":"309"}
{
  "pid" : 12,
  "threads" : [{"triggered":true,"frames":[{"imageOffset":80676,"symbol":"\"imageOffset\":1","symbolLocation":80,"imageIndex":1},{"imageOffset":16,"imageIndex":0}]},{"id":8,"frames":[{"imageOffset":32,"imageIndex":7},{"imageIndex":0,"imageOffset":48}]}],
  "frames" : [
    {
      "imageOffset" : 64,
      "imageIndex" : 0
    }
  ],
  "other" : {"frames" : [{"imageOffset":1,"symbol":"without an image"},{"imageIndex":1,"symbol":"{","imageOffset":80},
    {"imageIndex":1,"inlined":[{"imageOffset":5}],"imageOffset":96}, {"symbol":"}]", "imageIndex":0}, {"imageOffset":112,"imageIndex":0}]},
  "lastExceptionBacktrace" : [{"imageOffset":65,"imageIndex":0}],
  "vmSummary" : "0x100000010",
  "usedImages" : [
    {"base":4294967296,"size":16384,"uuid":"d6d1fec9-a15d-e7f3-8a23-6898871a2e77","path":"\/opt\/app","name":"app"},
    {"base":8589934592,"size":16384,"name":"libsystem"}
  ]
}`

// TestAppleReport reads a JSON report of macOS. The first frame of each list is exact, except for the place where an exception
// was thrown.
func TestAppleReport(t *testing.T) {
	first, _, _ := strings.Cut(appleText, "\n")
	if !IsAppleReport([]byte(first)) || IsAppleReport([]byte(`{"a":1}`)) {
		t.Error("reports are not told from other JSON")
	}
	r := NewReader()
	if !r.TakeAppleReport([]byte(appleText)) {
		t.Fatal("it has no images")
	}
	var got []string
	for line := range strings.SplitSeq(appleText, "\n") {
		if !Interesting([]byte(line)) {
			r.Pass(line)
			continue
		}
		list := r.Line(line)
		for i := range list {
			got = append(got, describe(line, &list[i]))
		}
	}
	const id = " c9fed1d65da1f3e78a236898871a2e77"
	want := []string{"80676 exact libsystem linked 0x13b24", "16 return /opt/app linked 0x10" + id, "48 return /opt/app linked 0x30" + id,
		"0 exact /opt/app linked 0x40" + id, "80 return libsystem linked 0x50", "96 return libsystem linked 0x60", "112 return /opt/app linked 0x70" + id, "65 return /opt/app linked 0x41" + id}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	for _, damaged := range []string{"", "{", "\n", "\n{", "\n[]", "\n{\"usedImages\":7}", "\n{\"usedImages\":[7]}", "\n{\"a\":", "\n{\"usedImages\":[]}"} {
		if NewReader().TakeAppleReport([]byte(damaged)) {
			t.Errorf("%q has images", damaged)
		}
	}
}

// TestAfterSignal checks that the frame below a signal handler is exact, and only that one.
func TestAfterSignal(t *testing.T) {
	r := NewReader()
	r.Line("./seg(+0x11e8)[0x562cbd9791e8]")
	r.AfterSignal()
	if got := r.Line("./seg(+0x11b9)[0x562cbd9791b9]")[0].Kind; got != Exact {
		t.Error(got)
	}
	if got := r.Line("./seg(+0x1243)[0x562cbd979243]")[0].Kind; got != Return {
		t.Error(got)
	}
}

// TestMappings checks that later mappings replace those that they overlap.
func TestMappings(t *testing.T) {
	r := NewReader()
	for _, m := range []Mapping{{Start: 10, End: 20, Module: "a"}, {Start: 30, End: 40, Module: "b"}, {Start: 20, End: 30, Module: "c"}, {Start: 15, End: 25, Module: "d"}, {Start: 5, End: 5, Module: "e"}} {
		r.Add(m)
	}
	var got strings.Builder
	for at := uint64(0); at < 45; at += 5 {
		if m := r.find(at); m != nil {
			got.WriteString(m.Module)
		} else {
			got.WriteString(".")
		}
	}
	if got.String() != "...dd.bb." {
		t.Error(got.String())
	}
}

// FuzzLine reads texts with lines of all formats. References must lie within their lines, and lines that are not interesting
// must have none.
func FuzzLine(f *testing.F) {
	for _, x := range fixtures {
		f.Add(x.text)
	}
	f.Add(appleText)
	f.Fuzz(func(t *testing.T, text string) {
		r := NewReader()
		r.TakeAppleReport([]byte(text))
		for line := range strings.SplitSeq(text, "\n") {
			list := r.Line(line)
			if len(list) > 0 && !Interesting([]byte(line)) {
				t.Errorf("%q is not interesting", line)
			}
			for i := range list {
				if x := &list[i]; x.Start < 0 || x.Start >= x.End || x.End > len(line) {
					t.Fatalf("%q: %+v", line, *x)
				}
			}
			for i := 1; i < len(r.mappings); i++ {
				if r.mappings[i-1].End > r.mappings[i].Start || r.mappings[i].Start >= r.mappings[i].End {
					t.Fatalf("mappings overlap: %+v", r.mappings)
				}
			}
		}
	})
}
