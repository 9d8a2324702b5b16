package drops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// crowd is a bucket with files that a rule takes, foreign ones and sidecars without a list.
type crowd struct {
	Bucket
	lists, foreign, lone int
}

func (crowd) Every() time.Duration { return time.Second }

func (crowd) Quiet(Object) (time.Duration, bool) { return 0, false }

func (b crowd) List(context.Context, string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for i := range b.lists {
			yield(Object{Key: fmt.Sprintf("list-%03d.csv", i), ETag: "a"}, nil)
		}
		for i := range b.foreign {
			yield(Object{Key: fmt.Sprintf("notes-%03d.txt", i), ETag: "a"}, nil)
		}
		for i := range b.lone {
			yield(Object{Key: fmt.Sprintf("gone-%03d.csv.yaml", i), ETag: "a"}, nil)
		}
	}
}

// A folder with many files that wait does not fill the ledger, and says that there are more.
func TestWaitingFilesAreListedUpToABound(t *testing.T) {
	for _, c := range []struct {
		crowd
		lists, foreign, lone int
		more                 bool
	}{
		{crowd{lists: 1, foreign: 1, lone: 1}, 1, 1, 1, false},
		{crowd{lists: 150, foreign: 50}, 150, 50, 0, false},
		{crowd{lists: 150, foreign: 51}, 150, 50, 0, false},
		{crowd{lists: 200}, 200, 0, 0, false},
		{crowd{lists: 201}, 200, 0, 0, true},
		{crowd{lists: 150, foreign: 60, lone: 60}, 150, 50, 0, false},
		{crowd{foreign: 20, lone: 60}, 0, 20, 30, false},
		{crowd{foreign: 49, lone: 1}, 0, 49, 1, false},
		{crowd{lists: 180, foreign: 60}, 180, 20, 0, true},
	} {
		d := &desk{}
		w := New(Options{Ledger: d, Rules: []Rule{{Name: "inbox", Bucket: c.crowd, Campaign: "spring"}}, Log: slog.New(slog.DiscardHandler),
			Missing: func(string) error { return errors.New("the campaign is missing") }, Lease: time.Minute})
		w.look(t.Context(), w.folders[0])
		w.claim(t.Context(), w.folders[0])
		w.look(t.Context(), w.folders[0])
		var lists, foreign, lone int
		more := false
		for _, wait := range d.waits {
			switch {
			case strings.HasPrefix(wait.Key, "list-"):
				lists++
			case strings.HasPrefix(wait.Key, "notes-"):
				foreign++
			case strings.HasPrefix(wait.Key, "gone-"):
				lone++
			default:
				more = wait.Key == "…" && wait.Reason == "more files wait here"
			}
		}
		if lists != c.lists || foreign != c.foreign || lone != c.lone || more != c.more {
			t.Errorf("%+v: got %d lists, %d foreign, %d lone sidecars, more %v; want %d, %d, %d, %v", c.crowd, lists, foreign, lone, more,
				c.lists, c.foreign, c.lone, c.more)
		}
	}
}

// shelvedRuns is a ledger with runs of a list, and with files of its content.
type shelvedRuns struct {
	Ledger
	runs  []campaign.Run
	files []campaign.DroppedFile
	lines []campaign.Line
	asked []string
}

func (l *shelvedRuns) Runs(_ context.Context, f campaign.RunFilter) ([]campaign.Run, error) {
	l.asked = append(l.asked, "runs of "+f.Campaign+" "+f.ListHash)
	return l.runs, nil
}

func (l *shelvedRuns) DroppedFiles(_ context.Context, f campaign.DropFilter) ([]campaign.DroppedFile, error) {
	l.asked = append(l.asked, "files of "+f.Campaign+" "+f.Hash)
	return l.files, nil
}

func (l *shelvedRuns) Lines(context.Context, campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		for _, one := range l.lines {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// A list that a run has is not launched again by a drop, unless that run was withdrawn because its
// own file was rejected. The list of a follow-up is its parent's, and no list that was dropped.
func TestAListThatARunHasIsADuplicate(t *testing.T) {
	own, other := campaign.DroppedFile{No: 3, State: campaign.DropRejected}, campaign.DroppedFile{No: 4, State: campaign.DropRejected}
	launched := campaign.DroppedFile{No: 3, State: campaign.DropSettled}
	gone := campaign.DroppedFile{No: 3, State: campaign.DropGone}
	run := func(wanted campaign.Wanted, launch string, parent campaign.RunNo) []campaign.Run {
		return []campaign.Run{{No: 9, Campaign: "spring", ListHash: "hash of run", Launch: launch, Wanted: wanted, Parent: parent}}
	}
	for name, c := range map[string]struct {
		runs      []campaign.Run
		files     []campaign.DroppedFile
		duplicate bool
	}{
		"no run has it":                       {nil, nil, false},
		"a run has it":                        {run(campaign.WantRun, "", 0), nil, true},
		"a follow-up has it":                  {run(campaign.WantRun, "", 7), nil, false},
		"withdrawn":                           {run(campaign.WantCancel, own.Launch(), 0), []campaign.DroppedFile{other, own}, false},
		"cancelled by an operator":            {run(campaign.WantCancel, own.Launch(), 0), []campaign.DroppedFile{launched}, true},
		"its file is gone":                    {run(campaign.WantCancel, own.Launch(), 0), []campaign.DroppedFile{gone}, true},
		"another file was rejected":           {run(campaign.WantCancel, own.Launch(), 0), []campaign.DroppedFile{other}, true},
		"rejected, and the run is going on":   {run(campaign.WantRun, own.Launch(), 0), []campaign.DroppedFile{own}, true},
		"cancelled, and launched by a person": {run(campaign.WantCancel, "", 0), []campaign.DroppedFile{own}, true},
		"withdrawn, and launched by a person": {append(run(campaign.WantCancel, own.Launch(), 0), run(campaign.WantRun, "new", 0)...),
			[]campaign.DroppedFile{own}, true},
	} {
		l := &shelvedRuns{runs: c.runs, files: c.files}
		x := &task{Watcher: New(Options{Ledger: l, Log: slog.New(slog.DiscardHandler)}),
			f: campaign.DroppedFile{No: 5, Campaign: "spring", Hash: "hash of file"}}
		err := x.unsent(t.Context())
		var refused *Refused
		if errors.As(err, &refused) != c.duplicate ||
			c.duplicate && (refused.Code != "duplicate" || !strings.Contains(refused.Message, "spring-9")) {
			t.Errorf("%s: got %v, want a duplicate: %v", name, err, c.duplicate)
		}
		for _, asked := range l.asked {
			if asked != "runs of spring hash of file" && asked != "files of spring hash of run" {
				t.Errorf("%s: asked for %s, want the file's hash of runs and the run's of files", name, asked)
			}
		}
	}
}

// written keeps what was put.
type written struct {
	Bucket
	name, text string
}

func (w *written) Put(_ context.Context, key string, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	w.name, w.text = key, string(text)
	return err
}

// Rows that a correction can help are written from the ledger if their file was lost. A row is left
// out whose number another row has: that one was sent.
func TestLostRejectsAreThoseOfTheLedger(t *testing.T) {
	line := func(row, key int64, status campaign.Status, reason campaign.SkipReason) campaign.Line {
		return campaign.Line{Delivery: campaign.Delivery{Row: row, Key: key, To: fmt.Sprint("to", row), Cells: []string{fmt.Sprint("cell", row)}},
			Status: status, Reason: string(reason)}
	}
	l := &shelvedRuns{lines: []campaign.Line{
		line(1, 11, campaign.Skipped, campaign.MissingVariable),
		line(2, 12, campaign.Skipped, campaign.InvalidVariable), // another row has its number
		line(3, 12, campaign.Read, ""),
		line(4, 13, campaign.Skipped, campaign.Duplicate), // no correction helps
		line(5, 0, campaign.Skipped, campaign.InvalidPhone),
		line(6, 14, campaign.Failed, ""),
		line(7, 15, campaign.Skipped, campaign.MissingVariable), // another row was skipped too
		line(8, 15, campaign.Skipped, campaign.OptedOut),
	}}
	b := &written{}
	x := &task{Watcher: New(Options{Ledger: l, Log: slog.New(slog.DiscardHandler)}), p: &watched{Rule: Rule{Bucket: b}}, dir: t.TempDir(),
		f: campaign.DroppedFile{Place: "done/list.csv"}}
	if err := x.putRejects(t.Context(), campaign.Run{Header: []string{"name"}, Delimiter: ";"}); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i := range 9 {
		if strings.Contains(b.text, fmt.Sprint("cell", i)) {
			rows = append(rows, fmt.Sprint(i))
		}
	}
	if got := strings.Join(rows, " "); got != "1 5 7" || b.name != "done/list.csv.rejected.csv" || !strings.Contains(b.text, ";") {
		t.Errorf("got the rows %s in %s:\n%s\nwant 1, 5 and 7 in done/list.csv.rejected.csv", got, b.name, b.text)
	}
}
