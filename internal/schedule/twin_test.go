package schedule

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/internal/operator"
)

// twins is a folder with files of one campaign: each has the hour of its schedule, "" for none.
func twins(t *testing.T, hours map[string]string) (string, *Folder) {
	t.Helper()
	dir := t.TempDir()
	for name, hour := range hours {
		text := springFile
		if hour != "" {
			text = named("spring", "0 "+hour+" * * *")
		}
		put(t, filepath.Join(dir, name), text)
	}
	return dir, NewFolder(dir)
}

// A copy is sorted before its original: it must not take the place of the original, and neither
// file is used by a process that begins with both.
func TestACopyTakesNoCampaignOver(t *testing.T) {
	dir, d := twins(t, map[string]string{"spring.yaml": "9"})
	file, duplicate := filepath.Join(dir, "spring.yaml"), filepath.Join(dir, "spring.bak.yaml")
	nine, ten := []string{"spring 0 9 * * *"}, []string{"spring 0 10 * * *"}
	wantLook(t, "alone", d, nine, nine, "")
	put(t, duplicate, named("spring", "0 9 * * *"))
	notUsed := duplicate + ": the name spring is used by " + file + ", which had it first, so this file is not used; give each campaign " +
		"its own name, or give a copy a file name that does not end in .yaml"
	wantLook(t, "with a copy", d, nine, nine, notUsed)
	put(t, file, named("spring", "0 10 * * *"))
	wantLook(t, "the original is changed", d, nine, ten, notUsed)
	put(t, file, "name: [")
	wantLook(t, "the original is broken", d, ten, ten, notUsed)
	put(t, file, named("spring", "0 10 * * *"))
	wantLook(t, "the original is mended", d, ten, ten, notUsed)

	later := NewFolder(dir)
	if got, faults := looked(later); len(got) > 0 || strings.Count(faults, "so none of these files is used") != 2 {
		t.Errorf("a process that begins with both: got %q and %q, want no schedule and a fault of each file", got, faults)
	}
	if _, err := later.Find("spring"); err == nil || !strings.Contains(err.Error(), duplicate+", "+file) {
		t.Errorf("a process that begins with both finds the campaign: got %v, want an error that names both files", err)
	}
	if found, err := d.Find("spring"); err != nil || found.File != file {
		t.Errorf("the process of before finds the campaign: got %q and %v, want %q", found.File, err, file)
	}
	if err := os.Remove(duplicate); err != nil {
		t.Fatal(err)
	}
	wantLook(t, "the process of before, without the copy", d, ten, ten, "")
	wantLook(t, "the process that began with both, without the copy", later, ten, ten, "")
}

// A file that is gone for a moment, because it is written again under another name, leaves its
// campaign to no copy.
func TestARenamedFileLeavesItsNameToNoCopy(t *testing.T) {
	dir, d := twins(t, map[string]string{"spring.yaml": "9"})
	file, duplicate := filepath.Join(dir, "spring.yaml"), filepath.Join(dir, "spring.bak.yaml")
	nine := []string{"spring 0 9 * * *"}
	wantLook(t, "alone", d, nine, nine, "")
	put(t, duplicate, named("spring", "0 8 * * *"))
	wantLook(t, "with a copy", d, nine, nine, "which had it first")
	if err := os.Rename(file, filepath.Join(dir, "march.yaml")); err != nil {
		t.Fatal(err)
	}
	if got, _ := looked(d); len(got) > 0 {
		t.Errorf("renamed, at the first look: got %q, want nothing", got)
	}
	if _, err := d.Find("spring"); err == nil || !strings.Contains(err.Error(), "used in a moment") {
		t.Errorf("renamed, at the first look: got %v, want that the campaign is not found yet", err)
	}
	if got, faults := looked(d); len(got) > 0 || strings.Count(faults, "so none of these files is used") != 2 {
		t.Errorf("renamed: got %q and %q, want no schedule and a fault of each file", got, faults)
	}
	if err := os.Remove(filepath.Join(dir, "march.yaml")); err != nil {
		t.Fatal(err)
	}
	eight := []string{"spring 0 8 * * *"}
	wantLook(t, "the copy alone", d, eight, eight, "")
}

// A dropped list must not start one of two files by chance. A file with a schedule comes first.
func TestACampaignIsFoundByItsNameAlone(t *testing.T) {
	for _, tt := range []struct {
		about string
		hours map[string]string
		want  string // the file, or what the error has
	}{
		{"one", map[string]string{"a.yaml": ""}, "a.yaml"},
		{"two without a schedule", map[string]string{"a.yaml": "", "b.yaml": ""}, "a.yaml"},
		{"one of two with a schedule", map[string]string{"a.yaml": "", "b.yaml": "9"}, "b.yaml"},
		{"two of three with a schedule", map[string]string{"a.yaml": "", "b.yaml": "9", "c.yaml": "9"}, "b.yaml"},
	} {
		_, d := twins(t, tt.hours)
		_, _ = d.Look()
		found, err := d.Find("spring")
		if several := strings.HasPrefix(tt.about, "two"); several != (err != nil) || !several && filepath.Base(found.File) != tt.want {
			t.Errorf("%s: got the file %q and %v, want %s", tt.about, found.File, err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), tt.want+", ") {
			t.Errorf("%s: got %v, want an error that names %s and others", tt.about, err, tt.want)
		}
	}
}

// The pages of a process that fires one of two files show that file as the one in use.
func TestTheFilesOfAProcessAreThoseItFires(t *testing.T) {
	dir, c := t.TempDir(), newScene(t)
	c.schedule.o.Config.Campaigns = dir
	put(t, filepath.Join(dir, "spring.yaml"), named("spring", "0 9 1 1 *"))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.schedule.Run(ctx, nil, time.Millisecond) })
	for fires := 0; fires == 0 && t.Context().Err() == nil; time.Sleep(time.Millisecond) {
		c.schedule.mu.Lock()
		fires = len(c.schedule.good)
		c.schedule.mu.Unlock()
	}
	stop()
	running.Wait()
	put(t, filepath.Join(dir, "spring.bak.yaml"), named("spring", "0 8 1 1 *"))
	of := func(files []operator.File, err error) string {
		used := fmt.Sprintf("%v:", err)
		for _, f := range files {
			used += fmt.Sprintf(" %s %t", filepath.Base(f.Path), f.Cron != nil)
		}
		return used
	}
	if got, want := of(c.schedule.Files()), "<nil>: spring.bak.yaml false spring.yaml true"; got != want {
		t.Errorf("the process: got the files in use %q, want %q", got, want)
	}
	if got, want := of(Files(dir)), "<nil>: spring.bak.yaml false spring.yaml false"; got != want {
		t.Errorf("another process: got the files in use %q, want %q", got, want)
	}
}
