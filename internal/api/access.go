package api

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Access is how a process of this user reaches the API.
type Access struct {
	URL string `json:"url"` // scheme, host and port
	Key string `json:"key"`
}

// NewAccess draws a key.
func NewAccess(url string) Access {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return Access{url, hex.EncodeToString(key)}
}

// Write writes the file at path, readable by its owner alone, in one step.
func (a Access) Write(path string) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the file with the API's address: %w", err)
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // beside the ledger
	if err != nil {
		return fmt.Errorf("the file with the API's address: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return fmt.Errorf("the file with the API's address: %w", err)
	}
	return nil
}

// ReadAccess reads the file at path. The error wraps fs.ErrNotExist if nobody serves the API there.
func ReadAccess(path string) (a Access, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // beside the ledger
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}
