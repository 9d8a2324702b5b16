package uploads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// Piece is the bytes of the list for each SHA-256 in a Sum.
const Piece = 8 << 20

// Sum returns the SHA-256 of the SHA-256s of all pieces of a list, in hexadecimal; the last piece
// may be shorter than Piece. A browser can compute it of a file that does not fit into memory,
// because it hashes one piece at a time, and never goes on with a hash.
func Sum(ctx context.Context, list io.Reader) (string, error) {
	all := sha256.New()
	for {
		one := sha256.New()
		n, err := io.CopyN(one, list, Piece)
		if n > 0 {
			all.Write(one.Sum(nil))
		}
		if err = errors.Join(ctx.Err(), notEnd(err)); err != nil {
			return "", err
		}
		if n < Piece {
			return hex.EncodeToString(all.Sum(nil)), nil
		}
	}
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Fits returns a fault if a list of size bytes has more than a list may have. Callers ask it before
// they store anything.
func (f *Folder) Fits(size int64) error { return Fits(size, f.Limit) }

// Fits is Folder.Fits for callers that have another's limit.
func Fits(size, limit int64) error {
	if size > limit {
		return &Fault{TooLarge, fmt.Sprintf("a list has at most %s; divide it, and send each part as a campaign of its own", binary(limit)), 0}
	}
	return nil
}

// Whole takes a list that comes at once, in place of what has come under its name. Nobody else
// writes to the name until it ends. Nothing stays of a list that is refused.
func (f *Folder) Whole(name string, list io.Reader) (u Upload, err error) {
	if err := f.begin(name); err != nil {
		return u, err
	}
	defer f.release(name)
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return u, err
	}
	if err := f.remove(name); err != nil {
		return u, err
	}
	free, err := f.free(true)
	if err != nil {
		return u, err
	}
	if err = f.write(name, 0, io.LimitReader(list, min(free, f.Limit)+1)); err == nil {
		u, err = f.Look(name)
	}
	switch {
	case err != nil:
	case u.Received > f.Limit:
		err = f.Fits(u.Received)
	case u.Received > free:
		err = f.noRoom()
	default:
		return u, nil
	}
	return Upload{}, errors.Join(err, f.remove(name))
}

// Replace puts the list that has come under a name in place of the list by. If sum is not "" and
// not the Sum of the list, Replace removes the list that has come: its parts are not of one file. A
// second call with the same sum, as after an answer that was lost, has the same result.
func (f *Folder) Replace(ctx context.Context, name, by, sum string) (Upload, error) {
	if err := f.hold(name); err != nil {
		return Upload{}, err
	}
	defer f.release(name)
	if err := f.hold(by); err != nil {
		return Upload{}, err
	}
	defer f.release(by)
	_, missing := f.Look(name)
	if is(missing, NotFound) && sum != "" {
		if got, err := f.sumOf(ctx, by); err != nil || got != sum {
			return Upload{}, errors.Join(err, missing)
		}
		return f.Look(by)
	}
	if missing != nil {
		return Upload{}, missing
	}
	if sum != "" {
		got, err := f.sumOf(ctx, name)
		if err != nil {
			return Upload{}, err
		}
		if got != sum {
			return Upload{}, errors.Join(&Fault{WrongHash, "the list changed while it was sent, or two were sent at once; upload it again", 0},
				f.remove(name))
		}
	}
	if err := os.Rename(f.path(name), f.path(by)); err != nil {
		return Upload{}, err
	}
	return f.Look(by)
}

// sumOf returns the Sum of what has come of a list; "": nothing has.
func (f *Folder) sumOf(ctx context.Context, name string) (string, error) {
	list, err := os.Open(f.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer list.Close()
	return Sum(ctx, list)
}
