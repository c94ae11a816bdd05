package dwarf

import (
	"debug/dwarf"
	"strconv"
	"strings"

	"logparser/symbols/demangle"
)

// LLVM leaves out parameters and results of functions that nobody outside of their file calls. This file finds out where that may have
// been done.

// The first version of clang that marks functions of which it has changed parameters or the result (DW_CC_nocall), and the first that
// passes __int128 by the ABI.
const (
	firstMarking = 15
	firstInt128  = 18
)

// clangVersion returns the major version of the clang that a unit names as its compiler, 0 for other compilers and where none is named.
func clangVersion(producer string) int {
	_, rest, _ := strings.Cut(producer, "clang version ")
	major, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

// registersAt returns the numbers of the registers that a parameter's parts are in when the function that begins at low is entered. It
// returns a number below 0 if the parameter is somewhere else, and nothing if debug information does not say where it is.
func (r *reader) registersAt(parameter *dwarf.Entry, low uint64) []int {
	var where []byte
	switch v := parameter.Val(dwarf.AttrLocation).(type) {
	case nil:
		return nil
	case []byte:
		where = v
	case int64:
		r.eachLocation(uint64(v), true, func(from, to uint64, expression []byte) bool {
			if from <= low && low < to {
				where = expression
			}
			return where == nil
		})
	}
	var list []int
	for len(where) > 0 {
		op := where[0]
		if op < opReg0 || op > opReg31 && op != opRegX {
			return []int{-1}
		}
		n := int(op - opReg0)
		where = where[1:]
		if op == opRegX {
			var size int
			if n, size = unsignedLEB(where); size == 0 {
				return []int{-1}
			}
			where = where[size:]
		}
		list = append(list, n)
		if len(where) == 0 && len(list) == 1 {
			return list
		}
		if len(where) == 0 || where[0] != opPiece {
			return []int{-1}
		}
		_, size := unsignedLEB(where[1:])
		if size == 0 {
			return []int{-1}
		}
		where = where[1+size:]
	}
	if list == nil {
		return []int{-1}
	}
	return list
}

// hookAt returns how many bytes a function begins with that only call a hook, or leave room for one: they change no argument.
func (r *reader) hookAt(rva uint64) (n uint64) {
	const most = 64
	code, err := r.im.ReadRVA(rva, most)
	if err != nil {
		return 0
	}
	skip := func(prefix string, size int) bool {
		if !strings.HasPrefix(string(code), prefix) || size > len(code) {
			return false
		}
		code, n = code[size:], n+uint64(size)
		return true
	}
	if r.im.Machine != "x86-64" {
		const bti, pac, nop, branch, sled = "\x5f\x24\x03\xd5", "\x3f\x23\x03\xd5", "\x1f\x20\x03\xd5", "\x08\x00\x00\x14", 32
		for skip(branch, sled) || skip(bti, 4) || skip(pac, 4) || skip(nop, 4) {
		}
		return n
	}
	const endbr, call, nop, nops, sled = "\xf3\x0f\x1e\xfa", "\xe8", "\x90", "\x0f\x1f\x44\x00", "\xeb\x09"
	skip(endbr, 4)
	for skip(nops, 5) || skip(nop, 1) || skip(sled, 11) {
	}
	if n <= 4 {
		skip(call, 5)
	}
	return n
}

// declaredParameters returns how many parameters a mangled name of C++ says that a function has, without its object. told is false if it
// says nothing of that.
func declaredParameters(linkage string) (n int, told bool) {
	if !strings.HasPrefix(linkage, "_Z") {
		return 0, false
	}
	short, full := demangle.Forms(linkage)
	_, rest, found := strings.Cut(full, short+"(")
	if !found {
		return 0, false
	}
	depth, some, last := 0, false, ""
	for _, c := range rest {
		switch c {
		case '(', '<', '[', '{':
			depth++
		case '>', ']', '}':
			depth--
		case ')':
			if depth--; depth < 0 {
				if some && last != "void" && last != "..." {
					n++
				}
				return n, true
			}
		case ',':
			if depth == 0 {
				n, last = n+1, ""
				continue
			}
		case ' ':
			if last == "" {
				continue
			}
		}
		some = true
		last += string(c)
	}
	return 0, false
}
