package filelock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"campaignd/internal/filelock"
)

func Example() {
	dir, err := os.MkdirTemp("", "filelock-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := filelock.Take(filepath.Join(dir, "campaignd.db.lock"))
	if err != nil {
		panic(err)
	}
	var held *filelock.HeldError
	_, err = filelock.Take(filepath.Join(dir, "campaignd.db.lock"))
	fmt.Println(errors.As(err, &held), l.Release())
	// Output: true <nil>
}
