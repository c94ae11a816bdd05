// Package texts finds the addresses in texts that were written for people:
// backtraces, the reports of sanitizers, debuggers and profilers, messages of
// the kernel and of crash handlers.
//
// Its input is a text, line by line; its output, for each line, the addresses
// in it as a [Reference]: which module an address lies in and at what offset, as
// far as the text says it, and whether it is the address of an instruction or
// one that a call returns to. It knows no symbols and opens no file.
//
// # Rules for return addresses
//
// A return address lies behind the call, often in the next line of the source
// and sometimes in another function. Most tools print it as it is
// ([Return]); sanitizers, Valgrind and Android's unwinder have taken one off
// ([Called]), and the innermost frame is the instruction itself ([Exact]), as is
// what lies below the frame of a signal handler. Each format has its own rule,
// which stands beside its reader.
//
// # Mappings
//
// Where a module lay in memory is said by lines of /proc/PID/maps, of symbolizer
// markup, of perf's mmap events, of gdb's mappings and of lists of modules. Each
// holds for the lines after it, until another contradicts it.
package texts
