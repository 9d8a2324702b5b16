package config

import (
	"errors"
	"io"
	"os"

	"campaignd/internal/messaging"
)

// KeepSecret adds a signing secret as a line to a file that CAMPAIGND_WEBHOOKS_SECRETS_FILE can
// name. The secrets that the file has stay.
func KeepSecret(path string, secret messaging.Secret) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	text := secret.Reveal() + "\n"
	if was, err := io.ReadAll(io.LimitReader(f, 64<<10)); err == nil && len(was) > 0 && was[len(was)-1] != '\n' {
		text = "\n" + text
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
