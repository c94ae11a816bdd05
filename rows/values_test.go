package rows

import "testing"

// TestAppendCall writes calls with their values.
func TestAppendCall(t *testing.T) {
	w := Value{Name: "w", Type: "int", Text: "3", Kind: SignedValue, Bits: 3}
	this := Value{Name: "this", Type: "app::Shape*", Text: "0x5581", Kind: PointerValue, Bits: 0x5581}
	result := Value{Name: "return", Type: "int", Text: "12"}
	tests := []struct {
		function  string
		event     Event
		arguments []Value
		results   []Value
		want      string
	}{
		{"app::Shape::area(int, int)", Enter, []Value{this, w}, []Value{result}, "app::Shape::area(this = 0x5581, int w = 3) = 12"},
		{"app::Shape::area(int, int) const", Enter, []Value{w}, nil, "app::Shape::area(int w = 3) const"},
		{"app::Shape::area(int, int)", Leave, []Value{this, w}, []Value{result}, "app::Shape::area(int, int) = 12"},
		{"area", Enter, []Value{w, {Type: "app::Empty", Text: "?"}}, nil, "area(int w = 3, app::Empty = ?)"},
		{"area", Enter, nil, []Value{{Name: "n", Text: "1"}, {Text: "unverified"}}, "area = n = 1, unverified"},
		{"f(void (*)(int))", Enter, []Value{w}, nil, "f(int w = 3)"},
		{"A::operator()", Enter, []Value{w}, nil, "A::operator()(int w = 3)"},
		{"A::operator()(int)", Enter, []Value{w}, nil, "A::operator()(int w = 3)"},
		{"(anonymous namespace)::f", Enter, []Value{w}, nil, "(anonymous namespace)::f(int w = 3)"},
		{"(anonymous namespace)::f(int)", Enter, []Value{w}, nil, "(anonymous namespace)::f(int w = 3)"},
		{"f<(A)1>", Enter, []Value{w}, nil, "f<(A)1>(int w = 3)"},
		{"area(int)", Enter, nil, nil, "area(int)"},
	}
	for _, test := range tests {
		r := Row{Function: test.function, Event: test.event, Filled: Values, Values: &CallValues{Arguments: test.arguments, Results: test.results}}
		if got := string(AppendCall(nil, &r)); got != test.want {
			t.Errorf("%s: %s, want %s", test.function, got, test.want)
		}
		if r.Filled = 0; r.HasValues() || string(AppendCall(nil, &r)) != test.function {
			t.Errorf("%s: values that were not filled in", test.function)
		}
	}
}

// TestJSONValues writes values with their types.
func TestJSONValues(t *testing.T) {
	list := []Value{
		{Name: "n", Text: "-3", Kind: SignedValue}, {Name: "b", Text: "true", Kind: UnsignedValue}, {Name: "f", Text: "1e+100", Kind: FloatValue},
		{Name: "inf", Text: "+Inf", Kind: FloatValue}, {Name: "color", Text: "Green", Kind: SignedValue}, {Name: "p", Text: "0x55", Kind: PointerValue},
		{Name: "none", Text: "null", Kind: PointerValue}, {Name: "s", Text: `"a\"b"`, Characters: `a"b`, Kind: TextValue}, {Name: "lost", Text: "?"},
		{Name: "pt", Text: "{x = 1}", Kind: OtherValue, Parts: []Value{{Name: "x", Text: "1", Kind: SignedValue}}},
		{Name: "list", Text: "[1, 2]", Kind: OtherValue, Parts: []Value{{Text: "1", Kind: SignedValue}, {Text: "2", Kind: SignedValue}}},
		{Text: "0x01", Kind: OtherValue},
		{Name: "e", Text: "null", Kind: SignedValue},
	}
	const want = `{"n":-3,"b":true,"f":1e+100,"inf":"+Inf","color":"Green","p":"0x55","none":null,"s":"a\"b","lost":{"not known":"?"},"pt":{"x":1},"list":[1,2],"11":"0x01","e":"null"}`
	if got := string(AppendJSONValues(nil, list)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
