package console

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
)

// streams opens the live figures of spring-1 with the session of a name, and returns its lines
// until the server ends it.
func (w *world) streams(t *testing.T, server *httptest.Server, name string) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/console/runs/spring-1/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: cookie, Value: w.cookies[name]})
	got, err := http.DefaultClient.Do(r)
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("got %v (%v), want a stream", got, err)
	}
	lines := make(chan string, 1000)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(lines)
		for s := bufio.NewScanner(got.Body); s.Scan(); {
			lines <- s.Text()
		}
	})
	t.Cleanup(func() { _ = got.Body.Close(); reading.Wait() })
	return lines
}

// until waits for a line with a text.
func until(t *testing.T, lines <-chan string, text string) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		select {
		case line, open := <-lines:
			if !open {
				t.Fatalf("the stream ended, want %q first", text)
			}
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			t.Fatalf("no line with %q came", text)
		}
	}
}

func TestAWatchedRunShowsWhatChanges(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	lines := w.streams(t, server, "read")
	until(t, lines, `data-state="ready run"`)
	if _, err := w.session.Pause(t.Context(), "spring-1"); err != nil {
		t.Fatal(err)
	}
	until(t, lines, `data-state="ready pause"`)
	if _, err := w.session.RevokeKey(t.Context(), w.keys["read"].ID); err != nil {
		t.Fatal(err)
	}
	late := time.After(2 * time.Minute)
	for {
		select {
		case _, open := <-lines:
			if !open {
				return
			}
		case <-late:
			t.Fatal("the stream goes on although its key was revoked, want that it ends")
		}
	}
}

// Two who watch get the same bytes within a second, also on the page; another company gets its own.
func TestFiguresAreReadOnceForAllWhoWatch(t *testing.T) {
	w := newWorld(t)
	visit := &visit{Server: w.Server, d: w.session}
	began := time.Now()
	_, first, err := visit.figuresSince("spring-1", true, began)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.session.Pause(t.Context(), "spring-1"); err != nil {
		t.Fatal(err)
	}
	_, second, err := visit.figuresSince("spring-1", true, began)
	if err != nil || &first[0] != &second[0] {
		t.Errorf("got events of %d and %d bytes (%v), want one for both", len(first), len(second), err)
	}
	if text := w.request("/console/runs/spring-1", "read", nil).Body.String(); !strings.Contains(text, `data-state="ready run"`) {
		t.Error("the page reads figures of its own, want those of all who look at the run")
	}
	_, third, err := visit.figuresSince("spring-1", true, time.Now())
	if err != nil || bytes.Equal(first, third) {
		t.Errorf("in the next second: got the same %d bytes (%v), want that the run is paused", len(third), err)
	}
	key := watched{"spring-1", ""}
	if w.watch.of(watched{"spring-1", "comp_1"}, time.Now()) == w.watch.of(key, time.Now()) {
		t.Error("two companies share figures, want one for each")
	}
	w.watch.of(watched{"spring-2", ""}, time.Now().Add(time.Minute))
	if got := len(w.watch.runs); got != 1 {
		t.Errorf("got the figures of %d runs in memory, want those of the one that is asked for", got)
	}
}

// counting is a ledger that tells how often the rows of runs were counted.
type counting struct {
	campaign.Ledger
	n int
}

func (c *counting) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	c.n++
	return c.Ledger.Tallies(ctx, no)
}

func TestFiguresCountTheRowsOnce(t *testing.T) {
	w := newWorld(t)
	l := &counting{Ledger: w.session.Ledger}
	d := *w.session
	d.Ledger = l
	answer, report, err := d.Figures(t.Context(), "spring-1")
	if err != nil || l.n != 1 {
		t.Fatalf("the rows were counted %d times (%v), want once", l.n, err)
	}
	if answer.Totals.Queued != 39 || report.Totals[campaign.Queued] != 39 || report.Totals[campaign.Skipped] != 1 {
		t.Errorf("got %+v and %v, want 39 rows queued and one skipped", answer.Totals, report.Totals)
	}
}

// Figures are shared, but neither what a visitor may do nor what an action has changed.
func TestActionsAreNeverShared(t *testing.T) {
	w := newWorld(t)
	has := func(name, text string, want bool) {
		t.Helper()
		if got := strings.Contains(w.request("/console/runs/spring-1", name, nil).Body.String(), text); got != want {
			t.Errorf("the page of the run as %s: it has %q: got %v, want %v", name, text, got, want)
		}
	}
	has("operate", "/spring-1/pause", true)
	has("read", "/spring-1/pause", false)
	has("operate", "/spring-1/pause", true)
	if got := w.request("/console/runs/spring-1/pause", "operate", url.Values{}); got.Code != http.StatusSeeOther {
		t.Fatalf("pause: got %d, want the page of the run", got.Code)
	}
	has("operate", "/spring-1/resume", true)
	has("operate", "/spring-1/pause", false)
	has("read", `data-state="ready pause"`, true)
	if text := w.request("/console/overview", "read", nil).Body.String(); !strings.Contains(text, "spring-1") {
		t.Error("the overview: want the run with its figures")
	}
	has("operate", "/spring-1/resume", true)
}

func TestStreamsAreBoundedAndSpread(t *testing.T) {
	w := &watch{runs: map[watched]*figures{}}
	places := map[time.Duration]int{}
	for range mostStreams {
		place, joined := w.join()
		if !joined {
			t.Fatal("a stream is refused, want all of the bound")
		}
		places[place]++
	}
	for place, n := range places {
		if most := (mostStreams + sendPlaces - 1) / sendPlaces; place >= readEvery/2 || n > most {
			t.Errorf("%v after the second: got %d streams, want at most %d, in the first half", place, n, most)
		}
	}
	if _, joined := w.join(); joined {
		t.Error("a stream beyond the bound is taken, want it refused")
	}
	w.leave()
	if _, joined := w.join(); !joined {
		t.Error("a stream is refused after another has ended, want it taken")
	}
}
