package tracetest

// WriteCalls writes a program whose threads call functions some ten deep, each
// always the same ones, an event every 10 to 40 ns. Threads run at the same
// time. It returns the number of events, which is at least the given one.
func WriteCalls(w *Writer, threads int, events int64) int64 {
	const functions = 3000
	const depth = 12
	list := make([]*Thread, threads)
	type frame struct{ function, calls int }
	stacks := make([][]frame, threads)
	for i := range list {
		list[i] = w.Thread(uint32(i+1), 0, uint64(1000+i))
	}
	now := uint64(5000)
	w.Clock(now, now, 1_700_000_000_000_000_000, 0)
	address := func(f int) uint64 { return 0x55d0c0de7000 + uint64(f)*176 }
	seed := uint64(1)
	random := func() uint64 {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return seed
	}
	n := int64(0)
	for n < events {
		i := int(random()>>20) % threads
		// A thread runs for some events at a time, as on a busy processor.
		for range 8 {
			t, stack := list[i], stacks[i]
			now += 10 + random()>>40%30
			n++
			if len(stack) > 0 {
				top := &stack[len(stack)-1]
				if top.calls == 0 || len(stack) == depth {
					t.Leave(now)
					stacks[i] = stack[:len(stack)-1]
					continue
				}
				top.calls--
			}
			f := int(random()>>20) % functions
			if len(stack) > 0 {
				f = (stack[len(stack)-1].function*7 + stack[len(stack)-1].calls + 1) % functions
			}
			t.Enter(now, address(f), Entry)
			stacks[i] = append(stack, frame{f, f % 5})
		}
	}
	for i, t := range list {
		for range stacks[i] {
			now += 20
			n++
			t.Leave(now)
		}
	}
	w.Clock(now, now, 1_700_000_000_000_000_000, 0)
	return n
}
