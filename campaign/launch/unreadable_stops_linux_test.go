package launch_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/recipients"
)

// A file of opt-outs that cannot be read is an error with the file's name; it never counts as
// empty.
func TestSuppressionsThatMayNotBeReadAreNamed(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := overwrite(t, filepath.Join(dir, "stop.csv"), "to\n+2348031234501\n")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	l := openLedger(t)
	asNobody(func() {
		counts, err := launch.ImportSuppressions(t.Context(), l, launch.SuppressionFile{Path: path, Scope: campaign.ScopeAll})
		var bad *recipients.FileError
		if counts != (launch.SuppressionCounts{}) || !errors.Is(err, fs.ErrPermission) || !errors.As(err, &bad) ||
			bad.File != path || bad.Remedy != "check its path and permissions" {
			t.Errorf("import: got %+v, %v, want nothing and %v of %s", counts, err, fs.ErrPermission, path)
		}
		if sum, size, err := recipients.Hash(path); sum != "" || size != 0 || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("hash: got %q of %d bytes, %v, want none and %v", sum, size, err, fs.ErrPermission)
		}
	})
}
