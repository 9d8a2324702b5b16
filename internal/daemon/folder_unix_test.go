//go:build unix

package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer would hold the start up for ever, and the end too. The text of a file
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
	all, err := ReadSchedule(dir)
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
