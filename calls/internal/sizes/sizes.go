// Package sizes has the size of a block of the index, which whatever reads blocks
// has to know.
package sizes

// Block is the number of rows of a block, of which the last may have fewer. Only tests
// change it, so that small logs have many blocks.
var Block = int64(MaxBlock)

// MaxBlock is the greatest value of Block, for the sizes of arrays.
const MaxBlock = 4096

// Blocks returns how many blocks so many rows have.
func Blocks(rows int64) int { return int((rows + Block - 1) / Block) }
