package control_test

import (
	"errors"
	"fmt"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/sqlitetest"
)

func TestARunIsFoundByIDNumberOrLatest(t *testing.T) {
	l := openLedger(t)
	if _, err := control.Find(t.Context(), l, "latest"); !errors.Is(err, campaign.ErrNoRun) {
		t.Errorf("latest of none: %v, want %v", err, campaign.ErrNoRun)
	}
	for i := range 2 {
		if _, err := l.CreateRun(t.Context(),
			campaign.Run{Campaign: "spring-sale", ListHash: fmt.Sprint(i), Wanted: campaign.WantRun}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]campaign.RunNo{"latest": 2, "spring-sale-1": 1, "1": 1, "2": 2, "spring-sale-2": 2} {
		if got, err := control.Find(t.Context(), l, id); err != nil || got.No != want {
			t.Errorf("%s: run %d, %v, want %d", id, got.No, err, want)
		}
	}
	if got, err := control.Find(t.Context(), l, "spring-sale"); err == nil || errors.Is(err, campaign.ErrNoRun) || got.No != 0 {
		t.Errorf("spring-sale: run %d, %v, want that it is no run's ID", got.No, err)
	}
	for _, id := range []string{"autumn-sale-1", "3", "spring-sale-3", "01", "-1"} {
		if got, err := control.Find(t.Context(), l, id); !errors.Is(err, campaign.ErrNoRun) || got.No != 0 {
			t.Errorf("%s: run %d, %v, want %v", id, got.No, err, campaign.ErrNoRun)
		}
	}
	for id, want := range map[string]campaign.RunNo{"1": 1, "a-b-7": 7, "x-2147483647": 1<<31 - 1, "0": 0, "a-0": 0, "x-2147483648": 0, "": 0,
		"a": 0, "a-": 0, "99999999999999999999": 0} {
		if got, err := campaign.ParseRunID(id); got != want || (err == nil) != (want != 0) {
			t.Errorf("ParseRunID(%q) = %d, %v, want %d", id, got, err, want)
		}
	}
}

func TestApprovalOfAPausedRunNamesTheWayOut(t *testing.T) {
	l := openLedger(t)
	run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "a", ListHash: "x", Wanted: campaign.WantPause})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.SetState(t.Context(), run.No, []campaign.State{campaign.Importing}, campaign.WaitingApproval, "", ""); err != nil {
		t.Fatal(err)
	}
	got, err := control.Approve(t.Context(), l, run, "")
	if want := "a-1 is approved, and stays paused until `campaignd resume a-1`"; err != nil || got.Sentence != want {
		t.Errorf("got %q and %v, want %q", got.Sentence, err, want)
	}
}

// Each request of the operator in each state, and the state that follows.
func TestRequestsFitTheStateOfARun(t *testing.T) {
	type request = func(t *testing.T, l campaign.Ledger, r campaign.Run) (control.Outcome, error)
	wishes := map[string]request{
		"pause": func(t *testing.T, l campaign.Ledger, r campaign.Run) (control.Outcome, error) {
			return control.Pause(t.Context(), l, r, "")
		},
		"resume": func(t *testing.T, l campaign.Ledger, r campaign.Run) (control.Outcome, error) {
			return control.Resume(t.Context(), l, r, "")
		},
		"cancel": func(t *testing.T, l campaign.Ledger, r campaign.Run) (control.Outcome, error) {
			return control.Cancel(t.Context(), l, r, "")
		},
		"approve": func(t *testing.T, l campaign.Ledger, r campaign.Run) (control.Outcome, error) {
			return control.Approve(t.Context(), l, r, "")
		},
	}
	type outcome struct {
		state  campaign.State
		wanted campaign.Wanted
	}
	no := outcome{} // ErrNotNow
	l := openLedger(t)
	for state, want := range map[campaign.State]map[string]outcome{
		campaign.Importing: {"pause": {campaign.Importing, campaign.WantPause}, "resume": {campaign.Importing, campaign.WantRun},
			"cancel": {campaign.Ready, campaign.WantCancel}, "approve": no},
		campaign.WaitingApproval: {"pause": {campaign.WaitingApproval, campaign.WantPause}, "resume": no,
			"cancel": {campaign.Ready, campaign.WantCancel}, "approve": {campaign.Ready, campaign.WantRun}},
		campaign.Ready: {"pause": {campaign.Ready, campaign.WantPause}, "resume": {campaign.Ready, campaign.WantRun},
			"cancel": {campaign.Ready, campaign.WantCancel}, "approve": no},
		campaign.Running: {"pause": {campaign.Running, campaign.WantPause}, "resume": {campaign.Running, campaign.WantRun},
			"cancel": {campaign.Running, campaign.WantCancel}, "approve": no},
		campaign.Paused: {"pause": {campaign.Paused, campaign.WantPause}, "resume": {campaign.Ready, campaign.WantRun},
			"cancel": {campaign.Ready, campaign.WantCancel}, "approve": no},
		campaign.Finished:       {"pause": no, "resume": no, "cancel": no, "approve": no},
		campaign.Cancelled:      {"pause": no, "resume": no, "cancel": no, "approve": no},
		campaign.RunStateFailed: {"pause": no, "resume": no, "cancel": no, "approve": no},
	} {
		for _, wish := range []string{"pause", "resume", "cancel", "approve"} {
			run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "a", ListHash: wish + string(state), Wanted: campaign.WantRun})
			if err != nil {
				t.Fatal(err)
			}
			stale := run
			if state != campaign.Importing {
				if moved, err := l.SetState(t.Context(), run.No, []campaign.State{campaign.Importing}, state, "", ""); err != nil || !moved {
					t.Fatal(state, moved, err)
				}
			}
			if run, err = l.Run(t.Context(), run.No); err != nil {
				t.Fatal(err)
			}
			got, err := wishes[wish](t, l, run)
			switch w := want[wish]; {
			case w == no && !errors.Is(err, campaign.ErrNotNow):
				t.Errorf("%s of a run that is %s: %+v, %v, want %v", wish, state, got, err, campaign.ErrNotNow)
			case w != no && (err != nil || got.Run.State != w.state || got.Run.Wanted != w.wanted || got.Sentence == ""):
				t.Errorf("%s of a run that is %s: %s, %s %q, %v, want %+v", wish, state, got.Run.State, got.Run.Wanted, got.Sentence, err, w)
			}
			if state.Ended() && wish != "approve" { // the run ended since it was read
				if got, err := wishes[wish](t, l, stale); !errors.Is(err, campaign.ErrNotNow) {
					t.Errorf("%s of a run that is %s meanwhile: %+v, %v, want %v", wish, state, got, err, campaign.ErrNotNow)
				}
			}
		}
	}
	run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "a", ListHash: "1", Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = l.SetWanted(t.Context(), run.No, campaign.WantCancel, ""); err != nil {
		t.Fatal(err)
	}
	for _, wish := range []string{"pause", "resume", "approve"} {
		if got, err := wishes[wish](t, l, run); !errors.Is(err, campaign.ErrNotNow) {
			t.Errorf("%s of a run that is being cancelled: %+v, %v, want %v", wish, got, err, campaign.ErrNotNow)
		}
	}
	run.No = 99
	for wish, ask := range wishes {
		run.Wanted = campaign.WantRun
		if got, err := ask(t, l, run); !errors.Is(err, campaign.ErrNoRun) {
			t.Errorf("%s of no run: %+v, %v, want %v", wish, got, err, campaign.ErrNoRun)
		}
	}
}

// A run has three final states.
func TestEndsAreAClosedList(t *testing.T) {
	for state, want := range map[campaign.State]bool{
		campaign.Importing: false, campaign.WaitingApproval: false, campaign.Ready: false, campaign.Running: false, campaign.Paused: false,
		campaign.Finished: true, campaign.Cancelled: true, campaign.RunStateFailed: true,
	} {
		if got := state.Ended(); got != want {
			t.Errorf("%s ended = %v, want %v", state, got, want)
		}
	}
}

func openLedger(t testing.TB) campaign.Ledger {
	t.Helper()
	return sqlitetest.Open(t, ledger.Options{})
}
