package table

import (
	"testing"
	"time"
)

func TestParsePlace(t *testing.T) {
	for _, test := range []struct {
		text string
		want Place
		ok   bool
	}{
		{"123456", Place{ByRow, 123456}, true},
		{" 1,234_5 67 ", Place{ByRow, 1234567}, true},
		{"12.5s", Place{ByElapsed, 12_500_000_000}, true},
		{"0.1 s", Place{ByElapsed, 100_000_000}, true},
		{"250MS", Place{ByElapsed, 250_000_000}, true},
		{"3us", Place{ByElapsed, 3_000}, true},
		{"3\u00b5s", Place{ByElapsed, 3_000}, true},
		{"7ns", Place{ByElapsed, 7}, true},
		{"+.25", Place{ByElapsed, 250_000_000}, true},
		{"1.0000000009s", Place{ByElapsed, 1_000_000_000}, true},
		{"14:03:22.5", Place{ByClock, (14*3600+3*60+22)*1e9 + 5e8}, true},
		{"14:03", Place{ByClock, (14*3600 + 3*60) * 1e9}, true},
		{"", Place{}, false},
		{"-1", Place{}, false},
		{"x", Place{}, false},
		{"s", Place{}, false},
		{"1.2", Place{}, false},
		{"24:00", Place{}, false},
		{"1:60", Place{}, false},
		{"1:2:3:4", Place{}, false},
		{"99999999999999999999s", Place{}, false},
		{"9999999999999s", Place{}, false},
	} {
		got, err := ParsePlace(test.text)
		if (err == nil) != test.ok || test.ok && got != test.want {
			t.Errorf("%q: %+v, %v", test.text, got, err)
		}
	}
}

func TestElapsedGoesOverMidnight(t *testing.T) {
	start := time.Date(2013, 5, 4, 23, 59, 50, 0, time.UTC)
	for text, want := range map[string]time.Duration{"23:59:50": 0, "23:59:52.5": 2500 * time.Millisecond, "0:00:10": 20 * time.Second} {
		p, err := ParsePlace(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Duration(Elapsed(p.N, start)); got != want {
			t.Errorf("%s is %v after the first row, want %v", text, got, want)
		}
	}
}
