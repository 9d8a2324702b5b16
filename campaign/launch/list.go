package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"campaignd/campaign/file"
	"campaignd/recipients"
)

// ErrListChanged says that the list is not the one that the run was created for.
var ErrListChanged = errors.New("the list has changed since the run was created")

// List is a list being read. The bytes that are hashed are the bytes that are read, so an exchange
// of the file in between is noticed.
type List struct {
	*recipients.Reader
	file *os.File
	raw  io.Reader // the file; each byte read also goes into sum
	sum  hash.Hash
}

// ListFaults returns why the list at path cannot be read, or which columns it lacks, with the names
// of its columns. It is for readers who have the list: a log may have more of them
// (Request.Unattended).
func ListFaults(d *file.Definition, path string) []file.Finding {
	c := &check{in: PreflightInput{List: path}, d: d, p: &Preflight{}}
	list, err := OpenList(path, d.ListOptions(path))
	if err != nil {
		c.fault(err)
		return c.p.Findings
	}
	for _, m := range d.Missing(list.Header()) {
		c.p.Findings = append(c.p.Findings, file.Finding{Level: file.LevelError, Where: m.Path, What: m.What, Remedy: m.Remedy})
	}
	_ = list.Close() // it was only read
	return c.p.Findings
}

// OpenList opens the list at path. The error is a *recipients.FileError, or names a wrong option.
func OpenList(path string, o recipients.Options) (*List, error) {
	f, err := recipients.OpenFile(path, o.Within)
	if err != nil {
		return nil, err
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
