package app

import (
	"cmp"
	"io"
	"sync"

	"logparser/parser"
)

// A call that ended with a jump to another function has the result of that function's call, which may have ended so as well.

const (
	// maxJumps bounds how many calls are followed from one to the next.
	maxJumps = 1024
	// maxJumpEnds bounds the calls of which it is kept where following them leads.
	maxJumpEnds = 1 << 16
)

// A jumpEnd says of a call that ended with a jump where following the jumps leads, and how many they are.
type jumpEnd struct {
	// leave is the row where the last of the calls ends.
	leave int64
	jumps int
}

// jumpEnds keeps where jumps lead, by the rows that the first call is entered at. It is safe for concurrent use.
type jumpEnds struct {
	mu   sync.Mutex
	ends map[int64]jumpEnd
}

func (j *jumpEnds) find(enter int64) (jumpEnd, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.ends[enter]
	return e, ok
}

// keep keeps where the calls that are entered at rows lead, the last of which ends at a row.
func (j *jumpEnds) keep(enters []int64, leave int64, jumps int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ends == nil || len(j.ends)+len(enters) > maxJumpEnds {
		j.ends = make(map[int64]jumpEnd, len(enters))
	}
	for i, enter := range enters {
		j.ends[enter] = jumpEnd{leave, jumps - i}
	}
}

// A rowReader reads what following jumps needs of rows. Most lie in the n rows from first on that a block has; it may be nil.
type rowReader struct {
	s     *Session
	b     *block
	first int64
	n     int
}

// readBlock reads rows of one run into a block.
func (r *rowReader) readBlock(b *block, first int64, n int) error {
	r.b, r.first, r.n = b, first, n
	record := r.s.recordOf(first)
	if got, err := r.s.log.ReadEvents(b.events[:n], record); got < n {
		return cmp.Or(err, io.ErrUnexpectedEOF)
	}
	r.s.table.Read(b.records[:n], first)
	if b.more.taken == nil {
		b.more.taken = make([]parser.CallValues, blockRows)
	}
	_, err := r.s.can.ValueTeller.Values(b.more.taken[:n], record)
	return err
}

// within returns the place of a row in the block.
func (r *rowReader) within(row int64) (k int, ok bool) {
	return int(row - r.first), r.b != nil && row >= r.first && row-r.first < int64(r.n)
}

// leave returns the row where the call that is entered at a row ends.
func (r *rowReader) leave(enter int64) (row int64, ok bool) {
	if enter >= r.s.table.Len() {
		return 0, false
	}
	if k, ok := r.within(enter); ok {
		row = r.b.records[k].Partner
	} else {
		row, _ = r.s.Partner(enter)
	}
	return row, row > enter // calls.NoPartner is not, nor is the partner of a leave
}

// taken returns what was taken at a row.
func (r *rowReader) taken(row int64) (parser.CallValues, error) {
	if k, ok := r.within(row); ok {
		return r.b.more.taken[k], nil
	}
	return r.s.takenAt(row)
}

func (r *rowReader) event(row int64) (parser.Event, error) {
	if k, ok := r.within(row); ok {
		return r.b.events[k], nil
	}
	var e [1]parser.Event
	_, err := r.s.log.ReadEvents(e[:], r.s.recordOf(row))
	return e[0], err
}

// followJumps returns what was taken of the result of a call that ended with a jump, in the form of the call's own function. v is
// what was taken at its end. Where the result is not known there is none.
func (s *Session) followJumps(r *rowReader, run int, of *callee, v *parser.CallValues) (parser.CallValues, error) {
	var enters []int64
	var leave int64
	jumps, last := 0, *v
	for last.Form == parser.ValuesOfJump && jumps <= maxJumps {
		enter := s.table.Row(run, last.Next)
		if known, ok := s.jumps.find(enter); ok {
			leave, jumps = known.leave, jumps+known.jumps
		} else {
			if leave, ok = r.leave(enter); !ok {
				return parser.CallValues{}, nil // it has not ended, or nobody saw how
			}
			jumps++
			enters = append(enters, enter)
		}
		var err error
		if last, err = r.taken(leave); err != nil {
			return parser.CallValues{}, err
		}
	}
	if len(enters) > 0 {
		s.jumps.keep(enters, leave, jumps)
	}
	if jumps > maxJumps || last.By == nil {
		return parser.CallValues{}, nil
	}
	if last.Form != parser.ValuesByPlan {
		last.Given = nil // the program gave them for the other function
		return last, nil
	}
	e, err := r.event(leave)
	if err != nil {
		return parser.CallValues{}, err
	}
	to := s.callee(run, &e, last.By)
	bytes := s.taken.decoder(last.By).OfJump(&of.Callee, &to.Callee, last.Taken)
	return parser.CallValues{By: last.By, Form: parser.ValuesOfJump, Taken: bytes}, nil
}

func (s *Session) recordOf(row int64) int64 {
	_, record := s.table.Position(row)
	return record
}

// takenAt returns what was taken at a row.
func (s *Session) takenAt(row int64) (parser.CallValues, error) {
	var one [1]parser.CallValues
	_, err := s.can.ValueTeller.Values(one[:], s.recordOf(row))
	return one[0], err
}
