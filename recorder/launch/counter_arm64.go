package launch

// cpuCounter is the counter that [counter] reads.
const cpuCounter = counterCNTVCT
