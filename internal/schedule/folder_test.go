package schedule

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// named is a campaign file with a schedule.
func named(name, cron string) string {
	return strings.Replace(springFile, "name: spring", "name: "+name, 1) + "schedule: {cron: \"" + cron + "\"}\n"
}

// looked is what a look finds: each campaign with its schedule, and the findings.
func looked(d *Folder) (schedules []string, faults string) {
	all, err := d.Look()
	for _, s := range all {
		schedules = append(schedules, s.Definition.Name+" "+s.Cron.String())
	}
	if err != nil {
		faults = err.Error()
	}
	return schedules, faults
}

// wantLook compares two looks in a row: the first sees a change, and the second one takes it.
func wantLook(t *testing.T, when string, d *Folder, before, after []string, fault string) {
	t.Helper()
	if got, _ := looked(d); !slices.Equal(got, before) {
		t.Errorf("%s, at the first look: got %q, want %q", when, got, before)
	}
	got, faults := looked(d)
	if diff := cmp.Diff(after, got); diff != "" {
		t.Errorf("%s: schedules -want +got:\n%s", when, diff)
	}
	if !strings.Contains(faults, fault) || fault == "" && faults != "" {
		t.Errorf("%s: got the faults %q, want %q", when, faults, fault)
	}
}

func TestTheFolderIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	spring, summer := filepath.Join(dir, "spring.yaml"), filepath.Join(dir, "summer.yaml")
	put(t, spring, named("spring", "0 9 * * *"))
	d := NewFolder(dir)
	nine, ten := []string{"spring 0 9 * * *"}, []string{"spring 0 10 * * *"}
	if got, faults := looked(d); !slices.Equal(got, nine) || faults != "" {
		t.Errorf("at the start: got %q and %q, want %q at once", got, faults, nine)
	}
	put(t, spring, named("spring", "0 10 * * *"))
	wantLook(t, "a changed file", d, nine, ten, "")
	put(t, spring, named("spring", "0 11 * * *"))
	if got, _ := looked(d); !slices.Equal(got, ten) {
		t.Errorf("a file that is being written: got %q, want %q", got, ten)
	}
	put(t, spring, "name: [")
	wantLook(t, "a broken file", d, ten, ten, "spring.yaml:1:")
	if _, faults := looked(d); !strings.Contains(faults, "; until it is corrected, its last good version stays in use") {
		t.Errorf("a broken file: got %q, want it to say that its last good version stays", faults)
	}
	put(t, spring, springFile)
	wantLook(t, "a file without a schedule", d, ten, nil, "")
	put(t, spring, named("spring", "0 10 * * *"))
	put(t, summer, "nme: summer")
	wantLook(t, "a new file that is broken", d, nil, ten, "summer.yaml:1:")
	if _, faults := looked(d); strings.Contains(faults, "last good") {
		t.Errorf("a file that was never good: got %q, want no last good version", faults)
	}
	if err := os.Remove(spring); err != nil {
		t.Fatal(err)
	}
	put(t, summer, named("summer", "0 9 * * *"))
	wantLook(t, "one removed, one corrected", d, nil, []string{"summer 0 9 * * *"}, "")
	if err := os.Remove(summer); err != nil {
		t.Fatal(err)
	}
	wantLook(t, "all removed", d, nil, nil, "")
}

// mv, rsync and archives keep the time of a file. Firings of another schedule count from its change
// all the same, and a changed word leaves the firings of an outage due.
func TestAChangedScheduleCountsFromItsChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spring.yaml")
	d := NewFolder(filepath.Dir(file))
	old := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	written := func(text string) time.Time {
		put(t, file, text)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
		_, _ = d.Look()
		all, err := d.Look()
		if err != nil || len(all) != 1 {
			t.Fatalf("got %d schedules and %v, want 1", len(all), err)
		}
		return all[0].Written
	}
	for _, text := range []string{named("spring", "0 9 * * *"), named("spring", "0 9 * * *") + "# a word\n"} {
		if got := written(text); !got.Equal(old) {
			t.Errorf("%s: got it written %s, want %s", text, got, old)
		}
	}
	before := time.Now()
	if got := written(named("spring", "0 10 * * *")); got.Before(before) {
		t.Errorf("another schedule: got it written %s, want %s or later", got, before)
	}
}

// An empty file is a fault at the first look, and later when it stays empty: a copy begins empty.
func TestAnEmptyCampaignFileIsAFault(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.yaml")
	put(t, empty, "")
	d := NewFolder(dir)
	if _, faults := looked(d); !strings.Contains(faults, "empty.yaml") {
		t.Errorf("at the first look: got %q, want a fault of empty.yaml", faults)
	}
	put(t, empty, named("spring", "0 9 * * *"))
	wantLook(t, "written", d, nil, []string{"spring 0 9 * * *"}, "")
	put(t, empty, "")
	wantLook(t, "emptied", d, []string{"spring 0 9 * * *"}, []string{"spring 0 9 * * *"}, "empty.yaml")
	put(t, filepath.Join(dir, "later.yaml"), "")
	if _, faults := looked(d); strings.Contains(faults, "later.yaml") {
		t.Errorf("a file that may be being written: got %q, want no fault of it yet", faults)
	}
	if _, faults := looked(d); !strings.Contains(faults, "later.yaml") {
		t.Errorf("a file that stays empty: got %q, want a fault of later.yaml", faults)
	}
}

// The volume of a ConfigMap holds links to files below ..data, which is a link to a folder. An
// update renames another link over ..data and removes the old folder
// (https://pkg.go.dev/k8s.io/kubernetes/pkg/volume/util#AtomicWriter.Write).
func TestTheFolderFollowsAConfigMap(t *testing.T) {
	dir := t.TempDir()
	version := func(name string, files map[string]string) {
		t.Helper()
		for file, text := range files {
			put(t, filepath.Join(dir, name, file), text)
		}
		if err := os.Symlink(name, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
		for file := range files {
			if err := os.Symlink(filepath.Join("..data", file), filepath.Join(dir, file)); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
	}
	version("..one", map[string]string{"a.yaml": named("a", "0 9 * * *"), "b.yaml": named("b", "0 9 * * *")})
	d := NewFolder(dir)
	one, two := []string{"a 0 9 * * *", "b 0 9 * * *"}, []string{"a 0 8 * * *", "c 0 9 * * *"}
	wantLook(t, "at the start", d, one, one, "")
	version("..two", map[string]string{"a.yaml": named("a", "0 8 * * *"), "c.yaml": named("c", "0 9 * * *")})
	if got, faults := looked(d); !slices.Equal(got, one[:1]) || !strings.Contains(faults, "b.yaml") {
		t.Errorf("a link to nothing: got %q and %q, want %q and a fault", got, faults, one[:1])
	}
	for _, gone := range []string{"b.yaml", "..one"} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	wantLook(t, "another version", d, two, two, "")
}

func TestChangesOfTheFolderAreLogged(t *testing.T) {
	dir, lines, l := t.TempDir(), &notes{}, loads(nil)
	log, d := slog.New(slog.NewTextHandler(lines, nil)), NewFolder(dir)
	look := func() {
		for range 2 {
			all, _ := d.Look()
			l.log(log, all)
		}
	}
	put(t, filepath.Join(dir, "a.yaml"), named("a", "0 9 * * *"))
	look()
	put(t, filepath.Join(dir, "a.yaml"), named("a", "0 8 * * *"))
	put(t, filepath.Join(dir, "b.yaml"), named("b", "0 9 * * *"))
	look()
	if err := os.Remove(filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	look()
	for message, want := range map[string]string{
		"campaign changed": "campaign=a", "campaign added": "campaign=b", "campaign removed": "campaign=b",
	} {
		if got := lines.lines(message); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: got the lines %q, want one with %s", message, got, want)
		}
	}
}

// readScheduled reads one campaign file.
func readScheduled(name string) (Scheduled, error) {
	src, written, err := readCampaign(name)
	if err != nil {
		return Scheduled{}, err
	}
	s, err := parseScheduled(name, src)
	s.Written = written
	return s, err
}

// A schedule at a time that has passed has no next firing.
func TestAChangeToAPastTimeIsLoggedWithoutATime(t *testing.T) {
	dir, lines, l := t.TempDir(), &notes{}, loads(nil)
	log, d := slog.New(slog.NewTextHandler(lines, nil)), NewFolder(dir)
	file := filepath.Join(dir, "a.yaml")
	look := func() {
		for range 2 {
			all, _ := d.Look()
			l.log(log, all)
		}
	}
	at := func(schedule string) {
		put(t, file, strings.Replace(named("a", "0 9 * * *"), `cron: "0 9 * * *"`, schedule, 1))
		look()
	}
	at(`cron: "0 0 1 1 *"`)
	at(`at: "2026-03-02T09:00"`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	look()
	at(`at: "2026-03-03T09:00"`)
	for _, message := range []string{"campaign changed", "campaign added"} {
		got := lines.lines(message)
		if len(got) != 1 || !strings.Contains(got[0], `next="none: its time has passed"`) || strings.Contains(got[0], "0001") {
			t.Errorf("%s: got the lines %q, want one with none", message, got)
		}
	}
}
