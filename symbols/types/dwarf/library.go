package dwarf

import (
	"debug/dwarf"
	"strings"

	"logparser/symbols/types"
)

// library tells by its members whose a std::string or std::string_view is, whose entry was read last; "" if they
// are not there, or not where they are known to be.
func (r *reader) library(e *dwarf.Entry, scope string, size int) types.Library {
	if declared, _ := e.Val(dwarf.AttrDeclaration).(bool); declared {
		if strings.HasSuffix(scope, "std::__cxx11") {
			return types.Libstdcxx // no other has that namespace
		}
		return ""
	}
	list, err := r.children(e, maxMembers)
	if err != nil {
		return ""
	}
	at := offsets(list)
	is := func(name string, offset int64) bool {
		found, ok := at[name]
		return ok && found == offset
	}
	switch {
	case size == 32 && is("_M_dataplus", 0) && is("_M_string_length", 8), size == 16 && is("_M_len", 0) && is("_M_str", 8):
		return types.Libstdcxx
	case size == 8 && is("_M_dataplus", 0):
		return types.LibstdcxxCOW
	case size == 16 && (is("__data_", 0) && is("__size_", 8) || is("__data", 0) && is("__size", 8)):
		return types.Libcxx
	case size != 24:
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
		case is("__size_", 8) && is("__data_", 16):
			return types.Libcxx
		case is("__data_", 0) && is("__size_", 8):
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
