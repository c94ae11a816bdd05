package rows

import "testing"

func TestMismatchTag(t *testing.T) {
	for _, test := range []struct{ function, source, marked, markedSource string }{
		{"app::run", `C:\src\a.cpp`, "[mismatched] app::run", `C:\src\a.cpp [mismatched]`},
		{"", "", "", ""},
	} {
		function, source := TagFunction(test.function), TagSource(test.source)
		if function != test.marked || source != test.markedSource {
			t.Errorf("%q, %q are tagged %q, %q", test.function, test.source, function, source)
		}
		if got := CutSourceTag(source); got != test.source {
			t.Errorf("%q without the tag is %q", source, got)
		}
		if got := CutSourceTag(test.source); got != test.source {
			t.Errorf("%q without a tag is %q", test.source, got)
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
		if got := test.row.IsTagged(); got != test.want {
			t.Errorf("%+v is tagged: %v", test.row, got)
		}
	}
}
