package drops

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"campaignd/campaign"
)

// checkpointBytes is the most that is read again after a process has died.
const checkpointBytes = 4 << 20

// spoolName is the name of a file's folder in the spool. It names the claim of a version: another
// ledger, and one that went back in time, give the number to another file, for which nothing that
// was read or rejected of this one may be taken.
func spoolName(f campaign.DroppedFile) string {
	claim := fmt.Sprintf("%q %q %q %d", f.Bucket, f.Key, f.ETag, f.TakenAt.UnixMilli())
	return fmt.Sprintf("%d-%x", f.No, sha256.Sum256([]byte(claim)))
}

// spool is a list that is being read. Its checkpoint is a small file beside it with a length, and
// the hash of that many bytes of the list. Only what the hash proves is kept: after a loss of power
// a file can have its length, and zeros in place of text. No write needs to be synced to the disk.
type spool struct {
	file *os.File
	sum  hash.Hash // of what it has
	have int64     // bytes
	last int64     // bytes at the last checkpoint
	path string    // of the checkpoint
}

func newSpool(f *os.File, dir string) *spool {
	return &spool{file: f, sum: sha256.New(), path: filepath.Join(dir, "checkpoint")}
}

// Write appends to the list.
func (s *spool) Write(p []byte) (n int, err error) {
	n, err = s.file.Write(p)
	s.have += int64(n)
	_, _ = s.sum.Write(p[:n]) // never fails
	if err == nil && s.have-s.last >= checkpointBytes {
		err = s.checkpoint()
	}
	return n, err
}

// checkpoint writes a checkpoint.
func (s *spool) checkpoint() error {
	s.last = s.have
	return os.WriteFile(s.path, fmt.Appendf(nil, "%d %x\n", s.have, s.sum.Sum(nil)), 0o600)
}

// resume goes to the end of what the last checkpoint proves, and removes the rest. f is the file
// that is read; a list without a proof, or one that is longer than f, begins anew.
func (s *spool) resume(f campaign.DroppedFile) error {
	text, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var length int64
	var proof []byte
	if n, _ := fmt.Sscanf(string(text), "%d %x", &length, &proof); n == 2 && length <= f.Size {
		if s.have, err = io.Copy(s.sum, io.LimitReader(s.file, length)); err != nil {
			return err
		}
	}
	if s.have != length || string(s.sum.Sum(nil)) != string(proof) || len(proof) != sha256.Size {
		s.have = 0
		s.sum.Reset()
	}
	s.last = s.have
	if err := s.file.Truncate(s.have); err != nil {
		return err
	}
	_, err = s.file.Seek(s.have, io.SeekStart)
	return err
}
