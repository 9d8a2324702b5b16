package sender_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/recipients"
	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// truth is what happened in a scenario: the real sender with SQLite and throttle.Local, under
// virtual time.
type truth struct {
	f      *foreseen
	ledger campaign.Ledger
	began  time.Time

	mu      sync.Mutex
	tries   map[string]int
	answers []answered
	open    map[string]int // messages of a run that have no last answer yet
	ramps   map[string]plan.RampState

	forecast plan.Forecast // before launch of the first run
}

// answered is one answer of the service.
type answered struct {
	run, connection string
	at              time.Time
	kind            string // accepted, refused, throttled
	took            time.Duration
}

// play runs a scenario until its first run has ended, or until a time. past is what the forecast
// knows; nil makes none.
func (f *foreseen) play(t *testing.T, past *plan.Past, until time.Time) (w *truth) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(f.begins)
		w = &truth{f: f, began: time.Now(), tries: map[string]int{}, open: map[string]int{}, ramps: map[string]plan.RampState{}}
		base := "/dev/shm"
		if _, err := os.Stat(base); err != nil {
			base = ""
		}
		dir, err := os.MkdirTemp(base, "campaignd-forecast-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "campaignd.db")
		sqlitetest.New(t, path)
		if w.ledger, err = sqlite.Open(t.Context(), path, ledger.Options{Sender: true}); err != nil {
			t.Fatal(err)
		}
		defer w.ledger.Close()
		var runs []campaign.Run
		for i := range f.runs {
			runs = append(runs, w.launch(t, dir, &f.runs[i]))
		}
		if past != nil {
			w.forecast = w.foresee(t, runs, *past)
		}
		w.send(t, runs, until)
	})
	return w
}

// launch imports the list of a run and makes it ready.
func (w *truth) launch(t *testing.T, dir string, r *foreseenRun) campaign.Run {
	t.Helper()
	var list strings.Builder
	header := []string{"to", "tz"}
	list.WriteString("to,tz\n")
	for i := range r.rows {
		tz := ""
		if n := len(r.zones); n > 0 {
			tz = r.zones[int(w.f.chance("zone", uint64(i))*float64(n))] //nolint:gosec // rows count from 0
		}
		fmt.Fprintf(&list, "%s,%s\n", phone(100_000*len(r.name)+10_000*int(r.name[len(r.name)-1]-'0')+i), tz)
	}
	path := filepath.Join(dir, r.name+".csv")
	if err := os.WriteFile(path, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	source := w.f.source(r)
	def, err := file.Parse(r.name+".yaml", source)
	if err != nil {
		t.Fatal(err)
	}
	sum, _, err := recipients.Hash(path)
	if err != nil {
		t.Fatal(err)
	}
	run, err := w.ledger.CreateRun(t.Context(), campaign.Run{Campaign: r.name, ListHash: sum, ListName: path, Definition: source,
		Header: header, Template: r.name, Language: "en_US", Marketing: !r.utility, Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	counts, err := launch.Import(t.Context(), launch.ImportInput{Ledger: w.ledger, Run: run, Definition: def, List: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ledger.FinishImport(t.Context(), run.No, counts.Rows, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	return run
}

// foresee is the forecast of the first run, from the ledger and the past.
func (w *truth) foresee(t *testing.T, runs []campaign.Run, past plan.Past) plan.Forecast {
	t.Helper()
	s := plan.Situation{Now: time.Now(), Past: past}
	for _, n := range w.f.numbers {
		s.Numbers = append(s.Numbers, plan.Number{ID: n.id, Pace: throughput.Number{Limit: n.limit}.Pace().Rate})
	}
	w.f.limits.situation(&s)
	for _, run := range runs {
		def, err := file.ParseStored(run.ID(), run.Definition)
		if err != nil {
			t.Fatal(err)
		}
		segments, err := w.ledger.SegmentStates(t.Context(), run.No)
		if err != nil {
			t.Fatal(err)
		}
		r, err := plan.RunOf(run, def, segments)
		if err != nil {
			t.Fatal(err)
		}
		s.Runs = append(s.Runs, r)
	}
	return s.Forecast(0)
}

// send runs an engine until the first run has ended, or until a time.
func (w *truth) send(t *testing.T, runs []campaign.Run, until time.Time) {
	t.Helper()
	client, err := service.New(service.Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret(simKey), Transport: w,
		Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	pace := func(connection string) float64 {
		for _, n := range w.f.numbers {
			if n.id == connection {
				return w.f.pace(n, time.Now())
			}
		}
		return 0
	}
	limiter := throttle.NewLocal()
	o := sender.Options{
		Owner: "forecast", Pace: pace, Tick: 15 * time.Second, Lease: 10 * time.Minute, Group: 20 * time.Second,
		Flush: time.Second, Request: 20 * time.Second,
		Jitter: func(purpose string, d time.Duration) time.Duration { // holds are read seldom: there are none
			if purpose == "holds" {
				return time.Minute
			}
			return d
		},
	}
	w.limited(&o, limiter)
	engine, err := sender.New(w.ledger, client, limiter, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := engine.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() { w.people(ctx, t, runs) })
	running.Go(func() { w.change(ctx, t, runs[0]) })
	for {
		time.Sleep(30 * time.Second)
		run, err := w.ledger.Run(ctx, runs[0].No)
		if err != nil {
			t.Error(err)
			break
		}
		if run.State.Ended() || !until.IsZero() && time.Now().After(until) {
			break
		}
		if time.Since(w.began) > 35*24*time.Hour { // a month's turn lies at most 31 days ahead
			t.Errorf("seed %d: %s has not ended after five weeks, want an end", w.f.seed, run.ID())
			break
		}
	}
	stop()
	running.Wait()
}

// people opt out while the first runs are sent: in the first six hours.
func (w *truth) people(ctx context.Context, t *testing.T, runs []campaign.Run) {
	for i, r := range w.f.runs {
		stops := int(math.Round(w.f.stops * float64(r.rows)))
		_ = runs[i]
		for k := range stops {
			select {
			case <-ctx.Done():
				return
			case <-time.After(6 * time.Hour / time.Duration(stops*len(w.f.runs))):
			}
			who := int(w.f.chance("stop "+r.name, uint64(k)) * float64(r.rows)) //nolint:gosec // from 0
			to := phone(100_000*len(r.name) + 10_000*int(r.name[len(r.name)-1]-'0') + who)
			if _, err := w.ledger.Suppress(ctx, []campaign.Suppression{{Key: recipients.Key(to), To: to, Scope: campaign.ScopeMarketing,
				Source: "stop", At: time.Now()}}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}
}

// RoundTrip is the service.
func (w *truth) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	var m posted
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	at := time.Now()
	w.mu.Lock()
	who := m.Template.Name + " " + m.To
	nth := w.tries[who]
	w.tries[who]++
	w.mu.Unlock()
	took := time.Duration(float64(w.f.latency) * math.Exp(0.6*w.f.normal("latency "+who, uint64(nth)))) //nolint:gosec // from 0
	time.Sleep(min(took, 15*time.Second))
	a := answered{run: m.Template.Name, connection: m.ConnectionID, at: time.Now(), kind: "accepted", took: took}
	resp := respond(200, fmt.Sprintf(`{"data":{"messageId":"wamid.%s.%s"}}`, m.Template.Name, m.To))
	switch {
	case w.f.throttles(m.ConnectionID, who, nth, at):
		a.kind = "throttled"
		resp = respond(400, `{"error":"send_retryable","message":"Slow down.","meta":{"errorClass":"retryable","code":130429,"retryable":true}}`)
	case w.f.chance("refused "+who) < w.f.refused:
		a.kind = "refused"
		resp = respond(400,
			`{"error":"send_recipient_permanent","message":"No.","meta":{"errorClass":"recipient_permanent","code":131026,"retryable":false}}`)
	}
	w.mu.Lock()
	w.answers = append(w.answers, a)
	w.mu.Unlock()
	return resp, nil
}
