package drops

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"campaignd/campaign"
)

// object is the version that was claimed.
func (t *task) object() Object { return Object{Key: t.f.Key, ETag: t.f.ETag, Size: t.f.Size} }

// list is the path of the list in the spool.
func (t *task) list() string {
	name := path.Base(t.f.Key)
	if !filepath.IsLocal(name) || strings.ContainsAny(name, `\:`) {
		name = "list.csv"
	}
	return filepath.Join(t.dir, "list", name)
}

// rejects is the path of the rejected rows in the spool.
func (t *task) rejects() string { return filepath.Join(t.dir, "rejected.csv") }

// readsAtOnce is how often the reading of a file is resumed before it counts as failed. Only tries
// that read nothing count.
const readsAtOnce = 3

// fetch reads the claimed version into the spool, from where an earlier try stopped, and computes
// its hash. At the end the bucket must still have that version, unless a run has the list: a copy
// that went on after a pause is not taken.
func (t *task) fetch(ctx context.Context) (list string, err error) {
	list = t.list()
	if err := t.forgetOthers(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(list), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(list, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a local name in our own folder
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s := newSpool(f, t.dir)
	if err := s.resume(t.f); err != nil {
		return "", err
	}
	for tries := 0; s.have < t.f.Size; {
		n, err := t.read(ctx, s)
		if n > 0 {
			tries = 0
		}
		if tries++; err != nil && (tries >= readsAtOnce || ctx.Err() != nil || errors.Is(err, ErrChanged) || errors.Is(err, os.ErrNotExist)) {
			return "", err
		}
	}
	if s.have > t.f.Size {
		return "", ErrChanged
	}
	if err := s.checkpoint(); err != nil {
		return "", err
	}
	hash := hex.EncodeToString(s.sum.Sum(nil))
	if hash == t.own.ListHash { // the run exists, so its list was whole
		return list, nil
	}
	now, err := t.p.Bucket.Stat(ctx, t.f.Key)
	if err != nil {
		return "", err
	}
	if now.ETag != t.f.ETag {
		return "", ErrChanged
	}
	t.f.Hash = hash
	return list, nil
}

// read appends what the version has from the end of the spool on.
func (t *task) read(ctx context.Context, s *spool) (n int64, err error) {
	r, err := t.p.Bucket.Open(ctx, t.object(), s.have)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(s, io.LimitReader(r, t.f.Size-s.have+1))
	if err = errors.Join(err, r.Close()); err == nil && s.have < t.f.Size {
		err = fmt.Errorf("%w after %d of %d bytes", io.ErrUnexpectedEOF, s.have, t.f.Size)
	}
	return n, err
}

// forgetOthers removes what the spool has of other files with the number of this one.
func (t *task) forgetOthers() error {
	entries, err := os.ReadDir(t.o.Spool)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if no, _, _ := strings.Cut(e.Name(), "-"); no == fmt.Sprint(t.f.No) && e.Name() != filepath.Base(t.dir) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(t.o.Spool, e.Name())))
		}
	}
	return err
}

// clean removes the spool of the file, unless the ledger still needs the list.
func (t *task) clean(run campaign.Run) error {
	if run.State == campaign.Importing {
		return nil
	}
	return os.RemoveAll(t.dir)
}
