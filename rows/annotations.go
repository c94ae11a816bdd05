package rows

import (
	"math"
	"strconv"
	"time"
)

// An AnnotationKind says what an [Annotation] is.
type AnnotationKind uint8

const (
	// TextAnnotation is a text.
	TextAnnotation AnnotationKind = iota
	// IntCounter, UintCounter and FloatCounter are a counter's value: an int64,
	// a uint64 or a float64.
	IntCounter
	UintCounter
	FloatCounter
)

// String returns the kind as saved files have it: mark or counter.
func (k AnnotationKind) String() string {
	if k == TextAnnotation {
		return "mark"
	}
	return "counter"
}

// An Annotation is what the program itself wrote into its log, beside its calls: a
// text, or the value that a counter has from then on.
type Annotation struct {
	// Wall, HasWall and Elapsed are when, as in a [Row].
	Wall    time.Time
	HasWall bool
	Elapsed int64
	// Run is the run that it is of, counted from 0 over the chosen ones.
	Run    int
	Thread uint32
	// Process is nil where there is only one.
	Process *Process
	// ThreadName is "" where the log gives none.
	ThreadName string
	Kind       AnnotationKind
	// Bits is a counter's value, that of a FloatCounter as [math.Float64bits]
	// has it.
	Bits uint64
	// Text is the text, or the counter's name.
	Text string
}

// Track returns the track of the thread that wrote it.
func (m *Annotation) Track() Track { return TrackOf(m.Process, m.Thread, 0) }

// AppendTime appends the time as [AppendTime] does a row's.
func (m *Annotation) AppendTime(dst []byte, digits int) []byte {
	return AppendTime(dst, &Row{Wall: m.Wall, HasWall: m.HasWall, Elapsed: m.Elapsed}, digits)
}

// AppendValue appends a counter's value in decimal, nothing for a text. A
// float64 has as many digits as tell it from others, or is NaN, +Inf or -Inf.
func (m *Annotation) AppendValue(dst []byte) []byte {
	switch m.Kind {
	case IntCounter:
		return strconv.AppendInt(dst, int64(m.Bits), 10)
	case UintCounter:
		return strconv.AppendUint(dst, m.Bits, 10)
	case FloatCounter:
		return strconv.AppendFloat(dst, m.Float(), 'g', -1, 64)
	}
	return dst
}

// Float returns a counter's value as the nearest float64.
func (m *Annotation) Float() float64 {
	switch m.Kind {
	case IntCounter:
		return float64(int64(m.Bits))
	case UintCounter:
		return float64(m.Bits)
	}
	return math.Float64frombits(m.Bits)
}
