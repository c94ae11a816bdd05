package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"logparser/internal/testlog/classictest"
	"logparser/parser"
	"logparser/parser/trace"
)

// convert writes the events of a trace as a classic log of 24-byte records into a folder, with
// its modules, and returns the log's path.
func convert(path, folder string) (string, error) {
	log, err := trace.Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		return "", err
	}
	defer log.Close()
	const startTick = 1000
	mods, err := os.Create(filepath.Join(folder, classictest.ModulesName))
	if err != nil {
		return "", err
	}
	fmt.Fprintf(mods, "# LogParser modules file 1: base size pointer-size identity timestamp path\n2026-11-21T11:22:33.456\n%d\n", startTick)
	loaded := log.Modules(0)
	for i := range loaded.Len() {
		m := loaded.At(i)
		fmt.Fprintf(mods, "0x%016x 0x%08x 8 - - %s\n", m.Base, m.Size, m.Path)
	}
	name := filepath.Join(folder, classictest.LogName)
	f, err := os.Create(name)
	if err := cmp.Or(err, mods.Close()); err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	events := make([]parser.Event, 4096)
	var record []byte
	begin := int64(0)
	for at, total := int64(0), log.Info().Records; at < total; {
		n, err := log.ReadEvents(events[:min(int64(len(events)), total-at)], at)
		if err != nil {
			return "", err
		}
		if at == 0 {
			begin = events[0].Time
		}
		for i := range events[:n] {
			e := &events[i]
			flag := byte(0)
			if e.Kind == parser.Enter {
				flag = 1
			}
			tick := uint32((e.Time-begin)/1e6) + startTick
			// A trace has where a function begins, a classic log where its hook returns to: after the function's first byte.
			record = classictest.AppendRecord(record[:0], 24, e.Address+1, e.Thread, tick, flag, 0)
			w.Write(record)
		}
		at += int64(n)
	}
	return name, cmp.Or(w.Flush(), f.Close())
}
