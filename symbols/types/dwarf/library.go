package dwarf

import (
	"debug/dwarf"
	"strings"

	"logparser/symbols/types"
)

// library returns to which standard library the std::string or std::string_view belongs whose entry was read
// last. It looks at the members, and returns "" if they are not those of a known layout.
func (r *reader) library(e *dwarf.Entry, scope string, size int) types.Library {
	if declared, _ := e.Val(dwarf.AttrDeclaration).(bool); declared {
		if strings.HasSuffix(scope, "std::__cxx11") {
			return types.Libstdcxx // no other library has that namespace
		}
		return ""
	}
	list, err := r.children(e, maxMembers)
	if err != nil {
		return ""
	}
	at := offsets(list)
	word := r.im.PointerSize
	is := func(name string, offset int) bool {
		found, ok := at[name]
		return ok && found == int64(offset)
	}
	switch {
	case size == 2*word+16 && is("_M_dataplus", 0) && is("_M_string_length", word), size == 2*word && is("_M_len", 0) && is("_M_str", word):
		return types.Libstdcxx
	case size == word && is("_M_dataplus", 0):
		return types.LibstdcxxCOW
	case size == 2*word && (is("__data_", 0) && is("__size_", word) || is("__data", 0) && is("__size", word)):
		return types.Libcxx
	case size != 3*word:
		return ""
	}
	for _, c := range list {
		if name, _ := c.Val(dwarf.AttrName).(string); name != "__long" || c.Tag != dwarf.TagStructType {
			continue
		}
		long, err := r.entry(c.Offset)
		if err != nil || long == nil {
			return ""
		}
		list, err := r.children(long, maxMembers)
		if err != nil {
			return ""
		}
		at = offsets(list)
		switch {
		case is("__size_", word) && is("__data_", 2*word):
			return types.Libcxx
		case is("__data_", 0) && is("__size_", word):
			return types.LibcxxAlternate
		}
	}
	return ""
}

// offsets returns where the members of a class lie, by their names.
func offsets(list []*dwarf.Entry) map[string]int64 {
	at := make(map[string]int64)
	for _, c := range list {
		if name, _ := c.Val(dwarf.AttrName).(string); name != "" && c.Tag == dwarf.TagMember {
			if offset, ok := c.Val(dwarf.AttrDataMemberLoc).(int64); ok {
				at[name] = offset
			}
		}
	}
	return at
}
