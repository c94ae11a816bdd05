package timeparse

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const layout = "2006-01-02T15:04:05.999999999"

func TestParseStart(t *testing.T) {
	for _, test := range []struct {
		in, want, zone string
		wrongWeekday   bool
	}{
		{in: "2026-11-21T11:22:33.456", want: "2026-11-21T11:22:33.456"},
		{in: "2026-11-21 11:22:33.456", want: "2026-11-21T11:22:33.456"},
		{in: "  2026-11-21   11:22:33  ", want: "2026-11-21T11:22:33"},
		{in: "2026-11-21 11:22", want: "2026-11-21T11:22:00"},
		{in: "2026-11-21t11:22:33,5", want: "2026-11-21T11:22:33.5"},
		{in: "2026-11-21T11:22:33.123456789", want: "2026-11-21T11:22:33.123456789"},
		{in: "2026-11-21T11:22:33.1234567891234", want: "2026-11-21T11:22:33.123456789"},
		{in: "2026-11-21T11:22:33Z", want: "2026-11-21T11:22:33", zone: "Z"},
		{in: "2026-11-21T11:22:33.456+08:00", want: "2026-11-21T11:22:33.456", zone: "+08:00"},
		{in: "2026-11-21 11:22:33 -0530", want: "2026-11-21T11:22:33", zone: "-0530"},
		{in: "2026-11-21 11:22:33+08", want: "2026-11-21T11:22:33", zone: "+08"},
		{in: "2024-02-29 00:00:00", want: "2024-02-29T00:00:00"},
		{in: "2016-12-31 23:59:60", want: "2017-01-01T00:00:00"},
		// The hour that summer time skips in Europe is an hour like others.
		{in: "2026-03-29 02:30:00", want: "2026-03-29T02:30:00"},

		{in: "Sat Nov 21 11:22:33 2026", want: "2026-11-21T11:22:33"},
		{in: "Tue Nov  3 11:22:33 CET 2026", want: "2026-11-03T11:22:33"},
		{in: "21.11.2026 11:22:33.456", want: "2026-11-21T11:22:33.456"},
		{in: "5.11.2026 9:03", want: "2026-11-05T09:03:00"},
		{in: "21/11/2026 11:22:33", want: "2026-11-21T11:22:33"},
		{in: "11/21/2026 11:22:33 PM", want: "2026-11-21T23:22:33"},
		{in: "11-21-2026, 12:00:01 am", want: "2026-11-21T00:00:01"},
		{in: "5/5/2026 1:02:03", want: "2026-05-05T01:02:03"},
		{in: "2026/11/5 9:03:07.25", want: "2026-11-05T09:03:07.25"},
		{in: "2026-1-5 9:03:07 +08:00", want: "2026-01-05T09:03:07", zone: "+08:00"},
		{in: "2026年11月5日 下午9时03分07秒", want: "2026-11-05T21:03:07"},
		{in: "2026年11月5日 9:03:07", want: "2026-11-05T09:03:07"},

		{in: "2013-07-14 11:59:59:500", want: "2013-07-14T11:59:59.5"},
		{in: "2013-07-14T08:10:22:10+08:00", want: "2013-07-14T08:10:22.01", zone: "+08:00"},
		{in: "14/07/2013 08:10:22:00", want: "2013-07-14T08:10:22"},
		{in: "14.7.2013 8:10:22:7", want: "2013-07-14T08:10:22.007"},
		{in: "07/14/2013 11:59:59:500 PM", want: "2013-07-14T23:59:59.5"},

		{in: "2026 11 6 21 11 22 33 456", want: "2026-11-21T11:22:33.456"},
		{in: "2026,11,6,21,11,22,33,456", want: "2026-11-21T11:22:33.456"},
		{in: "2026, 11, 6, 21, 11, 22, 33, 7", want: "2026-11-21T11:22:33.007"},
		{in: "2026\t11\t06\t21\t11\t22\t33\t000", want: "2026-11-21T11:22:33"},
		{in: "2026 11 5 21 11 22 33 456", want: "2026-11-21T11:22:33.456", wrongWeekday: true},
	} {
		got, err := ParseStart(test.in)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		if s := got.Time.Format(layout); s != test.want {
			t.Errorf("%q: got %s, want %s", test.in, s, test.want)
		}
		if got.Time.Location() != time.UTC || got.Zone != test.zone || got.WrongWeekday != test.wrongWeekday {
			t.Errorf("%q: got %+v", test.in, got)
		}
	}
}

func TestParseStartRejects(t *testing.T) {
	for _, in := range []string{
		"", "now", "11/12/2026 11:22:33", "1-2-2026 11:22", "21.21.2026 11:22:33", "21/21/2026 11:22:33", "21.11-2026 11:22:33",
		"11/21/26 11:22:33", "2026/11/21", "11/21/2026 13:22:33 PM", "2026年13月5日 9:03:07",
		"11:59:59:500", "08:10:22", "08:10", "2013-07-14 11:59:59:5000",
		"2026-11-21", "2026-11-21T", "2026-11-21 11", "26-11-21 11:22:33",
		"2026-13-21 11:22:33", "2026-00-21 11:22:33", "2026-02-29 11:22:33", "2026-11-31 11:22:33",
		"2026-11-21 24:00:00", "2026-11-21 11:60:00", "2026-11-21 11:22:61", "2026-11-21 11:22:33.",
		"2026-11-21 11:22:33 CET", "2026-11-21 11:22:33+8", "2026-11-21 11:22:33 +08-00", "0000-01-01 00:00",
		"2026 11 6 21 11 22 33", "2026 11 6 21 11 22 33 1000", "2026 11 7 21 11 22 33 0",
		"2026 2 0 30 11 22 33 0", "1600 1 0 1 0 0 0 0", "2026 +11 6 21 11 22 33 0", "2026 -1 6 21 11 22 33 0",
		"99999999999999999999 1 1 1 1 1 1 1", strings.Repeat("9", 100000),
	} {
		if got, err := ParseStart(in); !errors.Is(err, ErrSyntax) {
			t.Errorf("%.40q: got %v, %v", in, got, err)
		} else if len(err.Error()) > 300 {
			t.Errorf("%.40q: message of %d bytes", in, len(err.Error()))
		}
	}
}

func TestTickClock(t *testing.T) {
	start := time.Date(2026, 11, 21, 11, 22, 33, 456e6, time.UTC)
	const day = 24 * 3600 * 1000
	for _, test := range []struct {
		name      string
		startTick uint32
		first     int64 // unwrapped milliseconds of the first record
		at        int64 // unwrapped milliseconds asked for
		want      string
	}{
		{"at start", 1000, 1000, 1000, "2026-11-21T11:22:33.456"},
		// A 16-bit field of milliseconds would be wrong from here on.
		{"after 65536 ms", 1000, 1000, 1000 + 65536, "2026-11-21T11:23:38.992"},
		{"after 40 days", 1000, 1000, 1000 + 40*day, "2026-12-31T11:22:33.456"},
		{"after the wrap", 1000, 1000, 1000 + TickWrap, "2027-01-10T04:25:20.752"},
		{"start tick before the wrap, first record after it", 0xffffff00, 0x100, 0x100, "2026-11-21T11:22:33.968"},
		{"first record just before the start tick", 1000, 990, 990, "2026-11-21T11:22:33.446"},
		{"first record before the wrap, start tick after it", 5, 0xfffffffb, 0xfffffffb, "2026-11-21T11:22:33.446"},
		{"new year", 0, 0, 40 * day, "2026-12-31T11:22:33.456"},
	} {
		c := NewTickClock(start, test.startTick, test.first)
		got, ok := c.Wall(Milliseconds(test.at))
		if !ok || got.Format(layout) != test.want {
			t.Errorf("%s: got %v %v, want %s", test.name, got.Format(layout), ok, test.want)
		}
		if c.Digits() != 3 {
			t.Errorf("%s: %d digits", test.name, c.Digits())
		}
	}
	if _, ok := ElapsedClock(77).Wall(0); ok {
		t.Error("a clock without start knows the wall time")
	}
}

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		tick      uint32
		reference int64
		want      int64
	}{
		{5, 7, 5},
		{7, 5, 7},
		{5, TickWrap - 1, TickWrap + 5},
		{0xffffffff, 3, -1},
		{0xffffffff, 3*TickWrap + 3, 3*TickWrap - 1},
		{0x7fffffff, 0, 0x7fffffff},
		{0x80000000, 0, -0x80000000},
	} {
		if got := Nearest(test.tick, test.reference); got != test.want {
			t.Errorf("Nearest(%#x, %d) = %d, want %d", test.tick, test.reference, got, test.want)
		}
	}
}

func FuzzStartTime(f *testing.F) {
	for _, s := range []string{
		"2026-11-21T11:22:33.456", "2026-11-21 11:22 +08:00", "2026 11 6 21 11 22 33 456",
		"2026,11,6,21,11,22,33,456", "2026-02-30 00:00", "-1 -1 -1 -1 -1 -1 -1 -1", "21.11.2026",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseStart(s)
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatalf("unexpected error %v", err)
			}
			return
		}
		// What was read must survive being written and read again.
		again, err := ParseStart(got.Time.Format(layout))
		if err != nil || !again.Time.Equal(got.Time) {
			t.Fatalf("%q read as %v, again as %v, %v", s, got.Time, again.Time, err)
		}
	})
}
