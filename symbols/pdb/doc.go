// Package pdb reads the program databases of Microsoft's linker and of LLVM's
// (PDB files in an MSF 7.00 container) for one purpose: from an address of
// the image to the function, the inlined calls, the source file and the line.
//
// Its input is an opened file and an RVA, its output a [symbols.Symbol]. How
// an address is found:
//
//	RVA -> OMAP, if any      -> RVA before the linker's output was rearranged
//	    -> section headers   -> section:offset
//	    -> contributions     -> module (one object file of the program)
//	    -> module's stream   -> procedure, inline sites, lines
//	    -> public symbols    -> a bare name, only where no procedure covers it
//
// The streams used, by what leads to them:
//
//	1           information: GUID, features, names of streams ("/names": all
//	            source paths)
//	2           types (TPI): parameter types of procedures
//	3           debug information (DBI): age, modules, section contributions,
//	            the numbers of the streams below
//	4           ids (IPI): names of inlined functions. Only where the features
//	            say so, since Visual Studio 2012; else it may hold anything
//	a module's  symbols (S_GPROC32 and the like, S_INLINESITE), then C13
//	            subsections: lines, file checksums, inlinee lines, ids shared
//	            between modules
//	publics     a hash table (not used) and the records' order by address
//	records     the public symbols themselves
//	headers     section headers, original section headers, OMAP tables
//
// Nothing is read before it is needed: opening reads the DBI stream's tables,
// a module's records are indexed when an address first falls into it, and a
// procedure's lines and inline sites are decoded when it is first asked for.
// What is decoded is kept up to a limit and then dropped again, longest
// unused first. Only the aliases of folded functions need all modules; see
// [Table.ReadAliases].
//
// Programs from incremental linkers have jumps to their functions, which are
// found under the function's name as [symbols.ILTThunk]. A PDB in a cabinet,
// as symbol stores keep it ("name.pd_"), is unpacked first. Other files called
// PDB are told apart and refused by name: those of Visual C++ 6 and before,
// portable ones of .NET, compressed ones (MSFZ).
//
// Images may have managed code (.NET) beside native code, or nothing else. It
// lies in the image as intermediate language, and runs where the runtime puts
// what it makes of that: its procedures and publics keep their place, so that
// nothing else is named there, but have no names here.
//
// The format has no official specification. This reader follows the docs
// folder of Microsoft's pdb-rs project, cvinfo.h of the microsoft-pdb
// repository, LLVM's "The PDB File Format", and what real files show.
//
// Files are not trusted: lengths and counts are checked against what holds
// them before anything is allocated, type names are bounded in depth and
// length, and damage gives an error that names the stream and the offset.
package pdb
