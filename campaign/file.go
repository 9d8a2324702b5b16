package campaign

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// What a campaign file that does not say gets.
const (
	defaultDoubtWindow = Duration(15 * time.Minute)
	defaultGrace       = Duration(30 * time.Minute)
	defaultMisfire     = "skip"
)

// ParseDefinition reads a campaign file: strict YAML of at most MaxFile bytes, one document, no anchors,
// aliases or tags. name is what messages call it. Everything that is wrong is reported at once, as a
// *FileError with file, line and column. What the file does not say has its default in the answer.
//
// The answer depends on the list only through its header: Compile binds it.
func ParseDefinition(name string, src []byte) (*Definition, error) {
	s := readSource(name, src)
	d := &Definition{}
	if s.root != nil && len(s.findings) == 0 {
		s.decode(d)
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	d.setDefaults()
	s.checkDefinition(d)
	s.checkExecuted(d)
	if err := s.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// LoadDefinition reads the campaign file at path, and returns its bytes too: a run keeps them verbatim
// (Run.Definition). Errors are *FileError and those of package os.
func LoadDefinition(path string) (*Definition, []byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil, fmt.Errorf("campaign file: %w; check its permissions", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("campaign file: %w", err)
	}
	src, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, fmt.Errorf("campaign file %s: %w", path, err)
	}
	d, err := ParseDefinition(path, src)
	if err != nil {
		return nil, nil, err
	}
	return d, src, nil
}

func (d *Definition) setDefaults() {
	if d.Policies.OnUncertain == "" {
		d.Policies.OnUncertain = Hold
	}
	if d.Policies.DoubtWindow == 0 {
		d.Policies.DoubtWindow = defaultDoubtWindow
	}
	if d.Schedule != nil {
		if d.Schedule.Misfire == "" {
			d.Schedule.Misfire = defaultMisfire
		}
		if d.Schedule.Grace == 0 {
			d.Schedule.Grace = defaultGrace
		}
		if d.Schedule.Timezone == "" {
			d.Schedule.Timezone = "UTC"
		}
	}
	if d.Window != nil && d.Window.Timezone == "" {
		d.Window.Timezone = "UTC"
	}
}

// Marketing reports whether opt-outs of marketing apply: category MARKETING, or not known.
// serviceSays is the category that the service's template record names; "" when it was not asked.
func (d *Definition) Marketing(serviceSays string) bool {
	category := serviceSays
	if category == "" {
		category = d.Template.Category
	}
	return category != "UTILITY" && category != "AUTHENTICATION"
}

// Beside resolves a file that the campaign file at path names: relative to that file's folder.
func Beside(path, file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(filepath.Dir(path), file)
}
