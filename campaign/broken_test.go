package campaign

import (
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// unread is a file that is there and cannot be read.
type unread struct{ err error }

func (u unread) ReadAt([]byte, int64) (int, error) { return 0, u.err }

// A header file is not taken for another one because a read of it failed.
func TestAMediumThatCannotBeReadIsNamed(t *testing.T) {
	broken := errors.New("input/output error")
	got, err := mediaTypeOf(unread{broken}, "document", "dir/offer.txt")
	if want := "dir/offer.txt: " + broken.Error(); got != "" || !errors.Is(err, broken) || err.Error() != want {
		t.Errorf("got %q, %v, want %s", got, err, want)
	}
	if got, err := mediaTypeOf(strings.NewReader("hello"), "document", "dir/offer.TXT"); err != nil || got != "text/plain" {
		t.Errorf("got %q, %v, want text/plain", got, err)
	}
}

// A list that cannot be read to its end has no sum, rather than that of its beginning.
func TestAListThatBreaksOffHasNoSum(t *testing.T) {
	broken := errors.New("input/output error")
	l := &List{raw: io.MultiReader(strings.NewReader("to\n"), iotest.ErrReader(broken)), sum: sha256.New()}
	if got, err := l.Sum(); got != "" || !errors.Is(err, broken) {
		t.Errorf("got %q, %v, want no sum and %v", got, err, broken)
	}
}
