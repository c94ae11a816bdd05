//go:build amd64 || arm64

package uprobe

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Values of the map of processes.
const (
	// wanted: the process is recorded.
	wanted = 1
	// parent: only those that it starts are.
	parent = 2
)

// maps are the eBPF maps that the programs share.
type maps struct {
	// processes has the processes that are recorded. It is nil where all are.
	processes *ebpf.Map
	ring      *ebpf.Map
	// lost counts hits for which the ring buffer had no room.
	lost *ebpf.Map
}

// program assembles the program for probes of a shape.
func (m *maps) program(s *shape) asm.Instructions {
	code := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetCurrentPidTgid.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
	}
	if m.processes != nil {
		code = append(code,
			asm.RSh.Imm(asm.R0, 32),
			asm.StoreMem(asm.RFP, -4, asm.R0, asm.Word),
			asm.LoadMapPtr(asm.R1, m.processes.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "exit"),
			asm.LoadMem(asm.R1, asm.R0, 0, asm.Word),
			asm.JNE.Imm(asm.R1, wanted, "exit"),
		)
	}
	code = append(code,
		asm.LoadMapPtr(asm.R1, m.ring.FD()),
		asm.Mov.Imm(asm.R2, int32(s.size)),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "lost"),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.R8, headTime, asm.R0, asm.DWord),
		asm.StoreMem(asm.R8, headThread, asm.R7, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.FnGetAttachCookie.Call(),
		asm.StoreMem(asm.R8, headProbe, asm.R0, asm.DWord),
		asm.LoadMem(asm.R1, asm.R6, registers[instructionPointer], asm.DWord),
		asm.StoreMem(asm.R8, headIP, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R6, registers[goroutine], asm.DWord),
		asm.StoreMem(asm.R8, headStack, asm.R1, asm.DWord),
	)
	for i := range s.slots {
		code = append(code, s.slots[i].code()...)
	}
	return append(code,
		asm.Mov.Reg(asm.R1, asm.R8),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
		asm.Ja.Label("exit"),
		// The ring buffer had no room: count the hit.
		asm.StoreImm(asm.RFP, -4, 0, asm.Word).WithSymbol("lost"),
		asm.LoadMapPtr(asm.R1, m.lost.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return(),
	)
}

// code returns the instructions that fill a slot. R6 points to the registers, R8 to the entry.
func (s *slot) code() asm.Instructions {
	at := int16(s.at)
	if s.kind == registerSlot {
		return asm.Instructions{
			asm.LoadMem(asm.R1, asm.R6, registers[s.register], asm.DWord),
			asm.StoreMem(asm.R8, at, asm.R1, asm.DWord),
		}
	}
	var code asm.Instructions
	// read reads n bytes at R3 into the entry at to, and stores the result of that call at result.
	read := func(to, n int32, result int16, how asm.BuiltinFunc) {
		code = append(code,
			asm.Mov.Reg(asm.R1, asm.R8),
			asm.Add.Imm(asm.R1, to),
			asm.Mov.Imm(asm.R2, n),
			how.Call(),
			asm.StoreMem(asm.R8, result, asm.R0, asm.DWord),
		)
	}
	if s.onStack {
		code = append(code,
			asm.LoadMem(asm.R3, asm.R6, registers[stackPointer], asm.DWord),
			asm.Add.Imm(asm.R3, int32(s.stack)),
			asm.StoreMem(asm.R8, at+8, asm.R3, asm.DWord),
		)
		if s.kind != stackSlot {
			// The address of the pointer becomes the pointer.
			read(int32(at)+8, 8, at, asm.FnProbeReadUser)
		}
	} else {
		code = append(code,
			asm.LoadMem(asm.R3, asm.R6, registers[s.register], asm.DWord),
			asm.StoreMem(asm.R8, at+8, asm.R3, asm.DWord),
		)
	}
	pointer := func(at int16) {
		code = append(code, asm.LoadMem(asm.R3, asm.R8, at, asm.DWord))
	}
	switch s.kind {
	case stackSlot:
		pointer(at + 8)
		read(int32(at)+16, int32(s.size), at, asm.FnProbeReadUser)
	case memorySlot:
		pointer(at + 8)
		code = append(code, asm.Add.Imm(asm.R3, int32(s.offset)))
		read(int32(at)+16, int32(s.size), at, asm.FnProbeReadUser)
	case textSlot:
		pointer(at + 8)
		read(int32(at)+16, int32(s.size), at, asm.FnProbeReadUserStr)
	case stringSlot:
		// The first two words of a string are the address of its characters, and their number.
		code = append(code,
			asm.Mov.Imm(asm.R1, 0),
			asm.StoreMem(asm.R8, at+16, asm.R1, asm.DWord),
			asm.StoreMem(asm.R8, at+24, asm.R1, asm.DWord),
		)
		pointer(at + 8)
		read(int32(at)+24, 8, at, asm.FnProbeReadUser) // the address of the characters
		pointer(at + 24)
		read(int32(at)+32, int32(s.size), at, asm.FnProbeReadUserStr)
		pointer(at + 8)
		code = append(code, asm.Add.Imm(asm.R3, 8))
		code = append(code,
			asm.Mov.Reg(asm.R1, asm.R8),
			asm.Add.Imm(asm.R1, int32(at)+16),
			asm.Mov.Imm(asm.R2, 8),
			asm.FnProbeReadUser.Call(),
		)
		// If the string object cannot be read either, the result at+0 has the error.
	}
	return code
}

// fork assembles the program that runs at each fork. It adds children of recorded processes to the map of
// processes, and removes a new process whose id an ended process had. tgid is the offset of the process
// id in a task.
func (m *maps) fork(tgid int32) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetCurrentPidTgid.Call(),
		asm.RSh.Imm(asm.R0, 32),
		asm.StoreMem(asm.RFP, -4, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, m.processes.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.StoreImm(asm.RFP, -8, 0, asm.Word),
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, -8),
		asm.Mov.Imm(asm.R2, 4),
		asm.LoadMem(asm.R3, asm.R6, 8, asm.DWord), // the child's task
		asm.Add.Imm(asm.R3, tgid),
		asm.FnProbeReadKernel.Call(),
		asm.JEq.Imm(asm.R7, 0, "stranger"),
		asm.StoreImm(asm.RFP, -12, wanted, asm.Word),
		asm.LoadMapPtr(asm.R1, m.processes.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -8),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -12),
		asm.Mov.Imm(asm.R4, int32(ebpf.UpdateNoExist)),
		asm.FnMapUpdateElem.Call(),
		asm.Ja.Label("exit"),
		asm.LoadMapPtr(asm.R1, m.processes.FD()).WithSymbol("stranger"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -8),
		asm.FnMapDeleteElem.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return(),
	}
}
