package drops

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
)

// copied returns fs.ErrExist unless p is a copy of o. It compares two objects once.
func (b *S3) copied(ctx context.Context, o, p Object) error {
	pair := [2]Object{o, p}
	b.mu.Lock()
	same := b.copies[pair]
	b.mu.Unlock()
	if same {
		return nil
	}
	same, err := b.equal(ctx, o, p)
	if err != nil {
		return err
	}
	if !same {
		return fs.ErrExist
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.copies == nil {
		b.copies = map[[2]Object]bool{}
	}
	b.copies[pair] = true
	return nil
}

// equal reports whether two objects have the same content. Equal ETags prove it. Different ones
// prove nothing: an object that was uploaded in parts, or is encrypted with a key of the service,
// has another ETag than its copy (https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html).
func (b *S3) equal(ctx context.Context, o, p Object) (bool, error) {
	if o.Size != p.Size || o.contentTag() == p.contentTag() {
		return o.Size == p.Size, nil
	}
	var sums [2][sha256.Size]byte
	for i, o := range []Object{o, p} {
		r, err := b.Open(ctx, o, 0)
		if err != nil {
			return false, err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, r)
		if err = errors.Join(err, r.Close()); err != nil {
			return false, err
		}
		sum.Sum(sums[i][:0])
	}
	return sums[0] == sums[1], nil
}
