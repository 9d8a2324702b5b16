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
		International: a.International, Skip: a.Skip, SkipBelow: a.SkipBelow, SkipLast: a.SkipLast,
	}
}

// ListOptions returns how the list at path is to be read. The list that the campaign file names
// must lie in the folder of that file; one that the operator names may lie anywhere.
func (d *Definition) ListOptions(path string) recipients.Options {
	o := d.Recipients.Options()
	o.HideNames = d.unattended
	if d.folder != "" && path == within(d.folder, d.Recipients.File) {
		o.Within = d.folder
	}
	return o
}

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
// (Launch.Unattended).
func ListFaults(d *Definition, path string) []Finding {
	c := &check{in: PreflightInput{List: path}, d: d, p: &Preflight{}}
	list, err := OpenList(path, d.ListOptions(path))
	if err != nil {
		c.fault(err)
		return c.p.Findings
	}
	_, missing := d.compile(list.Header())
	for _, m := range missing {
		c.p.Findings = append(c.p.Findings, Finding{Level: LevelError, Where: m.path, What: m.what, Remedy: m.remedy})
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
