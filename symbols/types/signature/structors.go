package signature

import (
	"strings"

	"logparser/symbols/demangle"
)

// maxTried bounds the names that structorKind tries, in bytes of all together.
const maxTried = 1 << 16

// structorKind returns the number with which a mangled name says of which kind a constructor or destructor is: '1' for whole
// objects, '2' for parts of others, '0' for one that frees the object, too; 0 where it is an ordinary function. Its readable name
// is last, in scope. It is not sure where the name is not understood.
//
// Where in a name its own number is only reading all of it tells, since it may have those of other functions, and such letters in
// words. So each is replaced by a conversion to void: with that of the function itself, and with no other, the readable name
// becomes that of such a conversion in the same scope.
func structorKind(mangled, scope, last string) (kind byte, sure bool) {
	const conversion = "::operator "
	plain, arguments, _ := strings.Cut(last, "<")
	if arguments != "" {
		arguments = "<" + arguments
	}
	letter, left, some := byte('C'), maxTried, false
	if strings.HasPrefix(plain, "~") {
		letter = 'D'
	}
	for i := 2; i+1 < len(mangled); i++ {
		if mangled[i] != letter {
			continue
		}
		number, inherits, as := i+1, letter == 'C' && mangled[i+1] == 'I', "cvv"
		if inherits {
			number, as = i+2, "cv" // the base class follows, to which it becomes a conversion
		}
		if number >= len(mangled) || mangled[number] < '0' || mangled[number] > '5' {
			continue
		}
		some = true
		if left -= len(mangled); left < 0 {
			return 0, false
		}
		short, _ := demangle.Forms(mangled[:i] + as + mangled[number+1:])
		if short == scope+conversion+"void"+arguments || inherits && strings.HasPrefix(short, scope+conversion) {
			return mangled[number], true
		}
	}
	return 0, !some && letter == 'C'
}
