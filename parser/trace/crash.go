package trace

import (
	"bytes"
	"encoding/binary"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// A crash is a CRASH record and its time in units.
type crash struct {
	wire.Crash
	time uint64
}

var errLongCrash = message.New("the report of a crash is longer than any recorder writes")

// crash adds the body of a CRASH record.
func (p *process) crash(time uint64, body []byte) error {
	if len(body) > maxCrash {
		return errLongCrash
	}
	if len(p.crashes) == maxCrashes {
		p.note("more than %d crashes were recorded; the rest is left out", maxCrashes)
		return nil
	}
	c := crash{time: time}
	// The caller reuses the buffer of body, so the crash needs a copy.
	err := wire.ParseBody(bytes.Clone(body), &c.Crash)
	if err == nil || len(c.Registers) > 0 {
		// Views share the list, so it is copied when it grows.
		p.crashes = append(p.crashes[:len(p.crashes):len(p.crashes)], c)
	}
	return err
}

// Crashes implements [parser.CrashTeller].
func (l *Log) Crashes(int) []parser.Crash {
	v := l.view.Load()
	list := make([]parser.Crash, 0, len(v.crashes))
	for i := range v.crashes {
		list = append(list, v.crash(&v.crashes[i]))
	}
	return list
}

// crashRegisters has, for each machine, the number of registers in a record, the indexes of the instruction pointer and the
// stack pointer, and the size of a register in bytes.
var crashRegisters = map[parser.Machine]struct{ count, ip, sp, size int }{
	parser.X86_64: {18, 16, 7, 8},
	parser.X86:    {10, 8, 4, 4},
	parser.ARM64:  {34, 32, 31, 8},
}

// crash converts a record to the form that all log formats share.
func (v *view) crash(r *crash) parser.Crash {
	c := parser.Crash{Time: v.clock.at(r.time), Thread: uint32(r.Thread), Name: r.Name, Kind: parser.CrashKind(r.Kind), Code: r.Code, Detail: r.Detail,
		Address: uint64(r.Address), AddressKnown: r.Flags&wire.CrashAddressKnown != 0, Access: parser.Access(r.Access),
		InRecorder: r.Flags&wire.CrashInRecorder != 0, Handled: r.Flags&wire.CrashHandled != 0, ReturnIP: r.Flags&wire.CrashReturnIP != 0,
		Error: r.Error, Sender: r.Sender, Windows: v.header.System == wire.SystemWindows, Machine: parser.Machine(v.header.Machine),
		Maps: r.Maps, Message: r.Message, Instructions: parser.Memory{Address: uint64(r.CodeAt), Bytes: r.CodeBytes}}
	c.PointerSize = int(v.header.PointerSize)
	c.Stack = []parser.Memory{{Address: uint64(r.StackAt), Bytes: r.Stack}, {Address: uint64(r.TopAt), Bytes: r.Top}}
	for _, p := range wire.ParseMemory(r.Memory) {
		c.Memory = append(c.Memory, parser.Memory{Address: p.Address, Bytes: p.Bytes})
	}
	if of, ok := crashRegisters[c.Machine]; ok && len(r.Registers) >= of.count*of.size {
		for i := range of.count {
			if of.size == 4 {
				c.Registers = append(c.Registers, uint64(binary.LittleEndian.Uint32(r.Registers[4*i:])))
			} else {
				c.Registers = append(c.Registers, binary.LittleEndian.Uint64(r.Registers[8*i:]))
			}
		}
		c.IP, c.SP = c.Registers[of.ip], c.Registers[of.sp]
	}
	c.Space = v.spaceAt(r.time)
	return c
}

// spaceAt returns the space of entry addresses at a time in units.
func (v *view) spaceAt(units uint64) uint16 {
	epoch := 0
	for epoch < len(v.epochs.times) && v.epochs.times[epoch] <= units {
		epoch++
	}
	return uint16(2 * epoch)
}

// diedOfCrash reports whether the process died of the crash that it recorded, because no handler of its own was called next.
// time is the time of the record, in units.
func (p *process) diedOfCrash() (time uint64, ok bool) {
	if len(p.crashes) == 0 || p.hasEnded && !p.killed {
		return 0, false
	}
	c := &p.crashes[len(p.crashes)-1]
	return c.time, c.Flags&wire.CrashHandled == 0
}
