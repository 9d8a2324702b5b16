package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// An operator who reads that nothing more is sent stops a campaign that goes on.
func TestTheFullDiskOfABackupIsNotTheLedgers(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var full error
	for _, query := range []string{"PRAGMA max_page_count = 2", "CREATE TABLE x (a)", "INSERT INTO x VALUES (zeroblob(100000))"} {
		_, full = db.ExecContext(t.Context(), query)
	}
	got := backupFault("c.db", "/mnt/b.db", full).Error()
	if !Full(full) || !strings.HasPrefix(got, "back up to /mnt/b.db: its disk is full: name a file on another disk") ||
		strings.Contains(got, "nothing more is sent") || strings.Contains(got, "c.db") {
		t.Errorf("got %q, want the disk of the copy alone", got)
	}
}
