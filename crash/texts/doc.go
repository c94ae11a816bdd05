// Package texts finds addresses in texts written for people: backtraces, reports of sanitizers, debuggers and profilers,
// messages of the kernel and of crash handlers.
//
// Its input is a text, line by line. For each line it returns the addresses as a [Reference]: the module that contains an
// address and the offset in it, if the text tells them, and whether it is the address of an instruction or a return address. It
// uses no symbols and opens no files.
//
// # Rules for return addresses
//
// A return address is the address after the call instruction. It often belongs to the next source line, and sometimes to
// another function. Most tools print it unchanged ([Return]). Sanitizers, Valgrind and Android's unwinder have subtracted 1
// ([Called]). The innermost frame has the address of the instruction itself ([Exact]), and so has the frame below a signal
// handler. The rule of each format is described at its reader.
//
// # Mappings
//
// The addresses of modules are told by lines of /proc/PID/maps, of symbolizer markup, of perf's mmap events, of gdb's mappings
// and of lists of modules. A mapping applies to the lines after it, until another one contradicts it.
package texts
