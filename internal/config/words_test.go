package config

import (
	"os"
	"path/filepath"
	"testing"
)

// write writes a file into a new folder and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// errorText returns the text of err, and "no error" for nil.
func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
