// Package unwind finds the callers of a function from what was saved of a
// thread: its registers, its stack, and the images that its code lies in.
// Nothing of the recorded program runs for that.
//
// Its input is a [Registers], a [Memory] and the [Module] of each address; its
// output is a list of [Frame], the innermost first. The rules by which a frame
// leads to its caller come, best first, from
//
//   - call frame information: .eh_frame (through .eh_frame_hdr where there is
//     one) and .debug_frame, for x86-64, x86 and arm64;
//   - a PE's exception directory: UNWIND_INFO on x64, with chained
//     infos, epilogues and machine frames; packed and full records on arm64;
//   - the STACK records of Breakpad's symbol files, which have both as text, and what
//     PDBs say of x86 frames;
//   - the frame that the kernel makes for a signal handler, where no rules
//     describe the code that returns from it;
//   - the chain of frame pointers;
//   - a scan of the stack for what looks like a return address. What a
//     scan found may be of a call that ended long ago, so that each frame says
//     how it was found.
//
// # Addresses
//
// A [Frame]'s PC is where the frame goes on when what it called returns; the
// call lies before it. [Frame.Lookup] is the address to look up: PC - 1 for a frame that
// made a call, PC for one that was stopped elsewhere, which is the innermost frame and any
// that a signal interrupted.
//
// # Limits
//
// Dumps and images come from other machines. Each step needs a CFA above the
// last one in the saved memory around the stack pointer, only a signal's frame
// may lead to another stack; so a walk ends. Rules are read by offset and
// length, each checked; the instructions of a rule, its stack, and the steps of
// an expression are bounded. Numbers may be nonsense, and give a frame that is
// not accepted.
//
// The package's second output is the functions' first bytes, which unwind rules
// give away of images without symbols: [Format] is a source of symbols with the names
// sub_RVA.
package unwind
