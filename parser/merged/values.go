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
	var jumps []*parser.CallValues
	var parts []*part // that have them
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
			if list[i].Form == parser.ValuesOfJump {
				jumps, parts = append(jumps, &list[i]), append(parts, of)
			}
		}
		return nil
	})
	for i, v := range jumps {
		next, found := l.recordOf(parts[i], v.Next, from)
		if v.Next = next; found != nil {
			return done, found
		}
		if next == 0 {
			v.Form = parser.NoValues
		}
	}
	return done, err
}

// maxJump is how far recordOf looks.
const maxJump = 1 << 16

// recordOf returns the record that is record own of a log, from a record on that comes before it; 0 if it is far away.
func (l *Log) recordOf(wanted *part, own, from int64) (record int64, err error) {
	at := from
	_, err = l.each(maxJump, from, func(events []parser.Event, of *part, first int64) error {
		if of == wanted && own >= first && own < first+int64(len(events)) {
			record = at + own - first
			return io.EOF // look no further
		}
		at += int64(len(events))
		return nil
	})
	if err == io.EOF {
		err = nil
	}
	return record, err
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
