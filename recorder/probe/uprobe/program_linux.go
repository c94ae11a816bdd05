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
	// counts has what lostEntry and openEntry say.
	counts *ebpf.Map
}

// Entries of the map of counts.
const (
	// lostEntry counts hits for which the ring buffer had no room.
	lostEntry = 0
	// openEntry is 1 while hits are recorded: probes are set and removed one after the other, which takes time.
	openEntry = 1
)

// program assembles the program for probes of a shape. With faults it may sleep: where it could not read memory of the recorded program
// it gives up the entry, fetches the pages, and fills another one.
func (m *maps) program(s *shape, faults bool) asm.Instructions {
	code := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetCurrentPidTgid.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.StoreImm(asm.RFP, -4, openEntry, asm.Word),
		asm.LoadMapPtr(asm.R1, m.counts.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "exit"),
	}
	if m.processes != nil {
		code = append(code,
			asm.Mov.Reg(asm.R0, asm.R7),
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
	code = append(code, m.entry(s, faults)...)
	if faults {
		code = append(code,
			asm.Mov.Reg(asm.R1, asm.R8).WithSymbol("again"),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRingbufDiscard.Call(),
		)
		for i := range s.slots {
			code = append(code, s.slots[i].fetch()...)
		}
		code = append(code, m.entry(s, false)...)
	}
	return append(code,
		// The ring buffer had no room: count the hit.
		asm.StoreImm(asm.RFP, -4, lostEntry, asm.Word).WithSymbol("lost"),
		asm.LoadMapPtr(asm.R1, m.counts.FD()),
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

// Places in the programs' stack, besides a key at -4.
const (
	failedAt  = -16 // not 0 if something could not be read
	fetchedAt = -24 // what fetching pages has read
)

// entry returns the instructions that reserve an entry, fill it, submit it and end the program. With again they go on at the label again
// where memory could not be read that may be there. Nothing may sleep in between: who reads the ring buffer waits at an entry that is reserved.
func (m *maps) entry(s *shape, again bool) asm.Instructions {
	code := asm.Instructions{
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
		asm.LoadMem(asm.R1, asm.R6, registers[stackPointer], asm.DWord),
		asm.StoreMem(asm.R8, headSP, asm.R1, asm.DWord),
	}
	if again {
		code = append(code, asm.StoreImm(asm.RFP, failedAt, 0, asm.Word))
	}
	for i := range s.slots {
		code = append(code, s.slots[i].code(again)...)
	}
	if again {
		code = append(code, asm.LoadMem(asm.R1, asm.RFP, failedAt, asm.Word), asm.JNE.Imm(asm.R1, 0, "again"))
	}
	return append(code,
		asm.Mov.Reg(asm.R1, asm.R8),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
		asm.Ja.Label("exit"),
	)
}

// fetch returns the instructions that fetch the pages that a slot is read from. They may sleep.
func (s *slot) fetch() asm.Instructions {
	var code asm.Instructions
	// copied reads n bytes at an offset from the address in R9. What cannot be read is 0.
	copied := func(offset, n int) {
		code = append(code,
			asm.Mov.Reg(asm.R1, asm.RFP),
			asm.Add.Imm(asm.R1, fetchedAt),
			asm.Mov.Imm(asm.R2, int32(n)),
			asm.Mov.Reg(asm.R3, asm.R9),
			asm.Add.Imm(asm.R3, int32(offset)),
			asm.FnCopyFromUser.Call())
	}
	follow := func(offset int) {
		copied(offset, 8)
		code = append(code, asm.LoadMem(asm.R9, asm.RFP, fetchedAt, asm.DWord))
	}
	if s.kind == registerSlot {
		return nil
	}
	if s.onStack {
		code = append(code, asm.LoadMem(asm.R9, asm.R6, registers[stackPointer], asm.DWord), asm.Add.Imm(asm.R9, int32(s.stack)))
		if s.kind != stackSlot && !s.itself {
			follow(0)
		}
	} else {
		code = append(code, asm.LoadMem(asm.R9, asm.R6, registers[s.register], asm.DWord))
	}
	switch {
	case s.inside && s.kind == textSlot:
		follow(s.offset)
	case s.inside:
		code = append(code, asm.Add.Imm(asm.R9, int32(s.offset)))
	}
	switch s.kind {
	case memorySlot:
		code = append(code, asm.Add.Imm(asm.R9, int32(s.offset)))
	case stringSlot:
		copied(8, 8)
		follow(0)
	case viewSlot:
		copied(0, 8)
		follow(8)
	}
	copied(0, 1)
	copied(max(s.size, 1)-1, 1)
	return code
}

// code returns the instructions that fill a slot. R6 points to the registers, R8 to the entry.
func (s *slot) code(faults bool) asm.Instructions {
	at := int16(s.at)
	if s.kind == registerSlot {
		return asm.Instructions{
			asm.LoadMem(asm.R1, asm.R6, registers[s.register], asm.DWord),
			asm.StoreMem(asm.R8, at, asm.R1, asm.DWord),
		}
	}
	if s.kind == pairSlot {
		return s.pair(faults)
	}
	var code asm.Instructions
	// read reads n bytes at R3 into the entry at to, and stores the result of that call at result.
	read := func(to, n int32, result int16, how asm.BuiltinFunc) {
		size := asm.Instructions{asm.Mov.Imm(asm.R2, n)}
		code = append(code, reading(to, size, how, faults)...)
		code = append(code, asm.StoreMem(asm.R8, result, asm.R0, asm.DWord))
	}
	if s.onStack {
		code = append(code,
			asm.LoadMem(asm.R3, asm.R6, registers[stackPointer], asm.DWord),
			asm.Add.Imm(asm.R3, int32(s.stack)),
			asm.StoreMem(asm.R8, at+8, asm.R3, asm.DWord),
		)
		if s.kind != stackSlot && !s.itself {
			// The address of the pointer becomes the pointer.
			read(int32(at)+8, 8, at, asm.FnProbeReadUser)
		}
	} else {
		code = append(code,
			asm.LoadMem(asm.R3, asm.R6, registers[s.register], asm.DWord),
			asm.StoreMem(asm.R8, at+8, asm.R3, asm.DWord),
		)
	}
	if s.inside {
		code = append(code, s.within(faults)...)
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
	case stringSlot, viewSlot:
		code = append(code, s.counted(faults)...)
	}
	return code
}

// reading returns the instructions that read memory of the program at R3 into the entry at to. size puts into R2 how many bytes that
// are, at most n; R0 is what the function how returns. Pages that the program has not touched yet cannot be read: with faults this is noted.
func reading(to int32, size asm.Instructions, how asm.BuiltinFunc, faults bool) asm.Instructions {
	code := asm.Instructions{asm.Mov.Reg(asm.R9, asm.R3), asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, to)}
	code = append(append(code, size...), asm.Mov.Reg(asm.R3, asm.R9), how.Call())
	if !faults {
		return code
	}
	// Each passes over the rest if there was no error, and at null pointers, which lead to no page.
	return append(code,
		asm.Instruction{OpCode: asm.JSGE.Op(asm.ImmSource), Dst: asm.R0, Offset: 2, Constant: 0},
		asm.Instruction{OpCode: asm.JLT.Op(asm.ImmSource), Dst: asm.R9, Offset: 1, Constant: 4096},
		asm.StoreImm(asm.RFP, failedAt, 1, asm.Word))
}

// within returns the instructions that go on, in the second word of a slot, from the pointer to memory to what that has at the offset: an object, or a
// pointer to a text. A pointer that cannot be read becomes one that leads nowhere, and is not null.
func (s *slot) within(faults bool) asm.Instructions {
	at := int16(s.at)
	load := asm.LoadMem(asm.R3, asm.R8, at+8, asm.DWord)
	if s.kind != textSlot {
		return asm.Instructions{
			load,
			asm.Instruction{OpCode: asm.JEq.Op(asm.ImmSource), Dst: asm.R3, Offset: 2, Constant: 0},
			asm.Add.Imm(asm.R3, int32(s.offset)),
			asm.StoreMem(asm.R8, at+8, asm.R3, asm.DWord),
		}
	}
	code := asm.Instructions{load, asm.Add.Imm(asm.R3, int32(s.offset))}
	code = append(code, reading(int32(at)+8, asm.Instructions{asm.Mov.Imm(asm.R2, 8)}, asm.FnProbeReadUser, faults)...)
	return append(code,
		asm.Instruction{OpCode: asm.JEq.Op(asm.ImmSource), Dst: asm.R0, Offset: 2, Constant: 0},
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreMem(asm.R8, at+8, asm.R1, asm.DWord),
	)
}

// pair returns the instructions that fill a slot with the characters that a register points to and another one counts.
func (s *slot) pair(faults bool) asm.Instructions {
	at := int16(s.at)
	return append(asm.Instructions{
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R8, at, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreMem(asm.R8, at+countedObject, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R6, registers[s.register], asm.DWord),
		asm.StoreMem(asm.R8, at+countedPointer, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R6, registers[s.count], asm.DWord),
		asm.StoreMem(asm.R8, at+countedLength, asm.R1, asm.DWord),
	}, s.characters(faults)...)
}

// counted returns the instructions that fill a slot with the characters of an object, whose address is in the slot's second word.
func (s *slot) counted(faults bool) asm.Instructions {
	at := int16(s.at)
	pointer, length := int32(0), int32(8) // in the object
	if s.kind == viewSlot {
		pointer, length = 8, 0
	}
	word := asm.Instructions{asm.Mov.Imm(asm.R2, 8)}
	code := asm.Instructions{
		asm.LoadMem(asm.R3, asm.R8, at+8, asm.DWord),
		asm.StoreMem(asm.R8, at+countedObject, asm.R3, asm.DWord),
		asm.Add.Imm(asm.R3, length),
	}
	code = append(code, reading(int32(at)+countedLength, word, asm.FnProbeReadUser, faults)...)
	code = append(code,
		asm.StoreMem(asm.R8, at, asm.R0, asm.DWord),
		asm.LoadMem(asm.R3, asm.R8, at+countedObject, asm.DWord),
		asm.Add.Imm(asm.R3, pointer),
	)
	code = append(code, reading(int32(at)+countedPointer, word, asm.FnProbeReadUser, faults)...)
	code = append(code,
		// Either may be on a page that cannot be read.
		asm.LoadMem(asm.R1, asm.R8, at, asm.DWord),
		asm.Or.Reg(asm.R0, asm.R1),
		asm.StoreMem(asm.R8, at, asm.R0, asm.DWord),
	)
	return append(code, s.characters(faults)...)
}

// characters returns the instructions that read the characters of a slot, of which pointer and number are there.
func (s *slot) characters(faults bool) asm.Instructions {
	at := int16(s.at)
	size := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R8, at+countedLength, asm.DWord),
		// Not more than there is room for: passes over the next instruction.
		asm.Instruction{OpCode: asm.JLE.Op(asm.ImmSource), Dst: asm.R2, Offset: 1, Constant: int64(s.size)},
		asm.Mov.Imm(asm.R2, int32(s.size)),
	}
	code := append(asm.Instructions{asm.LoadMem(asm.R3, asm.R8, at+countedPointer, asm.DWord)},
		reading(int32(at)+countedText, size, asm.FnProbeReadUser, faults)...)
	return append(code, asm.StoreMem(asm.R8, at+countedResult, asm.R0, asm.DWord))
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
