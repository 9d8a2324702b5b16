package drops

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
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

// Of two rules of a bucket, and of two buckets, each owns its own files.
func TestARuleOwnsTheFilesOfItsFolderAndCampaign(t *testing.T) {
	spring := Rule{Name: "s3:lists", Prefix: "spring/", Campaign: "spring", Again: true}
	w := New(Options{Rules: []Rule{{Name: "s3:lists", Campaign: "root"}, spring, {Name: "s3:lists", Prefix: "summer/in/", Campaign: "summer"},
		{Name: "s3:other", Prefix: "winter/", Campaign: "winter"}}})
	file := campaign.DroppedFile{Bucket: "s3:lists", Key: "spring/a.csv", Campaign: "spring"}
	for name, c := range map[string]struct {
		change func(*campaign.DroppedFile)
		owns   bool
	}{
		"its own":            {func(*campaign.DroppedFile) {}, true},
		"another campaign":   {func(f *campaign.DroppedFile) { f.Campaign = "autumn" }, false},
		"another bucket":     {func(f *campaign.DroppedFile) { f.Bucket = "s3:other" }, false},
		"a folder below":     {func(f *campaign.DroppedFile) { f.Key = "spring/b/a.csv" }, false},
		"the folder above":   {func(f *campaign.DroppedFile) { f.Key = "a.csv" }, false},
		"no list":            {func(f *campaign.DroppedFile) { f.Key = "spring/a.xlsx" }, false},
		"in capital letters": {func(f *campaign.DroppedFile) { f.Key = "spring/A.CSV" }, true},
	} {
		f := file
		c.change(&f)
		if got := spring.owns(f); got != c.owns {
			t.Errorf("%s: owns %+v: %v, want %v", name, f, got, c.owns)
		}
		if got := w.ruleOf(w.folders[0], f).Again; got != c.owns {
			t.Errorf("%s: launched again: %v, want %v", name, got, c.owns)
		}
	}
	for key, want := range map[string]bool{"spring/": true, "summer/": true, "winter/": false, "spring": false, "autumn/": false} {
		if got := w.watchedBelow(w.folders[0], key); got != want {
			t.Errorf("%s: another rule watches it: %v, want %v", key, got, want)
		}
	}
}

// The time between two looks at results grows with the age of the run and with its rows.
func TestResultsAreLookedAtLessAndLess(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration
		rows int64
		want time.Duration
	}{
		{0, 10, 2 * time.Second}, {time.Minute, 10, 6 * time.Second}, {9 * time.Hour, 10, 54 * time.Minute}, {99 * time.Hour, 10, time.Hour},
		{0, 1_000_000, 200 * time.Second}, {time.Minute, 20_000, 6 * time.Second}, {99 * time.Hour, 36_000_000, 2 * time.Hour},
	} {
		if got := nextReport(c.age, c.rows); got != c.want {
			t.Errorf("%d rows, %v old: got a look in %v, want %v", c.rows, c.age, got, c.want)
		}
	}
}
