package pdb

import "strings"

// anonymous brings the unnamed namespace into the form that people and other
// compilers use. Microsoft's writes it in two ways, often into one file.
var anonymous = strings.NewReplacer(
	"`anonymous namespace'", "(anonymous namespace)",
	"`anonymous-namespace'", "(anonymous namespace)",
)

// ReadableName returns a name out of a type's record as it is shown.
func ReadableName(name string) string { return normalise(name) }

// normalise returns a name from a record as it is shown.
func normalise(name string) string {
	if !strings.Contains(name, "`anonymous") {
		return name
	}
	return anonymous.Replace(name)
}
