package operator_test

import (
	"os"
	"path/filepath"
	"testing"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/operator"
)

// An erasure counts the lists that still have the number: staged ones, and those of an import.
func TestAnErasureCountsUploadedLists(t *testing.T) {
	dir := t.TempDir()
	d := &operator.Session{Ledger: sqlitetest.Open(t, ledger.Options{}), UploadsIn: dir}
	for _, step := range []struct {
		file string
		want int64
	}{{"", 0}, {"other.csv", 0}, {"staged-0123", 1}, {"upload-1/campaign-a.yaml", 1}, {"upload-1/list-a.csv", 2}} {
		if step.file != "" {
			path := filepath.Join(dir, step.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("+2348031234567\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if done, err := d.Erase(t.Context(), "+2348031234567"); err != nil || done.Lists != step.want {
			t.Errorf("with %q: got %d lists and %v, want %d", step.file, done.Lists, err, step.want)
		}
	}
}
