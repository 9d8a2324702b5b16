package operator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
)

func Example() {
	dir, err := os.MkdirTemp("", "campaignd")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	l, err := sqlite.Open(context.Background(), filepath.Join(dir, "campaignd.db"), ledger.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	session := operator.Session{Ledger: l, By: operator.LocalUser()}
	key, err := session.CreateKey(context.Background(), "dashboard", "read", "", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	id, ok := operator.SecretID(key.Secret)
	fmt.Println(key.Name, key.Scope, ok && id == key.ID)
	// Output: dashboard read true
}
