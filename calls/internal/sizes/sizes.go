// Package sizes has the size of a block of the index, which whatever reads blocks
// has to know, and others that tests make small.
package sizes

// Block is the number of rows of a block, of which the last may have fewer. Only tests
// change it, so that small logs have many blocks.
var Block = int64(MaxBlock)

// MaxBlock is the greatest value of Block, for the sizes of arrays. Larger blocks make a smaller index, whose calls that are open
// at the end of a block take most of it, and a single row takes longer to read.
const MaxBlock = 8192

// SegmentBlocks is the number of blocks of the shortest segments that a log is paired in: a million rows, so that what is done for each address
// once is little. Only tests change it.
var SegmentBlocks = 128

// TotalsBytes is how many bytes the totals of a segment have for 256 of its rows, at most. Only tests change it.
var TotalsBytes = int64(16)

// Statistics is how many statistics of addresses a pairer keeps at first that may be of no
// more use. Only tests change it.
var Statistics = 1 << 18

// Blocks returns how many blocks so many rows have.
func Blocks(rows int64) int { return int((rows + Block - 1) / Block) }
