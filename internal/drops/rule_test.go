package drops

import (
	"strings"
	"testing"

	"campaignd/internal/uploads"
	"campaignd/recipients"
)

// A list that the reader would refuse is not taken, whichever way it comes.
func TestADroppedListIsAsLargeAsAnUpload(t *testing.T) {
	for size, want := range map[int64]string{uploads.MaxList: "", uploads.MaxList + 1: "a list has at most 4294967296; divide it"} {
		if got := fault(Object{Key: "list.csv", Size: size}); (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("a list of %d bytes: got %q, want %q at its end", size, got, want)
		}
	}
	if got, want := int64(maxSize), int64(recipients.MaxSize); got != want {
		t.Errorf("drops take %d bytes, the reader %d; want the same", got, want)
	}
}
