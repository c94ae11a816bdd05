// Package store finds the symbols of a recorded module and checks that they
// belong to it.
//
// Its input is a module as the log recorded it and the places where the user
// lets us look: folders, flat or laid out as symbol stores (SymSrv of one or
// two tiers, build-id folders, Breakpad's), and symbol servers (HTTP with a
// SymSrv tree, debuginfod), which are asked only if [Finder].Network is set.
// Its output is a [symbols.Binding], which says what was found, how far it can
// be trusted and every place looked at.
//
// An image with its own debug information needs no file beside it, unless it
// names a PDB. An ELF image whose names come from a separate file adds the
// stubs of its linkage tables, and what else the file does not know.
//
// A file of another build gives no names, unless [Finder].LoadMismatched asks
// for them; any better file wins all the same.
//
// What is said of the outcome is a [message.Text], which the window
// translates.
//
// Paths that come out of files are opened only by the rule of [CheckRecorded];
// everywhere else they count by their base name. What a server sends is kept
// only if its identity is the one that was asked for.
package store
