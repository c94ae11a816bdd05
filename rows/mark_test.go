package rows

import "testing"

func TestMarks(t *testing.T) {
	for _, test := range []struct{ function, source, marked, markedSource string }{
		{"app::run", `C:\src\a.cpp`, "[mismatched] app::run", `C:\src\a.cpp [mismatched]`},
		{"", "", "", ""},
	} {
		function, source := MarkFunction(test.function), MarkSource(test.source)
		if function != test.marked || source != test.markedSource {
			t.Errorf("%q, %q are marked %q, %q", test.function, test.source, function, source)
		}
		if got := CutSourceMark(source); got != test.source {
			t.Errorf("%q without the mark is %q", source, got)
		}
		if got := CutSourceMark(test.source); got != test.source {
			t.Errorf("%q without a mark is %q", test.source, got)
		}
	}
	for _, test := range []struct {
		row  Row
		want bool
	}{
		{Row{Function: "[mismatched] f", Symbols: Mismatched}, true},
		{Row{Function: "m.dll+0x10", Symbols: Mismatched}, false},
		{Row{Function: "[mismatched] f", Symbols: "matched"}, false},
	} {
		if got := test.row.IsMarked(); got != test.want {
			t.Errorf("%+v is marked: %v", test.row, got)
		}
	}
}
