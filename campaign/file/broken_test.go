package file

import (
	"errors"
	"strings"
	"testing"
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
