package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder writes files into a folder of the test.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const jpeg = "\xFF\xD8\xFF\xE0\x00\x10JFIF\x00"

var withMedia = strings.Replace(good, "format: TEXT, text: Spring", "format: IMAGE, file: banner.jpg", 1)

func TestAFolderIsReadWithTheFilesOfHeaders(t *testing.T) {
	french := strings.NewReplacer("en_US", "fr", "Spring", "Printemps").Replace(good)
	all, err := ReadFolder(folder(t, map[string]string{"sale.fr.yaml": french, "sale.en_US.yaml": withMedia, "banner.jpg": jpeg,
		"README.md": "not a template", ".hidden.yaml": "x"}))
	if err != nil || len(all) != 2 || all[0].Language != "en_US" || all[0].Media != "banner.jpg" || all[1].Language != "fr" {
		t.Errorf("got %+v and %v, want both templates, and the file of a header", all, err)
	}
}

func TestFaultsOfAFolderAreToldTogether(t *testing.T) {
	dir := folder(t, map[string]string{
		"sale.en_US.yaml":  good,
		"copy.en_US.yaml":  good,
		"sale.en_US.yml":   good,
		"offer.fr.yaml":    strings.Replace(good, "name: sale", "name: offers", 1),
		"media.en_US.yaml": strings.NewReplacer("name: sale", "name: media", "banner.jpg", "../banner.jpg").Replace(withMedia),
		"none.en_US.yaml":  strings.Replace(withMedia, "name: sale", "name: none", 1),
		"text.en_US.yaml":  strings.Replace(strings.Replace(good, "name: sale", "name: text", 1), "text: Spring", "text: Spring, file: a.jpg", 1),
	})
	_, err := ReadFolder(dir)
	if err == nil {
		t.Fatal("got no fault, want six")
	}
	for _, want := range []string{
		"copy.en_US.yaml:1:1: name: sale.en_US.yaml is for sale in en_US too; keep one of the two files",
		"sale.en_US.yml:1:1: name: sale.en_US.yaml is for sale in en_US too",
		"offer.fr.yaml:1:1: name: the file for offers in en_US is called offers.en_US.yaml; rename",
		`media.en_US.yaml:5:35: components[0].file: "../banner.jpg" is not in the folder of the template file`,
		"none.en_US.yaml:5:35: components[0].file:",
		"text.en_US.yaml:5:48: components[0].file: only a header of format IMAGE",
	} {
		if !strings.Contains(err.Error(), filepath.Join(dir, want)) {
			t.Errorf("got\n%v\nwant %q in it", err, want)
		}
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != 6 {
		t.Errorf("got %d faults, want 6:\n%v", got, err)
	}
}

func TestAFolderWithoutTemplatesIsAFault(t *testing.T) {
	for dir, want := range map[string]string{folder(t, nil): "write NAME.LANGUAGE.yaml there",
		filepath.Join(t.TempDir(), "absent"): "make it with a file NAME.LANGUAGE.yaml"} {
		if all, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), want) || len(all) > 0 {
			t.Errorf("%s: got %v and %v, want %q", dir, all, err, want)
		}
	}
}
