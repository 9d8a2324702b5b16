package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"campaignd/recipients"
)

// ErrListChanged says that the list is not the one that the run was created for.
var ErrListChanged = errors.New("the list has changed since the run was created")

// Options returns how the audience's list is to be read.
func (a Audience) Options() recipients.Options {
	return recipients.Options{
		Delimiter: a.Delimiter, Encoding: a.Encoding, DefaultRegion: a.DefaultRegion, Validate: a.Validate, Columns: a.Columns,
	}
}

// List is a list being read. The bytes that are hashed are the bytes that are read, so an exchange
// of the file in between is noticed.
type List struct {
	*recipients.Reader
	file *os.File
	raw  io.Reader // the file; each byte read also goes into sum
	sum  hash.Hash
}

// OpenList opens the list at path. The error is a *recipients.FileError, or names a wrong option.
func OpenList(path string, o recipients.Options) (*List, error) {
	st, err := os.Stat(path)
	if err == nil && (!st.Mode().IsRegular() || st.Size() == 0) || err != nil {
		r, err := recipients.Open(path, o) // returns the sentence for each of these faults
		if err == nil {
			err = errors.Join(&recipients.FileError{File: path, Message: "the list changed while it was opened", Remedy: "try again"}, r.Close())
		}
		return nil, err
	}
	f, err := os.Open(path) //nolint:gosec // the operator names the list
	if err != nil {
		return nil, &recipients.FileError{File: path, Message: "the list cannot be opened", Err: err, Remedy: "check its permissions"}
	}
	l := &List{file: f, sum: sha256.New()}
	l.raw = io.TeeReader(f, l.sum)
	if l.Reader, err = recipients.NewReader(l.raw, path, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// Sum is the SHA-256 (lower-case hex) of the whole file, as recipients.Hash computes it. It reads
// the rest of the file; Next must not be called afterwards.
func (l *List) Sum() (string, error) {
	if _, err := io.Copy(io.Discard, l.raw); err != nil {
		return "", fmt.Errorf("read the list to its end: %w", err)
	}
	return hex.EncodeToString(l.sum.Sum(nil)), nil
}

// Close closes the file.
func (l *List) Close() error { return errors.Join(l.Reader.Close(), l.file.Close()) }
