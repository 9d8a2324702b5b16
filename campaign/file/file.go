package file

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/internal/safeopen"
)

// The defaults of a campaign file.
const (
	defaultDoubtWindow = campaign.Duration(40 * time.Minute)
	defaultCanaryWait  = campaign.Duration(15 * time.Minute)
	defaultMaxFailed   = 0.05
	defaultDelivered   = 0.5
	defaultMaxOptOuts  = 0.10
	defaultGrace       = campaign.Duration(30 * time.Minute)
	defaultMisfire     = "skip"
)

// Parse reads a campaign file: strict YAML of at most MaxSize bytes, one document, no
// anchors, aliases or tags. Messages call the file name. The error is a *Error that lists all
// faults with file, line and column. The result has the defaults filled in.
//
// The definition has no list yet: Compile finds the columns of its variables in a list's header.
func Parse(name string, src []byte) (*Definition, error) {
	return ReadSource(name, src).definition()
}

// ParseStored reads the campaign of a run (Run.Definition), which another version of this program
// may have launched. It ignores the schedule, and keys that this version does not know, except
// where they would change what is sent, when or how much: in template, variables, window and
// limits.
func ParseStored(name string, src []byte) (*Definition, error) {
	return (&Source{stored: true}).read(name, src).definition()
}

func (s *Source) definition() (*Definition, error) {
	d := &Definition{}
	if s.Root != nil && len(s.Faults) == 0 {
		s.Decode(d, !s.stored)
	}
	if !s.stored { // an earlier version launched it
		s.checkEmpty(d)
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	d.setDefaults(func(key string) bool { return s.Positions[key] != nil })
	s.checkDefinition(d)
	if err := s.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// Load reads the campaign file at path, a regular file of its folder: it does not wait
// for a pipe, and follows no link out of the folder. It also returns the bytes, which a run keeps
// verbatim (Run.Definition). Errors are *Error and what package safeopen returns.
func Load(path string) (*Definition, []byte, error) {
	src, err := Read(path)
	if err != nil {
		return nil, nil, err
	}
	d, err := ParseAt(path, src)
	if err != nil {
		return nil, nil, err
	}
	return d, src, nil
}

// ParseAt is Parse of what the file at path held. Files that the definition names are
// looked for beside it.
func ParseAt(path string, src []byte) (*Definition, error) {
	d, err := Parse(path, src)
	if err != nil {
		return nil, err
	}
	d.folder = filepath.Dir(path)
	return d, nil
}

// Read reads the bytes of the campaign file at path, at most one more than MaxSize, as
// Load does. Errors are what package safeopen returns.
func Read(path string) ([]byte, error) {
	f, err := safeopen.Within(filepath.Dir(path), filepath.Base(path))
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("campaign file: %w; check its permissions", err)
	}
	if err != nil {
		return nil, fmt.Errorf("campaign file: %w", err)
	}
	src, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("campaign file %s: %w", path, err)
	}
	return src, nil
}

// setDefaults fills in what the file does not have. given reports whether it has a key.
func (d *Definition) setDefaults(given func(key string) bool) {
	p := &d.Policies
	p.OnUncertain, p.DoubtWindow = cmp.Or(p.OnUncertain, campaign.UncertainHold), cmp.Or(p.DoubtWindow, defaultDoubtWindow)
	if f := p.FollowUp; f != nil {
		f.After, f.Max = cmp.Or(f.After, campaign.Duration(LimitedWait)), cmp.Or(f.Max, 1)
	}
	if !given("policies.max_opt_outs") {
		p.MaxOptOuts = defaultMaxOptOuts
	}
	if c := p.Canary; c != nil {
		c.Wait = cmp.Or(c.Wait, defaultCanaryWait)
		if !given("policies.canary.max_failed") {
			c.MaxFailed = defaultMaxFailed
		}
		if !given("policies.canary.min_delivered") {
			c.MinDelivered = defaultDelivered
		}
	}
	if s := d.Schedule; s != nil {
		s.Misfire, s.Grace = cmp.Or(s.Misfire, defaultMisfire), cmp.Or(s.Grace, defaultGrace)
		s.Overlap, s.Timezone = cmp.Or(s.Overlap, OverlapSkip), cmp.Or(s.Timezone, "UTC")
	}
	d.Conversions.setDefaults()
	if d.Window != nil {
		d.Window.Timezone = cmp.Or(d.Window.Timezone, "UTC")
	}
}

// Marketing reports whether opt-outs of marketing apply: the category is MARKETING or not known.
// serviceSays is the category of the service's template record; "" when the service was not asked.
func (d *Definition) Marketing(serviceSays string) bool {
	category := cmp.Or(serviceSays, d.Template.Category)
	return category != "UTILITY" && category != "AUTHENTICATION"
}

// Beside resolves a file named in the campaign file at path: relative to that file's folder. An
// empty name stays empty.
func Beside(path, file string) string { return Within(filepath.Dir(path), file) }

// Within resolves a file named in a file of the folder: relative to that folder. An empty name
// stays empty.
func Within(folder, file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(folder, file)
}
