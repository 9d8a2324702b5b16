package commerce

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"campaignd/internal/secret"
)

// ReadToken reads the access token of a file that KeepToken wrote. The error has CodeNotConnected
// if there is no file.
func ReadToken(file string) (secret.Value, error) {
	written, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return secret.Value{}, &Error{Code: CodeNotConnected}
	}
	if err != nil {
		return secret.Value{}, fmt.Errorf("the access token cannot be read: %w", err)
	}
	token := secret.New(strings.TrimSpace(string(written)))
	if token.IsZero() || CheckSecret(token) != nil {
		return secret.Value{}, fmt.Errorf("%s does not hold an access token: remove it and run `campaignd commerce connect`", file)
	}
	return token, nil
}

// KeepToken writes an access token to a file that only its owner may read. A file of before is
// replaced in one step, so that a crash leaves the old token or the new one.
func KeepToken(file string, token secret.Value) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("the access token cannot be kept: %w", err)
	}
	_, err = f.WriteString(token.Reveal() + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("the access token cannot be kept: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
