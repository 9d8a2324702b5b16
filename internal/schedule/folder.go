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
type Folder struct {
	dir    string
	looked bool // what the first look finds counts at once
	files  map[string]*campaignFile
	good   []Scheduled // of the last look that could read the folder
}

// campaignFile is one file of the folder.
type campaignFile struct {
	seen  []byte    // at the last look; nil: not read
	used  []byte    // the version that good or fault is about; nil: none
	good  Scheduled // the last good version; Definition is nil before the first
	fault error     // of the version used, if it is broken
	// twin says that another scheduled file has the same campaign name; nil: none has. The key of a
	// firing is made from the name, so only one of the two is launched.
	twin *file.Finding
}

// NewFolder returns the campaigns folder dir, which is read at the first Look.
func NewFolder(dir string) *Folder { return &Folder{dir: dir, files: map[string]*campaignFile{}} }

// Look reads the folder and returns the campaigns with a schedule. A folder that does not exist,
// or that is a file, counts as empty. A folder that cannot be read is an error, and its campaigns
// stay. The faults of all files are one *file.Error, returned with the good files. If two
// files have the same campaign name, the second is a fault.
func (d *Folder) Look() ([]Scheduled, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return d.good, fmt.Errorf("campaigns folder: %w", err)
	}
	var out []Scheduled
	before := d.files
	d.files = make(map[string]*campaignFile, len(entries))
	named := map[string]string{} // the file of each campaign
	faults := &file.Error{}
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
		f.twin = nil
		switch s := f.good; {
		case s.Cron == nil:
		case named[s.Definition.Name] != "":
			f.twin = &file.Finding{
				Level: file.LevelError, Where: name,
				What:   fmt.Sprintf("the name %s is used by %s too", s.Definition.Name, named[s.Definition.Name]),
				Remedy: "give each campaign its own name",
			}
		default:
			named[s.Definition.Name] = name
			out = append(out, s)
		}
		faults.Findings = append(faults.Findings, f.findings()...)
	}
	d.looked, d.good = true, out
	if len(faults.Findings) > 0 {
		return out, faults
	}
	return out, nil
}

// Find returns the last good version of the file that has the campaign. The error names the
// possible causes.
func (d *Folder) Find(name string) (Scheduled, error) {
	var broken []string // the faults of each file
	for _, file := range slices.Sorted(maps.Keys(d.files)) {
		f := d.files[file]
		if f.good.Definition != nil && f.good.Definition.Name == name {
			return f.good, nil
		}
		if f.fault != nil {
			broken = append(broken, f.fault.Error())
		}
	}
	if len(broken) > 0 {
		return Scheduled{}, fmt.Errorf("no file of the folder %s that can be read has the campaign %s: %s", d.dir, name,
			strings.Join(broken, "\n"))
	}
	return Scheduled{}, fmt.Errorf("no file of the folder %s has the campaign %s", d.dir, name)
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
		s.Written = written
		if s.Cron != nil && f.good.Cron != nil && s.schedule() != f.good.schedule() {
			s.Written = time.Now() // mv, rsync and archives keep an older time
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
