package demangle

import (
	"strings"

	itanium "github.com/ianlancetaylor/demangle"

	"logparser/message"
)

// maxOutputPower is maxOutput as the power of two that the package wants.
const maxOutputPower = 16

var (
	outputLimit = itanium.MaxLength(maxOutputPower)
	fullOptions = []itanium.Option{outputLimit}
	// Parameters of the function itself are not even parsed.
	shortOptions = []itanium.Option{itanium.NoParams, itanium.NoABITags, outputLimit}
	// An operator without scopes has the form of many a C identifier
	// ("_Znext"); only what follows tells whether it is one.
	operatorOptions = []itanium.Option{itanium.NoABITags, outputLimit}
)

// itaniumShort demangles an Itanium or Rust name to scopes and name.
func itaniumShort(name string) (string, error) {
	name = trimUnderscores(name)
	if s, ok := itaniumDirect(name); ok {
		return s, nil
	}
	if isRust(name) {
		return guarded(name, func() (string, error) { return rustString(name, outputLimit) })
	}
	return itaniumTree(name)
}

// itaniumForms is itaniumShort and itaniumFull in one reading. An empty text
// stands for a form that is not to be had.
func itaniumForms(name string) (short, full string) {
	name = trimUnderscores(name)
	if short, full = itaniumDirectForms(name); full != "" {
		return short, full
	}
	rust := isRust(name)
	var tree itanium.AST
	full, err := guarded(name, func() (string, error) {
		if rust {
			return rustString(name, fullOptions...)
		}
		var err error
		if tree, err = itanium.ToAST(name, fullOptions...); err != nil {
			return "", err
		}
		return itanium.ASTToString(tree, fullOptions...), nil
	})
	switch {
	case short != "":
	case rust && err == nil:
		short = full
	case err == nil && tree != nil:
		short, _ = guarded(name, func() (string, error) {
			return withoutThunk(itanium.ASTToString(withoutParameters(tree), operatorOptions...)), nil
		})
	}
	if short == "" || strings.Contains(short, "[abi:") {
		// The tree has the tags; and what parameters make too long may have a
		// short form.
		short, _ = itaniumShort(name)
	}
	if i := strings.Index(full, short); i >= 0 && short != "" {
		short = full[i : i+len(short)]
	}
	return short, full
}

// itaniumTree demangles an Itanium name to scopes and name.
func itaniumTree(name string) (string, error) {
	options := shortOptions
	if len(name) > 2 && 'a' <= name[2] && name[2] <= 'z' {
		options = operatorOptions
	}
	return guarded(name, func() (string, error) {
		tree, err := itanium.ToAST(name, options...)
		if err != nil {
			return "", err
		}
		return withoutThunk(itanium.ASTToString(withoutParameters(tree), options...)), nil
	})
}

// withoutThunk cuts the words for a thunk, which stands for the function that
// it leads to.
func withoutThunk(name string) string {
	for _, thunk := range [...]string{"non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to "} {
		if rest, ok := strings.CutPrefix(name, thunk); ok {
			return rest
		}
	}
	return name
}

// itaniumFull demangles an Itanium or Rust name to the whole signature.
func itaniumFull(name string) (string, error) {
	name = trimUnderscores(name)
	return guarded(name, func() (string, error) {
		if isRust(name) {
			return rustString(name, fullOptions...)
		}
		return itanium.ToString(name, fullOptions...)
	})
}

// guarded holds back the panics that damaged names may raise in the package,
// and refuses texts that its limit has cut.
func guarded(name string, demangle func() (string, error)) (s string, err error) {
	if nestsDeeply(name) {
		return "", errTooDeep
	}
	defer func() {
		if r := recover(); r != nil {
			s, err = "", message.Errorf("demangling failed: %v", r)
		}
	}()
	s, err = demangle()
	switch {
	case err != nil:
		return "", err
	case s == "":
		return "", errNotKnown
	case len(s) >= maxOutput:
		return "", errTooLong
	}
	return s, nil
}

// maxRun is how many letters in a row an Itanium name may have.
const maxRun = 512

// nestsDeeply reports whether a name has so many type constructors in a row
// that the package, whose time grows with the square of the depth, would need
// too long.
func nestsDeeply(name string) bool {
	if len(name) <= maxRun {
		return false
	}
	run := 0
	for i := 0; i < len(name); i++ {
		if c := name[i]; c == '_' || c == 'E' || isDigit(c) {
			run = 0
		} else if run++; run > maxRun {
			return true
		}
	}
	return false
}

// trimUnderscores removes the underscores that Mach-O and 32-bit COFF put in
// front of every name. Three are kept for a block of clang's.
func trimUnderscores(name string) string {
	n := 0
	for n < len(name) && name[n] == '_' {
		n++
	}
	keep := 1
	if n >= 3 && n < len(name) && name[n] == 'Z' && strings.Contains(name, "_block_invoke") {
		keep = 3
	}
	if n > keep {
		name = name[n-keep:]
	}
	return name
}

// isRust reports whether a name is Rust's; of the legacy scheme only the hash
// tells.
func isRust(name string) bool {
	if strings.HasPrefix(name, "_R") {
		return true
	}
	i := strings.LastIndex(name, "17h")
	return i > 0 && strings.HasPrefix(name, "_ZN") && len(name) >= i+20 && name[i+19] == 'E'
}

// withoutParameters returns a tree without the parameters of the function and
// of the functions around it. It shares what it does not change.
func withoutParameters(tree itanium.AST) itanium.AST {
	switch a := tree.(type) {
	case *itanium.Typed:
		return withoutParameters(a.Name)
	case *itanium.MethodWithQualifiers:
		return withoutParameters(a.Method)
	case *itanium.EnableIf:
		return withoutParameters(a.Type)
	case *itanium.Constraint:
		return withoutParameters(a.Name)
	case *itanium.Clone:
		return withoutParameters(a.Base)
	case *itanium.Qualified:
		return &itanium.Qualified{Scope: withoutParameters(a.Scope), Name: withoutParameters(a.Name)}
	case *itanium.DefaultArg:
		return &itanium.DefaultArg{Num: a.Num, Arg: withoutParameters(a.Arg)}
	case *itanium.Special:
		return &itanium.Special{Prefix: a.Prefix, Val: withoutParameters(a.Val)}
	}
	return tree
}
