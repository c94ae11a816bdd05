package app

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"logparser/crash/texts"
	"logparser/modules"
	"logparser/parser"
	"logparser/symbols"
	"logparser/symbols/store"
)

// A text often names a program as it was started: ./app, build/app, app. Such a name says nothing of where the program
// lies. It is looked for where the text says that it ran, below the current folder, in PATH, and among the modules that logs in
// this folder have recorded.

const (
	// maxWalked bounds the entries of folders that are looked at for a name below the current folder, and walkDepth how deep.
	maxWalked = 1 << 14
	walkDepth = 4
	// maxRecorded bounds the folders of logs that are asked for modules, and the logs of each.
	maxRecorded = 16
)

// A placed path is where a module may lie.
type placed struct {
	path string
	// told says that the text tells of the place, and own that it is one of the user's: others are opened by the rule for paths
	// that come out of files.
	told, own bool
}

// lookAround looks for a module whose path in the text is not absolute, where the symbol path has not led to it. It returns nil if there
// is no such file.
func (s *Symbolizer) lookAround(ctx context.Context, f *texts.Reference) *textModule {
	var second *textModule // a file without names, or of another build
	tried := make(map[string]bool)
	for _, find := range []func(ctx context.Context, name string) []placed{s.toldPlaces, workingPlaces, pathPlaces, walkedPlaces, s.recordedPlaces} {
		for _, p := range find(ctx, f.Module) {
			if ctx.Err() != nil || tried[p.path] {
				continue
			}
			tried[p.path] = true
			m := s.openPlaced(ctx, f, p)
			switch {
			case m == nil:
			case m.binding.Table != nil && !m.otherBuild(f):
				if second != nil {
					second.Close()
				}
				return m
			case second == nil:
				second = m
			default:
				m.Close()
			}
		}
	}
	return second
}

// openPlaced opens the image at a place with its symbols. It returns nil if there is none.
func (s *Symbolizer) openPlaced(ctx context.Context, f *texts.Reference, p placed) *textModule {
	if p.own {
		if info, err := os.Stat(p.path); err != nil || !info.Mode().IsRegular() {
			return nil
		}
	} else if _, err := store.CheckRecorded(p.path); err != nil {
		return nil
	}
	finder := newFinder(s.in, filepath.Dir(p.path))
	binding, linked := finder.FindWithImage(ctx, &modules.Module{Path: p.path, Identity: f.Identity})
	if linked == nil && binding.Status != symbols.Mismatched {
		closeTable(binding)
		return nil
	}
	return &textModule{Image: &Image{binding: binding, linked: linked}, path: f.Module, guessed: !p.told && f.Identity.IsZero()}
}

// relativeName returns a module's name as a path that stays below a folder: what leads out of it is cut off.
func relativeName(name string) string {
	name = filepath.Clean(filepath.FromSlash(strings.ReplaceAll(name, `\`, "/")))
	if !filepath.IsLocal(name) {
		name = filepath.Base(name)
	}
	return name
}

// toldPlaces returns where a text says that a program lies, or ran.
func (s *Symbolizer) toldPlaces(_ context.Context, name string) (list []placed) {
	programs, folders := s.reader.Told()
	for _, p := range programs {
		if filepath.IsAbs(p) && modules.BaseName(p) == modules.BaseName(name) {
			list = append(list, placed{path: p, told: true})
		}
	}
	for _, d := range folders {
		if filepath.IsAbs(d) {
			list = append(list, placed{path: filepath.Join(d, relativeName(name)), told: true})
		}
	}
	return list
}

// workingPlaces returns the places of a name in the current folder: as the name says, and without its folders.
func workingPlaces(_ context.Context, name string) (list []placed) {
	wd, err := os.Getwd()
	if err != nil {
		return nil
	}
	rel := relativeName(name)
	for _, r := range []string{rel, filepath.Base(rel)} {
		list = append(list, placed{path: filepath.Join(wd, r), own: true})
	}
	return list
}

// pathPlaces returns the places of a program's name in PATH. A name with a folder was not found by PATH.
func pathPlaces(_ context.Context, name string) (list []placed) {
	if strings.ContainsAny(name, `/\`) {
		return nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			list = append(list, placed{path: filepath.Join(dir, name), own: true})
		}
	}
	return list
}

// walkedPlaces returns the files of a name below the current folder.
func walkedPlaces(_ context.Context, name string) (list []placed) {
	wd, err := os.Getwd()
	if err != nil || filepath.Dir(wd) == wd {
		return nil // the root of the system is no folder that somebody works in
	}
	base, seen := filepath.Base(relativeName(name)), 0
	_ = filepath.WalkDir(wd, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > maxWalked {
			return filepath.SkipAll
		}
		if err != nil {
			return nil
		}
		if d.IsDir() {
			rel, _ := filepath.Rel(wd, path)
			if path != wd && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || strings.Count(rel, string(filepath.Separator)) >= walkDepth) {
				return filepath.SkipDir
			}
			return nil
		}
		if d.Name() == base && d.Type().IsRegular() {
			list = append(list, placed{path: path, own: true})
		}
		return nil
	})
	return list
}

// recordedPlaces returns where modules of a name lay when programs were recorded into the current folder, the latest first.
func (s *Symbolizer) recordedPlaces(ctx context.Context, name string) (list []placed) {
	if !s.askedLogs {
		s.askedLogs = true
		s.recorded = recordedModules(ctx)
	}
	for _, p := range s.recorded {
		if modules.BaseName(p) == modules.BaseName(name) {
			list = append(list, placed{path: p})
		}
	}
	return list
}

// recordedModules returns the paths of the modules of the logs in the folders that the verb record has made in the current one.
func recordedModules(ctx context.Context) (paths []string) {
	folders, err := filepath.Glob("*.rec")
	if err != nil {
		return nil
	}
	changed := func(path string) (at time.Time) {
		if info, err := os.Stat(path); err == nil {
			at = info.ModTime()
		}
		return at
	}
	slices.SortStableFunc(folders, func(a, b string) int { return changed(b).Compare(changed(a)) })
	for _, folder := range folders[:min(len(folders), maxRecorded)] {
		logs, err := filepath.Glob(filepath.Join(folder, "*.lptrace"))
		if err != nil {
			continue
		}
		for _, log := range logs[:min(len(logs), maxRecorded)] {
			paths = append(paths, modulesOf(ctx, log)...)
		}
	}
	return paths
}

// modulesOf returns the paths of the modules of a log.
func modulesOf(ctx context.Context, path string) (paths []string) {
	head, size, err := readHead(path)
	if err != nil {
		return nil
	}
	format := logFormats.of(head, size)
	if format.OpenHead == nil || format.NeedsModulesFile {
		return nil
	}
	log, err := format.OpenHead(ctx, path, parser.Options{}, 1)
	if err != nil || log == nil {
		return nil
	}
	defer log.Close()
	for run := range log.Info().Runs {
		m := log.Modules(run)
		for i := range m.Len() {
			paths = append(paths, m.At(i).Path)
		}
	}
	return paths
}
