//go:build unix

package schedule

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer would block the start for ever, and the end too. The text of a file
// outside, which a link leads to, is not told.
func TestAFolderWithPipesAndLinksIsRead(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "campaigns"), filepath.Join(base, "passwords")
	if err := errors.Join(os.Mkdir(dir, 0o700), syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600),
		os.Symlink("/dev/zero", filepath.Join(dir, "device.yaml")), os.WriteFile(outside, []byte("password: hush\n"), 0o600),
		os.Symlink(outside, filepath.Join(dir, "link.yaml")), os.Symlink("../passwords", filepath.Join(dir, "up.yaml")),
		os.WriteFile(filepath.Join(dir, "good.yaml"), []byte(springFile+"schedule: {cron: \"@daily\"}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	all, err := Read(dir)
	if len(all) != 1 || filepath.Base(all[0].File) != "good.yaml" {
		t.Errorf("got %v, want good.yaml alone", all)
	}
	if err == nil {
		t.Fatal("got no fault, want four")
	}
	for _, name := range []string{"pipe.yaml", "device.yaml", "link.yaml", "up.yaml"} {
		if n := strings.Count(err.Error(), filepath.Join(dir, name)); n != 1 {
			t.Errorf("%s is named %d times in %q, want once", name, n, err)
		}
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("got %q, want nothing of the file outside", err)
	}
}

// The folder is on a file system that fails for a while, here a link that leads to itself.
func TestAnUnreadableFolderKeepsItsCampaigns(t *testing.T) {
	base := t.TempDir()
	dir, away := filepath.Join(base, "[campaigns]"), filepath.Join(base, "away")
	if err := errors.Join(os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "good.yaml"), []byte(springFile+"schedule: {cron: \"@daily\"}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	d := NewFolder(dir)
	if all, err := d.Look(); err != nil || len(all) != 1 {
		t.Fatalf("got %v, %v, want one campaign", all, err)
	}
	if err := errors.Join(os.Rename(dir, away), os.Symlink(dir, dir)); err != nil {
		t.Fatal(err)
	}
	if all, err := d.Look(); !errors.Is(err, syscall.ELOOP) || len(all) != 1 {
		t.Errorf("an unreadable folder: got %v, %v, want an error and the one campaign", all, err)
	}
	if files, err := Files(dir); err == nil {
		t.Errorf("CampaignFiles of an unreadable folder = %v, nil, want an error", files)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(away, dir)); err != nil {
		t.Fatal(err)
	}
	if all, err := d.Look(); err != nil || len(all) != 1 {
		t.Errorf("the folder is back: got %v, %v, want one campaign", all, err)
	}
}
