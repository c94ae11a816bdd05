//go:build !linux

package launch

import "logparser/parser/trace/wire"

// alive reports whether the process of a log is still there, which is not looked at here.
func alive(*wire.Header) bool { return false }
