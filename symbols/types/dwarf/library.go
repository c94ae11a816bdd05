package dwarf

import (
	"debug/dwarf"
	"strings"

	"logparser/symbols/types"
)

// libstdcxxNamespace is the inline namespace in std that only libstdc++ has.
const libstdcxxNamespace = "__cxx11"

// library returns to which standard library the std::string or std::string_view belongs whose entry was read
// last. It looks at the members, and returns "" if they are not those of a known layout.
func (r *reader) library(e *dwarf.Entry, scope string, size int) types.Library {
	if declared, _ := e.Val(dwarf.AttrDeclaration).(bool); declared {
		if strings.HasSuffix(scope, "std::"+libstdcxxNamespace) {
			return types.Libstdcxx // no other library has that namespace
		}
		return ""
	}
	list, err := r.children(e, maxMembers)
	if err != nil {
		return ""
	}
	l := types.TextLayout{Members: offsets(list), Size: size, Word: r.im.PointerSize}
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
		l.Long = offsets(list)
		break
	}
	if l.Begin() > 0 {
		return "" // not out of DWARF
	}
	return l.Library()
}

// offsets returns where the members of a class lie, by their names.
func offsets(list []*dwarf.Entry) map[string]int {
	at := make(map[string]int)
	for _, c := range list {
		if name, _ := c.Val(dwarf.AttrName).(string); name != "" && c.Tag == dwarf.TagMember {
			if offset, ok := c.Val(dwarf.AttrDataMemberLoc).(int64); ok {
				at[name] = int(offset)
			}
		}
	}
	return at
}
