package service

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// stuck is a file whose n-th seek fails and leaves the position unchanged.
type stuck struct {
	*strings.Reader
	n int
}

func (s *stuck) Seek(offset int64, whence int) (int64, error) {
	if s.n--; s.n == 0 {
		return 0, errors.New("illegal seek")
	}
	return s.Reader.Seek(offset, whence)
}

// A file that cannot seek, such as a pipe, has no known length. A file that can is read from its
// position.
func TestAFileThatCannotSeekHasNoLength(t *testing.T) {
	for n, want := range map[int]int64{1: -1, 2: -1, 3: -1, 4: 4} {
		r := strings.NewReader("0123456789")
		r.Seek(6, io.SeekStart)
		file := struct{ io.ReadSeeker }{&stuck{r, n}} // without Len
		if got := remaining(file); got != want {
			t.Errorf("seek %d fails: %d bytes remain, want %d", n, got, want)
		}
		if rest, err := io.ReadAll(file); n > 3 && (err != nil || string(rest) != "6789") {
			t.Errorf("seek %d fails: then %q, %v is read, want 6789", n, rest, err)
		}
	}
}
