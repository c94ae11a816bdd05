package query

// MaxSetTable and KeptRepeats are the bounds that tests change.
var (
	MaxSetTable = &maxSetTable
	KeptRepeats = &maxRepeats
)
