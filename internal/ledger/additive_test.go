package ledger_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A rolling upgrade and the way back need migrations that an older program does not notice. The
// first one makes a whole ledger.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	takes := regexp.MustCompile(`(?i)\b(drop|rename|alter column|truncate|delete from)\b.*`)
	dropped := regexp.MustCompile(`(?i)drop trigger (\w+);`)
	added := regexp.MustCompile(`(?i)add column [^,;]*`)
	seen := 0
	for _, backend := range []string{"sqlite", "postgres"} {
		files, err := filepath.Glob(filepath.Join(backend, "migrations", "*.sql"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			up, _, _ := strings.Cut(string(text), "-- +goose Down")
			up = regexp.MustCompile(`--.*`).ReplaceAllString(up, "")
			seen++
			for _, trigger := range dropped.FindAllStringSubmatch(up, -1) { // SQLite replaces one by dropping it
				if strings.Contains(up, "CREATE TRIGGER "+trigger[1]+" ") {
					up = strings.Replace(up, trigger[0], "", 1)
				}
			}
			if found := takes.FindString(up); found != "" {
				t.Errorf("%s: got %q, want a migration that only adds, or one that begins a generation", file, found)
			}
			for _, column := range added.FindAllString(up, -1) {
				if upper := strings.ToUpper(column); strings.Contains(upper, "NOT NULL") && !strings.Contains(upper, "DEFAULT") {
					t.Errorf("%s: got %q, want a default for the rows of an older program", file, column)
				}
			}
		}
	}
	if seen < 14 {
		t.Errorf("got %d migrations, want at least 14", seen)
	}
}
