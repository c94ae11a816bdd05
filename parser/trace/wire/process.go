package wire

import (
	"fmt"
	"reflect"

	"logparser/message"
)

// A ProcessType is the type of a process record.
type ProcessType uint16

// Types of process records.
const (
	ProcessRecord   ProcessType = 1
	ClockRecord     ProcessType = 2
	LoadRecord      ProcessType = 3
	UnloadRecord    ProcessType = 4
	ThreadRecord    ProcessType = 5
	ThreadEndRecord ProcessType = 6
	ForkRecord      ProcessType = 7
	ExecRecord      ProcessType = 8
	SwitchRecord    ProcessType = 9
	OverheadRecord  ProcessType = 10
	LostRecord      ProcessType = 11
	ImageRecord     ProcessType = 12
	SettingRecord   ProcessType = 13
	CrashRecord     ProcessType = 14
	EndRecord       ProcessType = 15
	ExitRecord      ProcessType = 16 // written by whoever waited for the process
)

// ProcessHead is the length in bytes of the head of a process record, before its body.
const ProcessHead = 16

// A VA is an address in the recorded process.
type VA uint64

// A Count is the number of strings in the last field of a record.
type Count uint32

// The bodies of process records. The fields have the order of the declaration in the file. A number takes its width. A string
// or bytes are a length of 32 bits and the content. The strings of the last field follow each other. Fields named _ are
// reserved. The tag is the field's name in the text form.
type (
	// A Process describes the process and the recorder.
	Process struct {
		PID    uint32 `text:"pid"`
		Parent uint32 `text:"parent"`
		_      Count
		// Path is the path of the executable. System describes the operating system.
		// Recorder is the version of the recorder.
		Path      string `text:"path"`
		System    string `text:"system"`
		Recorder  string `text:"recorder"`
		Arguments []string
	}

	// A Clock gives the time of other clocks at the time of the record.
	Clock struct {
		NS          uint64 `text:"ns"`          // of the monotonic clock
		Wall        int64  `text:"wall"`        // ns since 1970, UTC
		Ahead       int32  `text:"ahead"`       // seconds that local time is ahead of UTC
		Uncertainty uint32 `text:"uncertainty"` // ns
	}

	// A Load says that a module was loaded.
	Load struct {
		Module    uint32 `text:"module"` // a number that is never used again
		Flags     uint32 `text:"flags"`
		Base      VA     `text:"base"`
		Size      VA     `text:"size"`      // bytes
		Bias      VA     `text:"bias"`      // memory addresses minus those in the file
		Timestamp uint32 `text:"timestamp"` // of a PE image
		ImageSize uint32 `text:"image"`     // of a PE image, bytes
		FileSize  uint64 `text:"filesize"`  // bytes
		Changed   uint64 `text:"changed"`   // ns since 1970
		Path      string `text:"path"`
		Identity  string `text:"identity"`
		PDB       string `text:"pdb"`
	}

	// An Unload says that a module was unloaded.
	Unload struct {
		Module uint32 `text:"module"`
		_      uint32
	}

	// A Thread says that a thread has begun, or got another name.
	Thread struct {
		Stream uint32 `text:"stream"`
		_      uint32
		ID     uint64 `text:"id"` // the system's
		Name   string `text:"name"`
	}

	// A ThreadEnd says that the thread of a stream ended.
	ThreadEnd struct {
		Stream uint32 `text:"stream"`
		_      uint32
	}

	// A Fork says that the process forked.
	Fork struct {
		Child uint32 `text:"child"` // pid
		_     uint32
	}

	// An Exec says that the process is about to become another program.
	Exec struct {
		Path string `text:"path"`
	}

	// A Switching says that recording was switched on or off, and why.
	Switching struct {
		On  uint32 `text:"on"`
		_   uint32
		Why string `text:"why"`
	}

	// An Overhead is the recorder's own cost for each event, in picoseconds.
	Overhead struct {
		Way         uint32 `text:"way"`
		EnterBefore uint32 `text:"enterbefore"`
		EnterAfter  uint32 `text:"enterafter"`
		LeaveBefore uint32 `text:"leavebefore"`
		LeaveAfter  uint32 `text:"leaveafter"`
	}

	// A LostEvents says that events of a stream were lost.
	LostEvents struct {
		Stream uint32 `text:"stream"`
		Level  uint32 `text:"level"`
		Events uint64 `text:"events"`
		Why    string `text:"why"`
	}

	// An Image is the memory of a module that has no file.
	Image struct {
		Module  uint32 `text:"module"`
		_       uint32
		Address VA     `text:"address"`
		Bytes   []byte `text:"bytes"`
	}

	// A Setting is a setting of the recorder.
	Setting struct {
		Name  string `text:"name"`
		Value string `text:"value"`
	}

	// A Crash says that the program crashed. docs/formats.md explains its numbers.
	Crash struct {
		Stream    uint32 `text:"stream"` // 0 if the thread had none
		Kind      uint32 `text:"kind"`
		Thread    uint64 `text:"thread"` // the system's
		Code      uint32 `text:"code"`
		Detail    int32  `text:"detail"`
		Address   VA     `text:"address"`
		Flags     uint32 `text:"flags"`
		Error     uint32 `text:"error"`
		Sender    uint32 `text:"sender"`
		Access    uint32 `text:"access"`
		Registers []byte `text:"registers"`
		Name      string `text:"name"`
		Message   string `text:"message"`
		CodeAt    VA     `text:"codeat"`
		CodeBytes []byte `text:"codebytes"`
		Maps      string `text:"maps"`
		StackAt   VA     `text:"stackat"`
		Stack     []byte `text:"stack"`
		TopAt     VA     `text:"topat"`
		Top       []byte `text:"top"`
		Memory    []byte `text:"memory"` // see [ParseMemory]
	}

	// An End says that the recording ended as intended.
	End struct{}

	// An Exit says how the process ended. The process that waited for it has written the record.
	Exit struct {
		How   uint32 `text:"how"`   // ExitStatus or ExitSignal
		Value uint32 `text:"value"` // the status, or the number of the signal
		Flags uint32 `text:"flags"`
		_     uint32
	}
)

// Values of [Exit.How], and a flag of [Exit.Flags].
const (
	ExitStatus = 1 // the process ended by itself
	ExitSignal = 2 // a signal ended it

	ExitCore = 1 // the system wrote a core file
)

// Kinds of crashes.
const (
	CrashSignal    = 1
	CrashException = 2
	CrashAbort     = 3
	CrashTerminate = 4
	CrashPureCall  = 5
	CrashParameter = 6
)

// Values of [Crash.Flags], which can be combined.
const (
	CrashAddressKnown = 1  // Address is the address that the instruction accessed
	CrashInRecorder   = 2  // the recorder's own code was interrupted
	CrashHandled      = 4  // a handler of the program itself was called next
	CrashNoMemory     = 8  // Stack, Top and Memory were left out
	CrashReturnIP     = 16 // the instruction pointer is behind the instruction that crashed
)

// Values of [Crash.Access].
const (
	CrashRead    = 1
	CrashWrite   = 2
	CrashExecute = 3
)

// A MemoryPiece is memory around the address in a register.
type MemoryPiece struct {
	Address  uint64
	Register uint32 // index of the register
	Bytes    []byte
}

// ParseMemory reads the pieces of a crash's memory. They share the bytes of b. An incomplete piece at its end is left out.
func ParseMemory(b []byte) []MemoryPiece {
	const head = 16
	var list []MemoryPiece
	for len(b) >= head {
		p := MemoryPiece{Address: le.Uint64(b), Register: le.Uint32(b[12:])}
		n := le.Uint32(b[8:])
		if uint64(n) > uint64(len(b)-head) || n == 0 {
			break
		}
		p.Bytes = b[head : head+n : head+n]
		list = append(list, p)
		b = b[head+n:]
	}
	return list
}

// A ProcessKind is a kind of process record.
type ProcessKind struct {
	Type ProcessType
	Name string // in the text form
	body reflect.Type
}

// New returns a pointer to an empty body.
func (k *ProcessKind) New() any { return reflect.New(k.body).Interface() }

// ProcessKinds are the process records of this version.
var ProcessKinds = []ProcessKind{
	{ProcessRecord, "process", reflect.TypeFor[Process]()},
	{ClockRecord, "clock", reflect.TypeFor[Clock]()},
	{LoadRecord, "load", reflect.TypeFor[Load]()},
	{UnloadRecord, "unload", reflect.TypeFor[Unload]()},
	{ThreadRecord, "thread", reflect.TypeFor[Thread]()},
	{ThreadEndRecord, "threadend", reflect.TypeFor[ThreadEnd]()},
	{ForkRecord, "fork", reflect.TypeFor[Fork]()},
	{ExecRecord, "exec", reflect.TypeFor[Exec]()},
	{SwitchRecord, "switch", reflect.TypeFor[Switching]()},
	{OverheadRecord, "overhead", reflect.TypeFor[Overhead]()},
	{LostRecord, "lostevents", reflect.TypeFor[LostEvents]()},
	{ImageRecord, "image", reflect.TypeFor[Image]()},
	{SettingRecord, "setting", reflect.TypeFor[Setting]()},
	{CrashRecord, "crash", reflect.TypeFor[Crash]()},
	{EndRecord, "end", reflect.TypeFor[End]()},
	{ExitRecord, "exit", reflect.TypeFor[Exit]()},
}

// A ProcessInfo is the head of a process record.
type ProcessInfo struct {
	Length uint32 // bytes, with the head
	Type   ProcessType
	Time   uint64 // units
}

// ParseProcess reads the first [ProcessHead] bytes of a process record.
func ParseProcess(b []byte) ProcessInfo {
	return ProcessInfo{le.Uint32(b), ProcessType(le.Uint16(b[4:])), le.Uint64(b[8:])}
}

// AppendProcess appends a process record; the body is padded to a multiple of
// 8 bytes.
func AppendProcess(b []byte, t ProcessType, time uint64, body []byte) []byte {
	padding := -len(body) & 7
	b = le.AppendUint32(b, uint32(ProcessHead+len(body)+padding))
	b = le.AppendUint32(b, uint32(t))
	b = append(le.AppendUint64(b, time), body...)
	return append(b, make([]byte, padding)...)
}

// ErrShort says that a body ends before its last field does.
var ErrShort = message.New("it ends too early")

// ParseBody reads the body of a process record into the struct of this package that v points to. Byte slices in the struct
// share the bytes of b. It ignores bytes after the last field. If the body ends too early, missing and incomplete fields are
// zero, and the error is [ErrShort].
func ParseBody(b []byte, v any) error {
	r := bodyReader{b: b}
	s := reflect.ValueOf(v).Elem()
	t := s.Type()
	count := Count(0)
	for i := range t.NumField() {
		reserved := t.Field(i).Name == "_"
		switch f := s.Field(i); {
		case f.Type() == reflect.TypeFor[Count]():
			count = Count(r.number(4))
		case reserved:
			r.number(f.Type().Size())
		case f.Type() == reflect.TypeFor[[]string]():
			var list []string
			for ; count > 0 && !r.short && len(r.b) > 0; count-- {
				list = append(list, string(r.bytes()))
			}
			f.Set(reflect.ValueOf(list))
		case f.Kind() == reflect.String:
			f.SetString(string(r.bytes()))
		case f.Kind() == reflect.Slice:
			f.SetBytes(r.bytes())
		case f.CanInt():
			f.SetInt(int64(r.number(f.Type().Size())) << (64 - f.Type().Bits()) >> (64 - f.Type().Bits()))
		default:
			f.SetUint(r.number(f.Type().Size()))
		}
	}
	if r.short {
		return ErrShort
	}
	return nil
}

// A bodyReader reads fields. If the bytes end within a field, that field and all later ones are zero.
type bodyReader struct {
	b     []byte
	short bool
}

func (r *bodyReader) take(n uint64) []byte {
	if r.short || n > uint64(len(r.b)) {
		r.short, r.b = true, nil
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *bodyReader) number(size uintptr) uint64 {
	var v [8]byte
	copy(v[:], r.take(uint64(size)))
	return le.Uint64(v[:])
}

func (r *bodyReader) bytes() []byte { return r.take(r.number(4)) }

// AppendBody appends the body of a process record. v is a struct of this package or a pointer to one.
func AppendBody(b []byte, v any) []byte {
	s := reflect.Indirect(reflect.ValueOf(v))
	t := s.Type()
	number := func(v uint64, size uintptr) {
		for range size {
			b = append(b, byte(v))
			v >>= 8
		}
	}
	text := func(s string) {
		number(uint64(len(s)), 4)
		b = append(b, s...)
	}
	for i := range t.NumField() {
		switch f := s.Field(i); {
		case f.Type() == reflect.TypeFor[Count]():
			number(uint64(s.Field(t.NumField()-1).Len()), 4)
		case t.Field(i).Name == "_":
			number(0, f.Type().Size())
		case f.Type() == reflect.TypeFor[[]string]():
			for _, s := range f.Interface().([]string) {
				text(s)
			}
		case f.Kind() == reflect.String:
			text(f.String())
		case f.Kind() == reflect.Slice:
			text(string(f.Bytes()))
		case f.CanInt():
			number(uint64(f.Int()), f.Type().Size())
		case f.CanUint():
			number(f.Uint(), f.Type().Size())
		default:
			panic(fmt.Sprintf("%s has a field of type %s", t, f.Type()))
		}
	}
	return b
}
