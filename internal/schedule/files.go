package schedule

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"campaignd/campaign/file"
	"campaignd/internal/operator"
)

// Files reads the campaigns folder, and returns its files by name.
func Files(dir string) ([]operator.File, error) { return NewFolder(dir).list() }

// Files reads the campaigns folder as the function Files does. If several files have one campaign
// name, the one that this process fires is in use.
func (sc *Scheduler) Files() ([]operator.File, error) {
	d := NewFolder(sc.o.Config.Campaigns)
	sc.mu.Lock()
	d.good = sc.good
	sc.mu.Unlock()
	return d.list()
}

func (d *Folder) list() ([]operator.File, error) {
	_, err := d.Look()
	var faults *file.Error // the faults of each file are with the file
	if err != nil && !errors.As(err, &faults) {
		return nil, err
	}
	all := make([]operator.File, 0, len(d.files))
	for path, f := range d.files {
		file := operator.File{Path: path, Source: f.good.Source, Definition: f.good.Definition, Cron: f.good.Cron}
		file.Findings = WithoutFolder(d.dir, f.findings())
		if f.twin != nil {
			file.Cron = nil // it does not fire
		}
		all = append(all, file)
	}
	slices.SortFunc(all, func(a, b operator.File) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// WithoutFolder names the files of findings without the path of their folder.
func WithoutFolder(dir string, findings []file.Finding) []file.Finding {
	out := slices.Clone(findings)
	path := strings.NewReplacer(dir+string(filepath.Separator), "", filepath.Clean(dir)+string(filepath.Separator), "")
	for i, f := range out {
		out[i].Where, out[i].What, out[i].Remedy = path.Replace(f.Where), path.Replace(f.What), path.Replace(f.Remedy)
	}
	return out
}
