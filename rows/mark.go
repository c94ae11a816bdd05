package rows

import "strings"

// Mismatched is the status of names that a symbol file of another build gave
// because the user asked for them.
const Mismatched = "mismatched"

// mark stands at every name of a symbol file of another build: before a
// function, where cutting long text leaves it, and after a source path, where
// taking its last element does.
const mark = "[mismatched]"

// MarkFunction marks a function's name as one of another build.
func MarkFunction(name string) string {
	if name == "" {
		return ""
	}
	return mark + " " + name
}

// MarkSource marks a source path as one of another build.
func MarkSource(path string) string {
	if path == "" {
		return ""
	}
	return path + " " + mark
}

// CutSourceMark returns a source path without its mark.
func CutSourceMark(path string) string { return strings.TrimSuffix(path, " "+mark) }

// IsMarked reports whether a row's function carries the mark.
func (r *Row) IsMarked() bool { return r.Symbols == Mismatched && strings.HasPrefix(r.Function, mark) }
