package drops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A connection that breaks again and again costs no byte twice.
func TestABrokenReadIsResumed(t *testing.T) {
	s := newStore(t)
	list := bytes.Repeat([]byte("+2348031234567\n"), 100_000)
	s.write("list.csv", string(list))
	o := s.stat("list.csv")
	s.cut.Store(int64(len(list)/5) + 1)
	k := &task{Watcher: New(Options{}), p: &watched{Rule: Rule{Bucket: s}}, dir: t.TempDir()}
	k.f.Key, k.f.ETag, k.f.Size = o.Key, o.ETag, o.Size
	path, err := k.fetch(t.Context())
	s.ok(err)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, list) || len(k.f.Hash) != 64 {
		t.Errorf("got %d bytes, %v and the hash %q, want %d bytes", len(got), err, k.f.Hash, len(list))
	}
	s.cut.Store(0)
	s.write("list.csv", "phone\n")
	if _, err = k.fetch(t.Context()); !errors.Is(err, ErrChanged) {
		t.Errorf("replaced after it was read: got %v, want ErrChanged", err)
	}
}

// A machine that lost its power may have the length of a list on its disk, and not all of the text.
func TestASpoolThatLostItsTextIsReadAnew(t *testing.T) {
	s := newStore(t)
	list := bytes.Repeat([]byte("+2348031234567\n"), 3*checkpointBytes/15)
	s.write("list.csv", string(list))
	o := s.stat("list.csv")
	sum := sha256.Sum256(list)
	const died = 2*checkpointBytes + 1<<20
	for _, tt := range []struct {
		name        string
		died, power int // bytes that the process had read; of those, zeros from here on
		least, most int // bytes that the next process reads
	}{
		{"killed", died, -1, len(list) - died, len(list) - 2*checkpointBytes},
		{"killed early", 777, -1, len(list) - 777, len(list)},
		{"no power", died, checkpointBytes, len(list), len(list)},
		{"no power, the end is gone", died, died - 100, len(list) - died, len(list) - 2*checkpointBytes},
		{"complete", len(list), -1, 0, 0},
		{"complete, no power", len(list), 100, len(list), len(list)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			read := func(most int64) (path, hash string, got int64, err error) {
				b := &counted{S3: s.S3, most: most}
				k := &task{Watcher: New(Options{}), p: &watched{Rule: Rule{Bucket: b}}, dir: dir}
				k.f.Key, k.f.ETag, k.f.Size = o.Key, o.ETag, o.Size
				path, err = k.fetch(t.Context())
				return path, k.f.Hash, b.n, err
			}
			if path, _, n, err := read(int64(tt.died)); (err == nil) != (tt.died == len(list)) || n != int64(tt.died) {
				t.Fatalf("got %s, %d bytes and %v, want %d bytes read", path, n, err, tt.died)
			}
			if tt.power >= 0 {
				f, err := os.OpenFile(filepath.Join(dir, "list", "list.csv"), os.O_WRONLY, 0)
				s.ok(err)
				_, err = f.WriteAt(make([]byte, tt.died-tt.power), int64(tt.power))
				s.ok(errors.Join(err, f.Close()))
			}
			path, hash, n, err := read(int64(len(list)))
			s.ok(err)
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, list) || hash != hex.EncodeToString(sum[:]) {
				t.Errorf("got %d bytes, %v and the hash %s, want the list and %x", len(got), err, hash, sum)
			}
			if n < int64(tt.least) || n > int64(tt.most) {
				t.Errorf("%d bytes were read, want %d to %d", n, tt.least, tt.most)
			}
		})
	}
}

// counted is a bucket that counts the bytes that are read, and fails after most of them.
type counted struct {
	*S3
	n, most int64
}

func (b *counted) Open(ctx context.Context, o Object, offset int64) (io.ReadCloser, error) {
	r, err := b.S3.Open(ctx, o, offset)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(io.LimitReader(r, b.most-b.n), b), r}, nil
}

func (b *counted) Write(p []byte) (int, error) {
	b.n += int64(len(p))
	return len(p), nil
}
