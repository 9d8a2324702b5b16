package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
)

// A run whose stored campaign cannot be read gets no follow-up run. A test message is not sent
// without its header file.
func TestNothingIsSentFromFilesThatCannotBeRead(t *testing.T) {
	l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed})
	parent.Definition = []byte("old: 1\n")
	var bad *file.Error
	if got, err := follow(l, parent, "failed"); !errors.As(err, &bad) ||
		!strings.HasPrefix(err.Error(), "the stored campaign of "+parent.ID()+": ") || got.Run.No != 0 {
		t.Errorf("follow-up: got run %d, %v, want none and a *FileError of %s", got.Run.No, err, parent.ID())
	}
	dir := t.TempDir()
	path, list := bannerFile(t, dir), overwrite(t, filepath.Join(dir, "list.csv"), springList)
	if err := os.Remove(filepath.Join(dir, "banner.jpg")); err != nil {
		t.Fatal(err)
	}
	s := brittleService{&album{account: service()}, &fuse{}}
	_, sent, err := launch.SendTest(t.Context(), s, free(), launch.SampleInput{File: path, List: list}, "+2348031234567")
	if err == nil || !strings.HasPrefix(err.Error(), "header file: ") || len(s.uploads) != 0 || sent.MessageID != "" {
		t.Errorf("test message: got %q, %v after %d uploads, want the header file's error and nothing sent", sent.MessageID, err, len(s.uploads))
	}
}
