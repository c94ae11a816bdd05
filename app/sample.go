package app

import "logparser/assets"

// SampleLog writes the sample log and what belongs to it into the user's cache, if it is not there, and
// returns its path.
func SampleLog() (string, error) { return assets.ExtractSample() }
