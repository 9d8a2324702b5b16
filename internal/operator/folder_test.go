package operator_test

import (
	"errors"
	"strings"
	"testing"

	"campaignd/internal/operator"
)

// A launch by name must not take one of two files by chance. A file with a schedule comes first.
func TestACampaignOfTwoFilesIsRefused(t *testing.T) {
	d, _ := session(t)
	scheduled := folder(t)[0]
	plain := func(path string) operator.File { return operator.File{Path: path, Definition: scheduled.Definition} }
	for _, tt := range []struct {
		about string
		files []operator.File
		want  string
		is    error
	}{
		{"one", []operator.File{plain("a.yaml"), {Path: "broken.yaml"}}, "a.yaml", nil},
		{"none", []operator.File{{Path: "broken.yaml"}}, `the campaign "spring"`, operator.ErrAbsent},
		{"two", []operator.File{plain("a.yaml"), {Path: "broken.yaml"}, plain("b.yaml")},
			"is used by a.yaml, b.yaml, so none", operator.ErrInvalid},
		{"one of two with a schedule", []operator.File{plain("a.yaml"), scheduled, plain("z.yaml")}, "spring.yaml", nil},
	} {
		f, c, err := d.Campaign(t.Context(), tt.files, "spring")
		switch {
		case tt.is == nil && (err != nil || f.Path != tt.want || c.File != tt.want):
			t.Errorf("%s: got %q, the entry of %q and %v, want %q", tt.about, f.Path, c.File, err, tt.want)
		case tt.is != nil && (!errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want an error with %q", tt.about, err, tt.want)
		}
	}
}
