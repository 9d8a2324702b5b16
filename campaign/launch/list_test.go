package launch_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"

	"campaignd/campaign/launch"
	"campaignd/recipients"
)

// A compressed list keeps megabytes in its decoder. Close frees them: the decoder gives nothing
// afterwards.
func TestAClosedListHasFreedItsDecoder(t *testing.T) {
	var text, packed bytes.Buffer
	text.WriteString("to,name\n")
	for i := range 20_000 { // more than is decoded ahead
		fmt.Fprintf(&text, "+23480312%05d,Ada\n", i)
	}
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := launch.OpenList(writeFile(t, "list.csv", packed.String()), recipients.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: got %v, want nil", err)
	}
	rows := 0
	for err == nil {
		if _, err = l.Next(); err == nil {
			rows++
		}
	}
	if rows == 20_000 {
		t.Errorf("after Close: got all %d rows (%v), want those that were decoded before", rows, err)
	}
}
