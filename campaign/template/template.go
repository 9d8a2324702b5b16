// Package template reads template files, which a team keeps in git, judges them by the rules of the
// platform, compares them with the templates of the service, and pushes what differs.
//
// The commands `templates` and `check` call it. It promises that nothing is sent before every file
// of a folder has passed the rules (docs/templates.md).
package template

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// Template is a template as its file says it.
type Template struct {
	messaging.TemplateRecord // without ID, Status and Reason
	// Library is the name of the template of the platform's library that this one copies; "" for a
	// template with Components.
	Library string
	// Media is the file of a media header, relative to the folder of the template file; "" for none.
	Media string
	// Path is the path of the template file.
	Path string

	src *source
}

// ReadFile reads and judges one template file. The error is a *file.Error with every fault of the
// file, or the fault of a file that cannot be read.
func ReadFile(path string) (*Template, error) {
	text, err := file.Read(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	t := parse(path, text)
	t.checkName()
	t.checkMedia()
	if err := t.src.err(); err != nil {
		return nil, err
	}
	return t, nil
}

// Parse reads and judges the template file at path, whose bytes are text. It looks neither at the
// name of the file nor for the file of the header. The error is a *file.Error with every
// fault.
func Parse(path string, text []byte) (*Template, error) {
	t := parse(path, text)
	if err := t.src.err(); err != nil {
		return nil, err
	}
	return t, nil
}

func parse(path string, text []byte) *Template {
	s, d := &source{}, document{}
	read := s.read(path, text, &d)
	t := d.template()
	t.Path, t.src = path, s
	if read {
		judge(t, s.say)
	}
	return t
}

// checkName compares the name of the file with its content.
func (t *Template) checkName() {
	want := t.Name + "." + t.Language + ".yaml"
	if t.Name == "" || t.Language == "" || filepath.Base(t.Path) == want {
		return
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(t.Path), want)); err == nil && filepath.Base(want) == want {
		t.src.say("name", 0, fmt.Sprintf("%s is for %s in %s too", want, t.Name, t.Language), "keep one of the two files")
		return
	}
	t.src.say("name", 0, fmt.Sprintf("the file for %s in %s is called %s", t.Name, t.Language, want),
		"rename the file, or correct name and language")
}

// checkMedia looks at the file of a media header.
func (t *Template) checkMedia() {
	for i, c := range t.Components {
		if c.Type != "HEADER" || t.Media == "" || !isMedia(c.Format) {
			continue
		}
		if !filepath.IsLocal(t.Media) {
			t.src.say(fmt.Sprintf("components[%d].file", i), 0, fmt.Sprintf("%q is not in the folder of the template file or below it",
				sentence.Shorten(t.Media, 60)), "copy it there")
			continue
		}
		if _, err := file.CheckMedia(strings.ToLower(c.Format), filepath.Dir(t.Path), t.Media); err != nil {
			t.src.say(fmt.Sprintf("components[%d].file", i), 0, err.Error(), "")
		}
	}
}

// ReadFolder reads and judges every template file of a folder, which are its files that end in
// .yaml or .yml; it does not look into folders below it. The error is a *file.Error with
// the faults of all files.
func ReadFolder(folder string) ([]*Template, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: name the folder of your template files, or make it with a file NAME.LANGUAGE.yaml", folder)
	}
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	var all []*Template
	faults := &file.Error{}
	for _, e := range entries {
		if extension := strings.ToLower(filepath.Ext(e.Name())); e.IsDir() || e.Name()[0] == '.' || extension != ".yaml" && extension != ".yml" {
			continue
		}
		t, err := ReadFile(filepath.Join(folder, e.Name()))
		var fault *file.Error
		switch {
		case errors.As(err, &fault):
			faults.Findings = append(faults.Findings, fault.Findings...)
		case err != nil:
			faults.Findings = append(faults.Findings, file.Finding{Level: file.LevelError, Where: filepath.Join(folder, e.Name()),
				What: err.Error(), Remedy: "make it a readable file, or move it out of the folder"})
		default:
			all = append(all, t)
		}
	}
	switch {
	case len(faults.Findings) > 0:
		return nil, faults
	case len(all) == 0:
		return nil, fmt.Errorf("%s has no template file: write NAME.LANGUAGE.yaml there, such as spring_sale.en_US.yaml", folder)
	}
	slices.SortFunc(all, func(a, b *Template) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Language, b.Language))
	})
	return all, nil
}
