package drops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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

// readsAtOnce is how often the reading of a file is resumed before it counts as failed. Only tries that
// brought nothing count.
const readsAtOnce = 3

// fetch reads the claimed version into the spool, from where an earlier try stopped, and computes its
// hash. At the end the bucket must still have that version: a copy that went on after a pause is not
// taken.
func (t *task) fetch(ctx context.Context) (list string, err error) {
	list = t.list()
	if err := os.MkdirAll(filepath.Dir(list), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(list, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a local name in our own folder
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	have, err := io.Copy(sum, f)
	if err != nil {
		return "", err
	}
	if have > t.f.Size {
		sum.Reset()
		if have, err = f.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		if err := f.Truncate(0); err != nil {
			return "", err
		}
	}
	for tries := 0; have < t.f.Size; {
		n, err := t.read(ctx, f, sum, have)
		have += n
		if n > 0 {
			tries = 0
		}
		if tries++; err != nil && (tries >= readsAtOnce || ctx.Err() != nil || errors.Is(err, ErrChanged) || errors.Is(err, os.ErrNotExist)) {
			return "", err
		}
	}
	if have > t.f.Size {
		return "", ErrChanged
	}
	now, err := t.p.Bucket.Stat(ctx, t.f.Key)
	if err != nil {
		return "", err
	}
	if now.ETag != t.f.ETag {
		return "", ErrChanged
	}
	t.f.Hash = hex.EncodeToString(sum.Sum(nil))
	return list, nil
}

// read appends to f and sum what the version has from an offset on.
func (t *task) read(ctx context.Context, f io.Writer, sum hash.Hash, offset int64) (n int64, err error) {
	r, err := t.p.Bucket.Open(ctx, t.object(), offset)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(io.MultiWriter(f, sum), io.LimitReader(r, t.f.Size-offset+1))
	if err = errors.Join(err, r.Close()); err == nil && offset+n < t.f.Size {
		err = fmt.Errorf("%w after %d of %d bytes", io.ErrUnexpectedEOF, offset+n, t.f.Size)
	}
	return n, err
}

// clean removes the spool of the file, unless the ledger still needs the list.
func (t *task) clean(run campaign.Run) error {
	if run.State == campaign.Importing {
		return nil
	}
	return os.RemoveAll(t.dir)
}
