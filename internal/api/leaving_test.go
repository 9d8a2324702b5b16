package api

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaignd/campaign"
)

// leaving is a ledger whose caller leaves while it makes a run or erases a number. The first run
// has a row that failed.
type leaving struct {
	campaign.Ledger
	leave func()
}

func (l leaving) CreateRun(ctx context.Context, r campaign.Run) (campaign.Run, error) {
	defer l.leave()
	return l.Ledger.CreateRun(ctx, r)
}

func (l leaving) Erase(ctx context.Context, key int64) (campaign.Erased, error) {
	l.leave()
	return l.Ledger.Erase(ctx, key)
}

func (l leaving) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	if no != 1 {
		return l.Ledger.Lines(ctx, no)
	}
	return func(yield func(campaign.Line, error) bool) {
		yield(campaign.Line{Delivery: campaign.Delivery{Run: no, Row: 1, Key: 2348031234567, To: "+2348031234567"},
			Status: campaign.Failed}, ctx.Err())
	}
}

// leaves sends a request with the key admin, and leaves meanwhile.
func (w *world) leaves(t *testing.T, path, kind string, body func(leave func()) io.Reader) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	l := w.session.Ledger
	w.process.Session.Ledger = leaving{l, leave}
	defer func() { w.process.Session.Ledger = l }()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, body(leave))
	r.Header.Set("Authorization", "Bearer "+w.keys["admin"])
	r.Header.Set("Content-Type", kind)
	w.ServeHTTP(httptest.NewRecorder(), r)
	if ctx.Err() == nil {
		t.Errorf("%s: the caller stayed, want that it leaves meanwhile", path)
	}
}

// text is a body that has come when the caller leaves.
func text(s string) func(func()) io.Reader {
	return func(func()) io.Reader { return strings.NewReader(s) }
}

// A connection that breaks while the rows are copied leaves no run that is being imported.
func TestAFollowUpIsMadeAlthoughItsCallerLeaves(t *testing.T) {
	w := newWorld(t)
	l := w.session.Ledger
	if _, err := l.SetState(t.Context(), 1, []campaign.State{campaign.Ready}, campaign.Finished, "", ""); err != nil {
		t.Fatal(err)
	}
	w.leaves(t, "/api/v1/runs/spring-1/follow-ups", "application/json", text(`{"where": ["failed"]}`))
	run, err := l.Run(t.Context(), 3)
	if err != nil || run.Parent != 1 || run.State != campaign.Ready || run.Rows != 1 {
		t.Errorf("got a run of %d that is %s with %d rows and %v, want a follow-up that is ready with 1 row",
			run.Parent, run.State, run.Rows, err)
	}
}

func TestANumberIsErasedAlthoughTheCallerLeaves(t *testing.T) {
	w := newWorld(t)
	const number = "+2348031234568"
	w.leaves(t, "/api/v1/erase", "application/json", text(`{"number": "`+number+`"}`))
	if rows, _, err := w.session.Person(t.Context(), number, 0, 9); err != nil || len(rows) > 0 {
		t.Errorf("got %d rows of the number and %v, want none", len(rows), err)
	}
}

// breaking is a body whose connection breaks after its text.
type breaking struct {
	io.Reader
	leave func()
}

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.leave()
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Each row is a person who asked for no messages, and the caller may not come again.
func TestOptOutsThatCameAreStoredAfterABreak(t *testing.T) {
	w := newWorld(t)
	const rows = 6500
	var list strings.Builder
	list.WriteString("to\n")
	for i := range rows {
		fmt.Fprintf(&list, "+234803%07d\n", i)
	}
	list.WriteString("+23480")
	w.leaves(t, "/api/v1/suppressions/import", "text/csv", func(leave func()) io.Reader {
		return breaking{strings.NewReader(list.String()), leave}
	})
	n := 0
	for _, err := range w.session.Ledger.Suppressions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != rows {
		t.Errorf("got %d suppressions, want the %d rows that had come", n, rows)
	}
}
