// Package attached keeps the symbols of modules in a compact container that
// travels: carried by an executable, in a packed log, or beside a log.
//
// Its input is any [symbols.Table] (PDB, DWARF, MAP, symbol tables), which
// [Encode] asks about every byte of a module's code; its output is a table
// that answers each look-up as the original did: the same function, file, line
// and inlined calls. A [Container] holds the tables of several modules, and
// whole files (logs, modules files, sources). docs/formats.md describes it.
//
//   - container.go: header, directory, parts.
//   - blocks.go: what a part is made of: compressed blocks with an index.
//   - module.go: what a container says of a module.
//   - encode.go, runs.go: from a table to columns, and back.
//   - table.go: look-ups.
//   - unwind.go: unwind rules; stack.go: those of Breakpad's symbol files.
//   - file.go: files in a container.
//   - carrier.go, pe.go, elf.go: containers in executables: [Attach], [Detach],
//     [Find].
//
// Containers come from other machines. Each length is checked against what is
// there before anything is allocated, blocks have a largest size, and damage
// gives an error that says where; it does not spoil other blocks.
package attached
