// Package recorder holds what programs are built with to write logs: C and
// C++ headers, the library's sources, sample programs, and their tests. The Go
// code here hands out those files and tests what was recorded and kept below
// testdata; the scripts in tests build the recorder and test it.
package recorder

import "embed"

// Files is the recorder as it is built into programs: headers, the library's
// sources, what CMake needs, and the README. Its paths are relative to this
// folder.
//
//go:embed README.md CMakeLists.txt logrec-config.cmake.in logrec.pc.in include src
var Files embed.FS
