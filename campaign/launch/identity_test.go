package launch_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

func overwrite(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t testing.TB, l launch.Request) launch.Outcome {
	t.Helper()
	launched, err := l.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return launched
}

// A run is identified by campaign, bytes of the list and launch key; the run of a firing, by
// campaign and firing. A difference in one of these makes another run, and nothing else does.
func TestARunIsItsCampaignItsListAndItsLaunch(t *testing.T) {
	dir := t.TempDir()
	spring := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile)
	autumn := overwrite(t, filepath.Join(dir, "autumn.yaml"), strings.Replace(springFile, "name: spring-sale", "name: autumn-sale", 1))
	list, copied := overwrite(t, filepath.Join(dir, "list.csv"), springList), overwrite(t, filepath.Join(dir, "copy.csv"), springList)
	other := overwrite(t, filepath.Join(dir, "other.csv"), strings.Replace(springList, "Ada,20", "Ade,20", 1))
	longer := overwrite(t, filepath.Join(dir, "longer.csv"), springList+"\n")
	const nine, ten = campaign.FiringKey + "2026-11-02T09:00", campaign.FiringKey + "2026-11-02T10:00"
	l := openLedger(t)
	runs := map[string]campaign.RunNo{}
	for _, step := range []struct {
		what string
		l    launch.Request
		same string // as which step; "": another run
	}{
		{"first", launch.Request{File: spring, List: list}, ""},
		{"again", launch.Request{File: spring, List: list}, "first"},
		{"the same bytes under another name", launch.Request{File: spring, List: copied}, "first"},
		{"another campaign", launch.Request{File: autumn, List: list, SendAgain: true}, ""},
		{"another campaign again", launch.Request{File: autumn, List: copied}, "another campaign"},
		{"another byte", launch.Request{File: spring, List: other, New: true, SendAgain: true}, ""},
		{"a byte more", launch.Request{File: spring, List: longer, New: true, SendAgain: true}, ""},
		{"the first among them", launch.Request{File: spring, List: list}, "first"},
		{"a firing", launch.Request{File: spring, List: list, Key: nine}, ""},
		{"the firing again", launch.Request{File: spring, List: list, Key: nine}, "a firing"},
		{"the firing with another list", launch.Request{File: spring, List: other, Key: nine}, "a firing"},
		{"another firing", launch.Request{File: spring, List: list, Key: ten}, ""},
		{"the firing of another campaign", launch.Request{File: autumn, List: list, Key: nine}, ""},
		{"the newest of the list", launch.Request{File: spring, List: copied}, "another firing"},
		{"another byte, still", launch.Request{File: spring, List: other}, "another byte"},
	} {
		step.l.Ledger, step.l.Service = l, service()
		got := start(t, step.l)
		known := campaign.RunNo(0)
		for what, no := range runs {
			if no == got.Run.No {
				known = no
				if step.same != what {
					t.Errorf("%s: run %d is that of %q, want that of %q", step.what, no, what, step.same)
				}
			}
		}
		switch {
		case known == 0 && step.same != "":
			t.Errorf("%s: run %d is new, want run %d", step.what, got.Run.No, runs[step.same])
		case known == 0:
			runs[step.what] = got.Run.No
		}
		if again := step.same != ""; got.Resumed != again || got.Imported == again || got.Ended {
			t.Errorf("%s: resumed %v, imported %v, ended %v, want %v, %v, false", step.what, got.Resumed, got.Imported, got.Ended, again, !again)
		}
	}
}

func TestARunKeepsWhatItWasLaunchedWith(t *testing.T) {
	dir := t.TempDir()
	source := springFile + "limits: {max_messages: 7}\n"
	file, list := overwrite(t, filepath.Join(dir, "spring.yaml"), source), overwrite(t, filepath.Join(dir, "list.csv"), springList)
	sum, _, err := recipients.Hash(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", campaign.FiringKey + "2026-11-02T09:00"} {
		got := start(t, launch.Request{Ledger: openLedger(t), Service: service(), File: file, List: list, Key: key}).Run
		want := campaign.Run{
			No: 1, Campaign: "spring-sale", ListHash: sum, ListName: list, Launch: key, Definition: []byte(source),
			Header: []string{"phone", "first_name", "discount", "slug"}, Delimiter: ",", Template: "spring_sale", Language: "en_US",
			Marketing: true, Budget: 7, Rows: 8, State: campaign.Ready, Wanted: campaign.WantRun, CreatedAt: got.CreatedAt,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("key %q: run -want +got:\n%s", key, diff)
		}
	}
}

func TestAnEndedRunIsNotSentAgain(t *testing.T) {
	for _, state := range []campaign.State{campaign.Finished, campaign.Cancelled, campaign.RunStateFailed} {
		dir := t.TempDir()
		file, list := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile), overwrite(t, filepath.Join(dir, "list.csv"), springList)
		launch := launch.Request{Ledger: openLedger(t), Service: service(), File: file, List: list}
		first := start(t, launch).Run
		if moved, err := launch.Ledger.SetState(t.Context(), first.No, []campaign.State{campaign.Ready}, state, "", ""); err != nil || !moved {
			t.Fatal(moved, err)
		}
		overwrite(t, file, springFile+"limits: {rate: 40}\n") // an ended run ignores the change
		again := start(t, launch)
		if again.Run.No != first.No || !again.Ended || again.Resumed || again.Imported {
			t.Errorf("%s: %+v, want run %d as it ended", state, again, first.No)
		}
		launch.New = true
		if fresh := start(t, launch); fresh.Run.No == first.No || fresh.Ended || !fresh.Imported {
			t.Errorf("%s: --new gave %+v, want another run", state, fresh)
		}
	}
}

func TestAChangedCampaignDoesNotResumeARun(t *testing.T) {
	dir := t.TempDir()
	file, list := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile), overwrite(t, filepath.Join(dir, "list.csv"), springList)
	request := launch.Request{Ledger: openLedger(t), Service: service(), File: file, List: list}
	start(t, request)
	overwrite(t, file, springFile+"limits: {rate: 40}\n")
	_, err := request.Start(t.Context())
	var changed *launch.ChangedError
	const want = "spring-sale-1 is unfinished and was launched with another campaign file: limits.rate: was not set, is 40; " +
		"restore the file to resume it (`campaignd limits spring-sale-1 --rate 40` changes the run's limits while it is sent), " +
		"`campaignd cancel spring-sale-1` to end it, or pass --new for another run"
	if !errors.As(err, &changed) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestAListIsBesideTheCampaignOrNamed(t *testing.T) {
	dir := t.TempDir()
	list := overwrite(t, filepath.Join(dir, "list.csv"), springList)
	with := func(name, at string) string {
		return overwrite(t, filepath.Join(dir, name), strings.Replace(springFile, "recipients: {", "recipients: {file: "+at+", ", 1))
	}
	for what, l := range map[string]launch.Request{
		"beside":       {File: with("beside.yaml", "list.csv")},
		"another path": {File: with("other.yaml", "none.csv"), List: list},
	} {
		l.Ledger, l.Service = openLedger(t), service()
		if got := start(t, l).Run.ListName; got != list {
			t.Errorf("%s: the list is %s, want %s", what, got, list)
		}
	}
	bare := overwrite(t, filepath.Join(dir, "bare.yaml"), springFile)
	_, err := launch.Request{Ledger: openLedger(t), Service: service(), File: bare}.Start(t.Context())
	var file *file.Error
	want := bare + ": no list of recipients; set recipients.file in the campaign, or pass --recipients FILE"
	if !errors.As(err, &file) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// noting records the owner and the length of the job lease that a launch acquires.
type noting struct {
	campaign.Ledger
	owner string
	lease time.Duration
}

func (n *noting) AcquireJob(ctx context.Context, name, owner string, d time.Duration) (campaign.JobLease, bool, error) {
	n.owner, n.lease = owner, d
	return n.Ledger.AcquireJob(ctx, name, owner, d)
}

func TestALaunchLeasesItsImportAndTellsItsProgress(t *testing.T) {
	dir := t.TempDir()
	file, list := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile), overwrite(t, filepath.Join(dir, "list.csv"), springList)
	l := &noting{Ledger: openLedger(t)}
	reported := map[string]int64{}
	var checked *launch.Preflight
	start(t, launch.Request{
		Ledger: l, Service: service(), File: file, List: list, Owner: "me", Lease: 7 * time.Second,
		Progress: func(phase string, rows int64) { reported[phase] = rows }, Checked: func(p *launch.Preflight) { checked = p },
	})
	if l.owner != "me" || l.lease != 7*time.Second {
		t.Errorf("the import is leased by %q for %v, want me for 7s", l.owner, l.lease)
	}
	if diff := cmp.Diff(map[string]int64{"checking": 8, "importing": 8}, reported); diff != "" {
		t.Errorf("progress -want +got:\n%s", diff)
	}
	if checked == nil || checked.Sendable != 5 {
		t.Errorf("checked is %+v, want a preflight with 5 sendable rows", checked)
	}
	states, err := l.SegmentStates(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	skipped := map[string]int{}
	for _, line := range lines(t, l, 1) {
		skipped[line.Reason]++
	}
	// The campaign's own numbers are not recipients, however the service writes them.
	if diff := cmp.Diff(map[string]int{"": 5, "recipient_is_sender": 1, "duplicate": 1, "missing_variable": 1},
		skipped); diff != "" || len(states) != 2 {
		t.Errorf("%d segments, want 2; reasons -want +got:\n%s", len(states), diff)
	}
}

func TestALaunchThatReachesNobodyIsRefused(t *testing.T) {
	dir := t.TempDir()
	path, list := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile),
		overwrite(t, filepath.Join(dir, "list.csv"), "phone,first_name,discount,slug\n+2348031234501,Ada,1,a\n")
	l := openLedger(t)
	if _, err := l.Suppress(t.Context(),
		[]campaign.Suppression{{Key: recipients.Key("+2348031234501"), To: "+2348031234501", Scope: campaign.ScopeAll, Source: "operator",
			At: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	_, err := launch.Request{Ledger: l, Service: service(), File: path, List: list}.Start(t.Context())
	var refused *launch.PreflightError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "its only row cannot be sent") {
		t.Errorf("got %v, want a *PreflightError: its only row cannot be sent", err)
	}
	if runs, err := l.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 0 {
		t.Errorf("%d runs are stored, %v, want none", len(runs), err)
	}
	for want, p := range map[string]*launch.Preflight{
		"the list has no row that can be sent; see `campaignd check`": {},
		"c.yaml: a; do": {Findings: []file.Finding{{Level: file.LevelWarning, What: "w"},
			{Level: file.LevelError, Where: "c.yaml", What: "a", Remedy: "do"}}},
		"c.yaml: a (and 1 more; see `campaignd check`)": {Findings: []file.Finding{{Level: file.LevelError, Where: "c.yaml", What: "a"},
			{Level: file.LevelError, What: "b"}}},
	} {
		if got := (&launch.PreflightError{Preflight: p}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// album is a service that records uploads.
type album struct {
	*account
	uploads []string
	until   time.Time
}

func (a *album) UploadMedia(_ context.Context, connection, name, contentType string, r io.Reader) (messaging.Asset, error) {
	b, err := io.ReadAll(r)
	a.uploads = append(a.uploads, strings.Join([]string{connection, name, contentType, string(b)}, " "))
	return messaging.Asset{ID: "ast_9", ExpiresAt: a.until}, err
}

func TestAHeaderFileIsUploadedOncePerRun(t *testing.T) {
	dir := t.TempDir()
	const jpeg = "\xff\xd8\xff\xe0\x00\x10JFIF"
	overwrite(t, filepath.Join(dir, "banner.jpg"), jpeg)
	file := overwrite(t, filepath.Join(dir, "spring.yaml"),
		strings.Replace(springFile, "assetId: ast_1", "file: banner.jpg", 1)+"policies: {approval: true}\n")
	list := overwrite(t, filepath.Join(dir, "list.csv"), springList)
	until := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	a := &album{account: service(), until: until}
	launch := launch.Request{Ledger: openLedger(t), Service: a, File: file, List: list}
	run := start(t, launch).Run
	start(t, launch)
	if diff := cmp.Diff([]string{"conn_1 banner.jpg image/jpeg " + jpeg}, a.uploads); diff != "" {
		t.Errorf("uploads -want +got:\n%s", diff)
	}
	if run.Asset != "ast_9" || !run.AssetUntil.Equal(until) || run.State != campaign.WaitingApproval {
		t.Errorf("asset %q until %v, %s, want ast_9 until %v, waiting_approval", run.Asset, run.AssetUntil, run.State, until)
	}
}

func TestResumeNeedsTheUnchangedList(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, l *launch.Request, run *campaign.Run)
		ok    bool
	}{
		"as it was": {func(*testing.T, *launch.Request, *campaign.Run) {}, true},
		"another byte": {func(t *testing.T, _ *launch.Request, run *campaign.Run) {
			overwrite(t, run.ListName, springList+"\n")
		}, false},
		"gone": {func(t *testing.T, _ *launch.Request, run *campaign.Run) {
			if err := os.Remove(run.ListName); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a header file beside a campaign that is not here": {func(_ *testing.T, l *launch.Request, run *campaign.Run) {
			l.File, run.Definition = "", []byte(strings.Replace(springFile, "assetId: ast_1", "file: banner.jpg", 1))
		}, false},
		"a header that is no file": {func(_ *testing.T, l *launch.Request, _ *campaign.Run) { l.File = "" }, true},
		"a header file that was uploaded": {func(_ *testing.T, l *launch.Request, run *campaign.Run) {
			l.File, run.Asset, run.Definition = "", "ast_9", []byte(strings.Replace(springFile, "assetId: ast_1", "file: banner.jpg", 1))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l, run, _ := importing(t, "")
			c.spoil(t, &l, &run)
			if run.Asset != "" { // only the given run has the asset; the ledger's run does not
				if _, err := l.Resume(t.Context(), run); errors.Is(err, launch.ErrListElsewhere) {
					t.Errorf("got %v, want no word of another place", err)
				}
				return
			}
			launched, err := l.Resume(t.Context(), run)
			if c.ok && (err != nil || !launched.Resumed || !launched.Imported || launched.Run.State != campaign.Ready) {
				t.Errorf("got %+v, %v, want the import ended", launched, err)
			}
			if !c.ok && !errors.Is(err, launch.ErrListElsewhere) {
				t.Errorf("got %v, want %v", err, launch.ErrListElsewhere)
			}
			if now, err := l.Ledger.Run(t.Context(), run.No); err != nil || !c.ok && now.State != campaign.Importing {
				t.Errorf("the run is %s, %v, want it as it was", now.State, err)
			}
		})
	}
}
