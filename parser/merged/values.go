package merged

import (
	"io"

	"logparser/message"
	"logparser/parser"
)

// setValues finds out how values were taken, mostly of all processes by one plan. What was taken
// is decoded as the log that has it says; what is said of all logs is about calls of which none has anything.
func (l *Log) setValues() {
	for _, of := range l.parts {
		if of.can.ValueTeller == nil {
			continue
		}
		t := of.can.ValueTeller.ValuesTaken()
		if t == nil {
			continue
		}
		if l.taken == nil {
			l.taken = &parser.ValuesTaken{Plan: t.Plan, PlanHash: t.PlanHash}
			l.takenReader = true
		}
		all := l.taken
		if t.PlanHash != all.PlanHash || all.Plan == nil || t.Plan == nil {
			all.Plan, all.PlanHash = nil, 0
		}
		all.Registers = all.Registers || t.Registers
		if all.Places == nil {
			all.Places = t.Places
		}
		if all.Events == nil {
			all.Events = t.Events
		}
		all.Mismatched = append(all.Mismatched, t.Mismatched...)
		of.taken = t
		l.takenReader = l.takenReader && of.can.TakenReader != nil
	}
	if l.taken == nil || l.taken.Plan == nil {
		return
	}
	for _, of := range l.parts {
		// One decoder is enough for logs that have nothing but the plan.
		if t := of.taken; t != nil && len(t.Places) == 0 && t.Events == nil && !t.Registers && len(l.taken.Places) == 0 && l.taken.Events == nil && !l.taken.Registers {
			of.taken = l.taken
		}
	}
}

// ValuesTaken implements [parser.ValueTeller].
func (l *Log) ValuesTaken() *parser.ValuesTaken { return l.taken }

// Values implements [parser.ValueTeller].
func (l *Log) Values(dst []parser.CallValues, from int64) (int, error) {
	jumps := make(map[ownRecord][]*parser.CallValues) // by the records that they lead to
	done, err := l.each(len(dst), from, func(events []parser.Event, of *part, own int64) error {
		list := dst[:len(events)]
		dst = dst[len(events):]
		clear(list)
		if of.taken == nil {
			return nil
		}
		if _, err := of.can.ValueTeller.Values(list, own); err != nil {
			return message.InFile(of.Name, err)
		}
		for i := range list {
			if list[i].By != nil {
				list[i].By = of.taken
			}
			if v := &list[i]; v.Form == parser.ValuesOfJump {
				to := ownRecord{of, v.Next}
				jumps[to] = append(jumps[to], v)
			}
		}
		return nil
	})
	if len(jumps) > 0 {
		if err := l.setNext(jumps, from); err != nil {
			return done, err
		}
	}
	return done, err
}

// An ownRecord is a record of one of the logs.
type ownRecord struct {
	of  *part
	own int64
}

// maxJump is how far setNext looks.
const maxJump = 1 << 16

// setNext says of jumps where they lead in this log, given where in their own logs; all lead behind a record. Those that lead far
// are none.
func (l *Log) setNext(jumps map[ownRecord][]*parser.CallValues, from int64) error {
	at := from
	_, err := l.each(maxJump, from, func(events []parser.Event, of *part, first int64) error {
		for i := range events {
			to := ownRecord{of, first + int64(i)}
			for _, v := range jumps[to] {
				v.Next = at + int64(i)
			}
			delete(jumps, to)
		}
		if at += int64(len(events)); len(jumps) == 0 {
			return io.EOF // look no further
		}
		return nil
	})
	for _, list := range jumps {
		for _, v := range list {
			v.Form, v.Next = parser.NoValues, 0
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// EachTaken implements [parser.TakenReader].
func (l *Log) EachTaken(from int64, n int, f func(i int, form parser.ValueForm, taken []byte)) error {
	done := 0
	got, err := l.each(n, from, func(events []parser.Event, of *part, own int64) error {
		begin := done
		done += len(events)
		if of.taken == nil {
			return nil
		}
		err := of.can.TakenReader.EachTaken(own, len(events), func(i int, form parser.ValueForm, taken []byte) { f(begin+i, form, taken) })
		return message.InFile(of.Name, err)
	})
	if err == nil && got < n {
		err = message.Errorf("there is no record %d", from+int64(got))
	}
	return err
}

// TakenCalls implements [parser.TakenReader]: calls of several logs are not of one stack.
func (l *Log) TakenCalls(int64, int, *parser.CallPairs, func(*parser.TakenAt)) bool { return false }
