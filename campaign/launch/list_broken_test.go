package launch

import (
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A list that cannot be read to its end has no sum, rather than that of its beginning.
func TestAListThatBreaksOffHasNoSum(t *testing.T) {
	broken := errors.New("input/output error")
	l := &List{raw: io.MultiReader(strings.NewReader("to\n"), iotest.ErrReader(broken)), sum: sha256.New()}
	if got, err := l.Sum(); got != "" || !errors.Is(err, broken) {
		t.Errorf("got %q, %v, want no sum and %v", got, err, broken)
	}
}
