package client_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"campaignd/internal/client"
)

func TestTheAccessIsForItsUserAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.api")
	if _, err := client.ReadAccess(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: got %v, want %v", err, os.ErrNotExist)
	}
	for range 2 { // the second replaces the file that a killed process left
		want := client.NewAccess("http://127.0.0.1:1")
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
		if got, err := client.ReadAccess(path); err != nil || got != want || len(got.Key) != 64 {
			t.Errorf("got %+v and %v, want %+v", got, err, want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v (%v), want 0600", info.Mode(), err)
	}
}

func ExampleAccess_Client() {
	access, err := client.ReadAccess("campaignd.db.api")
	if err != nil {
		return // nobody serves
	}
	beside, err := access.Client()
	if err != nil {
		return
	}
	_, _ = beside.Launch(context.Background(), client.Launch{Campaign: "spring.yaml", List: "list.csv"})
	// Output:
}
