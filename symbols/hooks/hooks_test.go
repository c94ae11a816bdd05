package hooks

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"logparser/symbols/image"
)

// codeOf is the code of one function, at RVA 0. It calls the hook of enters at 0x100000, that of leaves at 0x200000,
// and what does not return at 0x300000.
func codeOf(text ...string) *Code {
	b, err := hex.DecodeString(strings.Join(text, ""))
	if err != nil {
		panic(err)
	}
	c := &Code{im: &image.Image{}, calls: &sysV, left: 1 << 20, text: []textSection{{0, b}}, local: map[uint64]kind{0x100000: enters, 0x200000: leaves, 0x300000: ends}}
	c.find()
	return c
}

func all(_, n int) int { return n }

// entering are functions up to the call of their hook, and where values are there.
var entering = map[string]struct {
	code   string
	places map[string]string // by place, and how many bytes
}{
	// push %rbp; mov %rsp,%rbp; push %rbx; sub $0xd8,%rsp; mov %rdi,-0xd8(%rbp); mov %esi,%eax; mov %al,-0xdc(%rbp)
	// test %al,%al; je 1f; movaps %xmm0,-0x90(%rbp); 1: mov 8(%rbp),%rsi; lea f(%rip),%rdi; call
	"gcc -O0, variadic": {"554889e5534881ecd80000004889bd28ffffff89f0888524ffffff84c074070f298570ffffff488b7508488d3dcfffffffe8caff0f00",
		map[string]string{"rdi 8": "rsp:8", "rsi 4": "rax", "rsi 8": "", "rdx 8": "rdx", "xmm0 8": "xmm0", "stack+8 4": "rsp:248", "rdi+xmm0 16": "rsp:8+xmm0", "rbp 8": "rsp:224"}},
	// lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10; sub $0x48,%rsp
	// movss %xmm1,-0x34(%rbp); mov %rdi,-0x40(%rbp); mov %esi,%ebx; xor %esi,%esi; call
	"the stack is aligned": {"4c8d5424084883e4e041ff72f8554889e541524883ec48f30f114dcc48897dc089f331f6e8d7ff0f00",
		map[string]string{"rdi 8": "rdi", "rsi 4": "rbx", "rsi 8": "", "stack+0 24": "", "stack+16 4": "", "xmm1 4": "xmm1"}},
	"memory of others is written": {"534889fb8937e8f5ff0f00", nil}, // push %rbx; mov %rdi,%rbx; mov %esi,(%rdi); call
	"cpuid":                       {"534889fb0fa2e8f5ff0f00", nil},
	"a loop":                      {"534889fbffc975fce8f3ff0f00", nil}, // 1: dec %ecx; jne 1b; call
	"another call":                {"e800000000e8f6ff0f00", nil},
}

// TestEnter follows functions to the hook that they call when they are entered.
func TestEnter(t *testing.T) {
	for name, test := range entering {
		h := codeOf(test.code).Enter(0, uint64(len(test.code)/2))
		if test.places == nil {
			if h != nil {
				t.Errorf("%s: it is followed to %x", name, h.RVA)
			}
			continue
		}
		if h == nil || h.RVA != uint64(len(test.code)/2) || !h.Quiet() {
			t.Errorf("%s: %+v", name, h)
			continue
		}
		checkPlaces(t, name, h, test.places)
	}
}

func checkPlaces(t *testing.T, name string, h *Hook, places map[string]string) {
	t.Helper()
	for what, want := range places {
		place, n, _ := strings.Cut(what, " ")
		size := 0
		for _, c := range n {
			size = 10*size + int(c-'0')
		}
		if got := h.Place(place, size, all); got != want {
			t.Errorf("%s: %s bytes of %s are at %q, want %q", name, n, place, got, want)
		}
	}
}

// leaving are functions from the call of their hook to where they return.
var leaving = map[string]struct {
	code   string
	noisy  bool
	places map[string]string
}{
	// push %rbx; call; test %ebx,%ebx; je 1f; mov %rbx,%rax; pop %rbx; ret; 1: mov %ebx,%eax; pop %rbx; ret
	"two ways": {"53e8faff1f0085db74054889d85bc389d85bc3", false, map[string]string{"rax 4": "rbx", "rax 8": "", "rdx 4": ""}},
	// push %rbp; call; mov -0x18(%rbp),%rax; movq %rax,%xmm0; mov -8(%rbp),%rdx; sub %fs:0x28,%rdx; je 1f
	// call (does not return); 1: leave; ret
	"a guarded stack": {"55e8faff1f00488b45e866480f6ec0488b55f864482b1425280000007405e8ddff2f00c9c3", false, map[string]string{"xmm0 8": "rbp:-24", "rax 8": "rbp:-24", "rdx 8": ""}},
	"an exception":    {"e8fbff1f004889dfe8f3ff2f00", true, map[string]string{"rax 4": "", "rax 8": ""}},
	// call; movq $2,8(%rbx); mov %rbx,%rax; mov $-3,%edx; ret
	"the result is written later": {"e8fbff1f0048c74308020000004889d8bafdffffffc3", true, map[string]string{"rax 8": "rbx", "rax+rdx 12": "rbx+=fffffffd"}},
	// call; test %ebx,%ebx; je 1f; mov %ebp,%eax; ret; 1: xor %eax,%eax; ret
	"the stack pointer": {"e8fbff1f004889e0c3", false, map[string]string{"rax 8": ""}}, // call; mov %rsp,%rax; ret
	"two results":       {"e8fbff1f0085db740389e8c331c0c3", false, map[string]string{"rax 4": ""}},
	// call; lea 1(%rbx),%eax; fldt -0x30(%rbp); ret
	"computed": {"e8fbff1f008d4301db6dd0c3", false, map[string]string{"rax 4": "", "st0 16": "rbp:-48"}},
	// call; mov $1,%al; ret
	"one byte": {"e8fbff1f00b001c3", false, map[string]string{"rax 1": "=1", "rax 4": ""}},
	// call; mov $-1,%rax; ret
	"a number": {"e8fbff1f0048c7c0ffffffffc3", false, map[string]string{"rax 8": "=ffffffffffffffff"}},
}

// TestLeaves follows functions from the hook that they call when they are left.
func TestLeaves(t *testing.T) {
	for name, test := range leaving {
		list := codeOf(test.code).Leaves(0, uint64(len(test.code)/2))
		if len(list) != 1 || list[0].Quiet() == test.noisy {
			t.Errorf("%s: %+v", name, list)
			continue
		}
		checkPlaces(t, name, &list[0], test.places)
	}
}

// callTo is code that ends with a call.
func callTo(target int, code string) string {
	return code + "e8" + hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, uint32(target-len(code)/2-5)))
}

// TestWindows follows functions of Windows: their callers have room for four arguments on the stack, and they keep more
// registers.
func TestWindows(t *testing.T) {
	const enter, leave, probe = 0x100000, 0x200000, 0x400000
	of := func(text string) *Code {
		c := codeOf(text)
		c.calls, c.local[probe] = &win64, bystands
		return c
	}
	for _, test := range []struct {
		name, code string
		places     map[string]string
	}{
		// push %rbp; mov %rsp,%rbp; sub $0x20,%rsp; mov %rcx,0x10(%rbp); mov %edx,0x18(%rbp); movsd %xmm2,0x20(%rbp)
		// mov 8(%rbp),%rdx; xor %ecx,%ecx
		{"gcc -O0", callTo(enter, "554889e54883ec2048894d10895518f20f115520488b550831c9"),
			map[string]string{"rcx 8": "rsp:48", "rdx 4": "rsp:56", "rdx 8": "", "xmm2 8": "xmm2", "xmm4 8": "", "r9 8": "r9", "stack+32 24": "rsp:80"}},
		// mov $0x1008,%eax; call; sub %rax,%rsp; mov %ecx,%edi; movaps %xmm1,%xmm7; xor %ecx,%ecx; xorps %xmm1,%xmm1
		{"a large frame", callTo(enter, callTo(probe, "b808100000")+"4829c489cf0f28f931c90f57c9"),
			map[string]string{"rcx 4": "rdi", "xmm1 8": "xmm7", "stack+32 4": "rsp:4144"}},
	} {
		c := of(test.code)
		if h := c.Enter(0, uint64(len(test.code)/2)); h == nil {
			t.Errorf("%s: it is not followed", test.name)
		} else {
			checkPlaces(t, test.name, h, test.places)
		}
	}
	for _, test := range []struct {
		name, code string
		places     map[string]string
	}{
		// movaps %xmm6,%xmm0; mov %esi,%eax; movaps 0x20(%rsp),%xmm6; add $0x38,%rsp; ret
		{"kept", callTo(leave, "") + "0f28c689f00f287424204883c438c3", map[string]string{"xmm0 8": "xmm6", "rax 4": "rsi", "rax 8": "", "xmm0+xmm0h 16": "xmm6+xmm6h"}},
		// movdqa -0x20(%rbp),%xmm0; leave; ret
		{"16 bytes", callTo(leave, "") + "660f6f45e0c9c3", map[string]string{"xmm0+xmm0h 16": "rbp:-32+rbp:-24", "xmm0 8": "rbp:-32"}},
	} {
		list := of(test.code).Leaves(0, uint64(len(test.code)/2))
		if len(list) != 1 {
			t.Errorf("%s: %+v", test.name, list)
			continue
		}
		checkPlaces(t, test.name, &list[0], test.places)
	}
}

// TestX86 follows functions for x86, whose arguments lie on the stack.
func TestX86(t *testing.T) {
	const enter, leave = 0x100000, 0x200000
	of := func(text string) *Code {
		c := codeOf(text)
		c.calls = &sysV32
		return c
	}
	const thunk = "8b1c24c3" // mov (%esp),%ebx; ret, behind the function
	for _, test := range []struct {
		name, code, behind string
		places             map[string]string
	}{
		// push %ebp; mov %esp,%ebp; push %ebx; sub $0x14,%esp; call (thunk); mov 0x10(%ebp),%edx; mov %dl,-0xc(%ebp)
		// mov 4(%ebp),%eax; sub $8,%esp; push %eax; push %eax
		{"gcc -O0 PIC", callTo(enter, "5589e55383ec14e8130000008b55108855f48b450483ec085050"), thunk,
			map[string]string{"stack+0 4": "esp:48", "stack+4 8": "esp:52", "ebx 4": "esp:36", "eax 4": ""}},
		// push %ebx; call next; pop %ebx; sub $8,%esp; mov %ecx,%esi
		{"clang PIC", callTo(enter, "53e8000000005b83ec0889ce"), "", map[string]string{"stack+0 4": "esp:16", "ecx 4": "esi"}},
		// lea 4(%esp),%ecx; and $-16,%esp; push -4(%ecx); push %ebp; mov %esp,%ebp
		{"an aligned frame", callTo(enter, "8d4c240483e4f0ff71fc5589e5"), "", map[string]string{"stack+0 4": "", "esi 4": "esi"}},
		{"mov %eax,4(%esp)", callTo(enter, "89442404"), "", map[string]string{"stack+0 4": "", "stack+4 4": "esp:8"}},
	} {
		c := of(test.code + test.behind)
		h := c.Enter(0, uint64(len(test.code)/2))
		if h == nil {
			t.Errorf("%s: it is not followed", test.name)
			continue
		}
		checkPlaces(t, test.name, h, test.places)
	}
	for _, test := range []struct {
		name, code string
		places     map[string]string
	}{
		// mov %ebx,%eax; mov %esi,%edx; lea -8(%ebp),%esp; pop %ebx; pop %ebp; ret
		{"in registers", callTo(leave, "") + "89d889f28d65f85b5dc3", map[string]string{"eax 4": "ebx", "eax+edx 8": "ebx+esi", "st0 8": ""}},
		// fldl -0x10(%ebp); leave; ret
		{"a double", callTo(leave, "") + "dd45f0c9c3", map[string]string{"st0 8": "ebp:-16", "st0 4": ""}},
		// mov %ebx,%eax; pop %ecx; lea -4(%ecx),%esp; ret
		{"an aligned frame", callTo(leave, "") + "89d8598d61fcc3", map[string]string{"eax 4": "ebx"}},
	} {
		list := of(test.code).Leaves(0, uint64(len(test.code)/2))
		if len(list) != 1 {
			t.Errorf("%s: %+v", test.name, list)
			continue
		}
		checkPlaces(t, test.name, &list[0], test.places)
	}
}

// FuzzFollow follows code that is anything. It ends, and says no place that is none.
func FuzzFollow(f *testing.F) {
	for _, test := range entering {
		b, _ := hex.DecodeString(test.code)
		f.Add(b)
	}
	for _, test := range leaving {
		b, _ := hex.DecodeString(test.code)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := codeOf(hex.EncodeToString(b))
		c.calls = []*convention{&sysV, &win64, &sysV32}[len(b)%3]
		list := c.Leaves(0, uint64(len(b)))
		if h := c.Enter(0, uint64(len(b))); h != nil {
			list = append(list, *h)
		}
		for i := range list {
			for _, place := range []string{"rdi", "rsi+rdx", "xmm7", "stack+16", "rax", "rax+rdx", "eax+edx", "st0", "xmm0+xmm0h"} {
				got := list[i].Place(place, 16, all)
				for _, part := range strings.Split(got, "+") {
					register, _, _ := strings.Cut(part, ":")
					register = strings.TrimSuffix(register, upperHalf)
					if _, ok := numberOf(register); got != "" && !ok && part[0] != '=' {
						t.Errorf("%s is at %q", place, got)
					}
				}
			}
		}
	})
}
