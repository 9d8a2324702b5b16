package drops_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"campaignd/internal/drops"
)

// A folder as a bucket: a file moves and replaces nothing.
func ExampleOpenFolder() {
	dir, err := os.MkdirTemp("", "inbox-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "list.csv"), []byte("phone\n+2348031234567\n"), 0o600); err != nil {
		panic(err)
	}
	b, ctx := drops.OpenFolder(dir), context.Background()
	for o, err := range b.List(ctx, "") {
		fmt.Println(o.Key, o.Size, err)
		fmt.Println(b.Move(ctx, o, "done/list.csv"))
		fmt.Println(errors.Is(b.Create(ctx, "done/list.csv", nil), fs.ErrExist))
	}
	// Output:
	// list.csv 21 <nil>
	// <nil>
	// true
}
