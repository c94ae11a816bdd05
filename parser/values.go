package parser

// A ValueTeller is a log that may have arguments and results of calls.
type ValueTeller interface {
	// ValuesTaken says how values were taken, nil where none were. It is not changed: where a
	// log that grows knows more, it returns another one.
	ValuesTaken() *ValuesTaken
	// Values fills dst with what was taken at the records from number from on and returns how
	// many; fewer than len(dst) only with an error, io.EOF at the end. The bytes are the
	// caller's, but shared: do not change them.
	Values(dst []CallValues, from int64) (int, error)
}

// A TakenReader is a [ValueTeller] that reads what hooks took of many records sooner than
// Values does, where that is all that is wanted.
type TakenReader interface {
	// EachTaken calls f for those of n records from number from on at which hooks took values, in
	// order; i counts from the first. The bytes are valid until f returns. If reading has to begin again, f is
	// called for some records twice. Of the form ValuesOfJump, Values says more; it may say NoValues.
	EachTaken(from int64, n int, f func(i int, form ValueForm, taken []byte)) error
	// TakenCalls is EachTaken for records that enter calls and leave the innermost one, all of one stack: it says
	// besides which records are of one call, and of which function. It is not ok where the log cannot be read so, or if the
	// records are others; f may have been called for some then.
	TakenCalls(from int64, n int, pairs *CallPairs, f func(t *TakenAt)) (ok bool)
}

// A CallPairs says of some records which of them enter and leave the same call. It may be used again and again.
type CallPairs struct {
	// Partner has for each record the place among them of the other one of its call: its own where the call is left
	// behind the records, or never, and -1 where it was entered before them.
	Partner []int16
	// Before are the records that leave calls that were entered before, in order: the innermost call comes first.
	Before []int16
}

// A TakenAt is what hooks took at a record.
type TakenAt struct {
	// Record counts from the first of the records.
	Record int
	// Address and Space are those of the call, unless its enter lies before the records.
	Address uint64
	Space   uint16
	Form    ValueForm
	// Bytes may be used until f returns.
	Bytes []byte
}

// ValuesTaken says how a log's values were taken.
type ValuesTaken struct {
	// Plan is the text of the plan, nil where values were not taken by one or where it is not
	// in the log as a whole. PlanHash is its FNV-1a hash of 64 bits, as the log says it.
	Plan     []byte
	PlanHash uint64
	// Registers says that registers were taken as they were.
	Registers bool
	// Places are those where the program itself gives values, by their numbers.
	Places map[uint32]*ValuePlace
	// Mismatched are modules of the plan of which another build was loaded, by path; of
	// these nothing was taken.
	Mismatched []string
	// Events are, by the number that ValuesAsText begin with, what its values are. Where it has
	// none they are called what the text calls them.
	Events [][]ValueName
}

// A ValueName is what a text calls a value, and what the program calls it.
type ValueName struct{ Printed, Name, Type string }

// A ValuePlace is a place in the source where the program gives values to its recorder.
type ValuePlace struct {
	// Function, Source and Line are as the compiler names them; Names is the text of the
	// values' expressions with commas between.
	Function, Source string
	Line             int
	Names            string
	// Codes say what the values are, Types are the names of their types, "" where the compiler
	// does not tell.
	Codes []uint8
	Types []string
}

// A ValueForm says what the bytes of values are.
type ValueForm uint8

const (
	// NoValues: none were taken.
	NoValues ValueForm = iota
	// ValuesByPlan are what the plan names for the function, back to back.
	ValuesByPlan
	// ValuesOfRegisters are registers, behind their numbers.
	ValuesOfRegisters
	// ValuesAsText are a number for ValuesTaken.Events, four bytes, little-endian, and behind it
	// what was printed: NAME=VALUE with blanks between.
	ValuesAsText
	// ValuesOfJump are none: the call ended with a jump to another function, whose result is that of both. CallValues.Next says
	// where that call begins.
	ValuesOfJump
)

// CallValues is what was taken at a record: arguments where it enters a call, the result
// where it leaves one.
type CallValues struct {
	// By is the log's, nil where nothing was taken.
	By *ValuesTaken
	// Taken is what hooks took, in a form.
	Form  ValueForm
	Taken []byte
	// Next is, of the form ValuesOfJump, the record that enters the call whose result is that of this one. It comes after the
	// record that this was taken at.
	Next int64
	// Given are what the program gave itself, in the order in which it did.
	Given []PlaceValues
}

// PlaceValues are values that the program gave at a place.
type PlaceValues struct {
	Place uint32
	Bytes []byte
}
