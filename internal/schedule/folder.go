package schedule

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

// Folder is the campaigns folder and the last good version of each of its files. It is read again
// at each look, links followed, so that it also sees a ConfigMap whose link ..data was changed.
//
// A change counts when two looks in a row see the same bytes, because an editor may be writing. A
// file that is broken then is a fault, and its last good version stays. A file that is gone is
// forgotten.
//
// If several files have a schedule and one campaign name, the file that had the name before the
// others came keeps it. If it is not known which had it, because this look is the first, none is
// used: a copy is sorted before or after its original by chance.
type Folder struct {
	dir    string
	looked bool // what the first look finds counts at once
	files  map[string]*campaignFile
	good   []Scheduled // of the last look that could read the folder, one for each name
}

// campaignFile is one file of the folder.
type campaignFile struct {
	seen  []byte    // at the last look; nil: not read
	used  []byte    // the version that good or fault is about; nil: none
	good  Scheduled // the last good version; Definition is nil before the first
	fault error     // of the version used, if it is broken
	// twin says that the file is not used, because another scheduled file has the same campaign name;
	// nil: it is used. The key of a firing is made from the name, so at most one of them is launched.
	twin *file.Finding
}

// NewFolder returns the campaigns folder dir, which is read at the first Look.
func NewFolder(dir string) *Folder { return &Folder{dir: dir, files: map[string]*campaignFile{}} }

// Look reads the folder and returns the campaigns with a schedule. A folder that does not exist,
// or that is a file, counts as empty. A folder that cannot be read is an error, and its campaigns
// stay. The faults of all files are one *file.Error, returned with the good files. A file that is
// not used because another one has its campaign name is a fault.
func (d *Folder) Look() ([]Scheduled, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return d.good, fmt.Errorf("campaigns folder: %w", err)
	}
	before := d.files
	d.files = make(map[string]*campaignFile, len(entries))
	for _, entry := range entries {
		name := filepath.Join(d.dir, entry.Name())
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		f := cmp.Or(before[name], &campaignFile{})
		f.look(name, !d.looked)
		if f.used == nil && f.fault == nil && f.seen == nil {
			continue // it was removed while we looked
		}
		d.files[name] = f
	}
	d.looked, d.good = true, d.choose()
	faults := &file.Error{}
	for _, name := range d.paths() {
		faults.Findings = append(faults.Findings, d.files[name].findings()...)
	}
	if len(faults.Findings) > 0 {
		return d.good, faults
	}
	return d.good, nil
}

// paths returns the files in the order of their names.
func (d *Folder) paths() []string { return slices.Sorted(maps.Keys(d.files)) }

// choose returns the campaigns with a schedule, with one file for each name, and says of the other
// files of that name why they are not used. A file that has lost its name, or is gone, leaves the
// name unused for one look: an editor or an update may be about to bring the file back, and a copy
// would take its place.
func (d *Folder) choose() (out []Scheduled) {
	had, same := map[string]string{}, map[string][]string{} // the files of each name: at the last look, and now
	for _, s := range d.good {
		had[s.Definition.Name] = s.File
	}
	for _, path := range d.paths() {
		if s := d.files[path].good; s.Cron != nil {
			same[s.Definition.Name] = append(same[s.Definition.Name], path)
		}
	}
	for _, path := range d.paths() {
		f := d.files[path]
		f.twin = nil
		if f.good.Cron == nil {
			continue
		}
		name := f.good.Definition.Name
		switch all, owner := same[name], had[name]; {
		case owner == path, owner == "" && len(all) == 1:
			out = append(out, f.good)
		case len(all) > 1:
			f.twin = twinOf(name, path, owner, all)
		}
	}
	return out
}

// twinOf says why the file path is not used: all have the campaign name, of which the file owner
// had it before.
func twinOf(name, path, owner string, all []string) *file.Finding {
	others := slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == path })
	why := strings.Join(others, ", ") + " too, so none of these files is used"
	if slices.Contains(all, owner) {
		why = owner + ", which had it first, so this file is not used"
	}
	return &file.Finding{Level: file.LevelError, Where: path, What: fmt.Sprintf("the name %s is used by %s", name, why),
		Remedy: "give each campaign its own name, or give a copy a file name that does not end in .yaml"}
}

// Find returns the last good version of the file that has the campaign. If several have it, that is
// the one that its schedule uses. The error names the possible causes.
func (d *Folder) Find(name string) (Scheduled, error) {
	if i := slices.IndexFunc(d.good, func(s Scheduled) bool { return s.Definition.Name == name }); i >= 0 {
		return d.good[i], nil
	}
	var files, broken []string
	all := d.Named(name)
	for _, s := range all {
		files = append(files, s.File)
	}
	switch {
	case len(all) == 1 && all[0].Cron == nil:
		return all[0], nil
	case len(all) == 1:
		return Scheduled{}, fmt.Errorf("the name %s was used by another file until now; %s is used in a moment", name, files[0])
	case len(all) > 1:
		return Scheduled{}, fmt.Errorf("the name %s is used by %s, so none of these files is used: give each campaign its own name",
			name, strings.Join(files, ", "))
	}
	for _, path := range d.paths() {
		if f := d.files[path]; f.fault != nil {
			broken = append(broken, f.fault.Error())
		}
	}
	if len(broken) > 0 {
		return Scheduled{}, fmt.Errorf("no file of the folder %s that can be read has the campaign %s: %s", d.dir, name,
			strings.Join(broken, "\n"))
	}
	return Scheduled{}, fmt.Errorf("no file of the folder %s has the campaign %s", d.dir, name)
}

// Named returns the last good versions of all files that have the campaign, also those that are not
// used. Their Cron is nil without a schedule.
func (d *Folder) Named(name string) (all []Scheduled) {
	for _, path := range d.paths() {
		if s := d.files[path].good; s.Definition != nil && s.Definition.Name == name {
			all = append(all, s)
		}
	}
	return all
}

// Look reads the file, and uses its content if two looks saw the same, or if atOnce is set.
func (f *campaignFile) look(name string, atOnce bool) {
	src, written, err := readCampaign(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		*f = campaignFile{}
		if _, link := os.Lstat(name); link == nil { // a link whose target is missing
			f.fault = err
		}
		return
	case err != nil:
		f.fault, f.seen, f.used = err, nil, nil
		return
	case f.used != nil && bytes.Equal(src, f.used):
		f.seen = src
		return
	case !atOnce && (f.seen == nil || !bytes.Equal(src, f.seen)):
		f.seen = src
		return
	}
	f.seen, f.used = src, src
	s, err := parseScheduled(name, src)
	if f.fault = err; err == nil {
		s.Written, s.changed = written, written
		if f.good.Definition != nil {
			s.changed = time.Now() // mv, rsync and archives keep an older time
		}
		if s.Cron != nil && f.good.Cron != nil && s.schedule() != f.good.schedule() {
			s.Written = s.changed
		}
		f.good = s
	}
}

// findings returns what is wrong with a file. Those of a broken one say that its last good version
// stays.
func (f *campaignFile) findings() []file.Finding {
	if f.fault == nil {
		if f.twin != nil {
			return []file.Finding{*f.twin}
		}
		return nil
	}
	all := []file.Finding{{Level: file.LevelError, What: f.fault.Error()}}
	var broken *file.Error
	if errors.As(f.fault, &broken) {
		all = append([]file.Finding{}, broken.Findings...)
	}
	if f.good.Definition != nil {
		const stays = "until it is corrected, its last good version stays in use"
		last := &all[len(all)-1]
		if last.Remedy != "" {
			last.Remedy += "; "
		}
		last.Remedy += stays
	}
	return all
}

// readCampaign reads a campaign file, and when it was written.
func readCampaign(name string) (src []byte, written time.Time, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, written, fmt.Errorf("campaign file: %w", err)
	}
	src, err = file.Read(name)
	return append([]byte{}, src...), info.ModTime(), err // an empty file was read too
}

// parseScheduled reads the text of a campaign file.
func parseScheduled(name string, src []byte) (s Scheduled, err error) {
	def, err := file.ParseAt(name, src)
	if err != nil {
		return s, err
	}
	c, err := plan.CronOf(name, src, def)
	return Scheduled{File: name, Definition: def, Source: src, Cron: c}, err
}
