package webhooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

func TestEveryRejectionSaysNoMoreThanItMust(t *testing.T) {
	now := time.Date(2026, 9, 21, 14, 0, 0, 0, time.UTC)
	good := status(1, "sent", now)
	encoded := request(good, secretText)
	encoded.Header.Set("Content-Encoding", "gzip")
	announced := request(good, secretText)
	announced.ContentLength = 2000
	long := request(strings.Repeat("x", 1001), secretText)
	long.ContentLength = -1
	get := request("", secretText)
	get.Method = http.MethodGet
	short := request(good, secretText)
	short.Body = io.NopCloser(io.MultiReader(strings.NewReader(good[:20]), broken{}))
	for name, c := range map[string]struct {
		r      *http.Request
		reason Rejection
		status int
	}{
		"GET":                 {get, RejectedMethod, 405},
		"compressed":          {encoded, RejectedEncoding, 415},
		"announced too long":  {announced, RejectedTooLarge, 413},
		"too long":            {long, RejectedTooLarge, 413},
		"broken off":          {short, RejectedBroken, 400},
		"unsigned":            {request(good, ""), RejectedSignature, 401},
		"signed by another":   {request(good, strings.Repeat("z", 32)), RejectedSignature, 401},
		"signed, no JSON":     {request("sent: ok", secretText), RejectedUndecodable, 400},
		"signed, cut JSON":    {request(good[:50], secretText), RejectedUndecodable, 400},
		"signed, empty":       {request("", secretText), RejectedUndecodable, 400},
		"signed, a number":    {request("17", secretText), RejectedUndecodable, 400},
		"signed, deep":        {request(strings.Repeat("[", 400)+strings.Repeat("]", 400), secretText), RejectedUndecodable, 400},
		"unsigned, undecoded": {request("sent: ok", ""), RejectedSignature, 401},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			i := newIntake(t, m, Options{MaxBody: 1000})
			start(t, i)
			w := serve(i, c.r)
			if w.Code != c.status || w.Body.Len() != 0 {
				t.Errorf("answered %d %q, want %d and no word", w.Code, w.Body, c.status)
			}
			for r, n := range i.Counts().Rejected {
				if r == c.reason && n != 1 || r != c.reason && n != 0 {
					t.Errorf("counted %d of %s, want 1 of %s alone", n, r, c.reason)
				}
			}
			if len(m.applied()) != 0 {
				t.Errorf("stored %+v, want nothing", m.applied())
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestNothingIsParsedBeforeTheSignatureHolds(t *testing.T) {
	i := newIntake(t, &memory{}, Options{Decode: func([]byte) ([]messaging.Event, error) {
		t.Error("an unverified body was decoded")
		return nil, nil
	}})
	start(t, i)
	body := status(1, "sent", time.Now())
	for n := range len(body) { // each byte changed
		r := request(body, secretText)
		r.Body = io.NopCloser(strings.NewReader(body[:n] + string(body[n]^1) + body[n+1:]))
		if w := serve(i, r); w.Code != http.StatusUnauthorized {
			t.Fatalf("byte %d changed: answered %d, want 401", n, w.Code)
		}
	}
	r := request(body, secretText) // the same JSON written again
	r.Body = io.NopCloser(strings.NewReader(strings.Replace(body, ",", ", ", 1)))
	if w := serve(i, r); w.Code != http.StatusUnauthorized {
		t.Errorf("re-serialised: answered %d, want 401", w.Code)
	}
	r = request(body, secretText)
	r.Header.Set("X-Service-Signature", r.Header.Get("X-Service-Signature")[:62])
	if w := serve(i, r); w.Code != http.StatusUnauthorized {
		t.Errorf("signature cut: answered %d, want 401", w.Code)
	}
}

func TestAWrongSecretIsSaidOnce(t *testing.T) {
	for name, c := range map[string]struct {
		secrets []string // of the webhooks that come
		lines   int
	}{
		"wrong from the start":   {[]string{strings.Repeat("z", 32), strings.Repeat("z", 32), ""}, 1},
		"a forger among others":  {[]string{secretText, strings.Repeat("z", 32), ""}, 0},
		"right from the outset":  {[]string{secretText, secretText}, 0},
		"a forger is the first":  {[]string{"", secretText, strings.Repeat("z", 32)}, 1},
		"nobody has called here": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			i := newIntake(t, &memory{}, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			start(t, i)
			for n, secret := range c.secrets {
				serve(i, request(status(n, "sent", time.Now()), secret))
			}
			if got := strings.Count(log.String(), "webhooks.secrets"); got != c.lines {
				t.Errorf("%d lines about secrets, want %d:\n%s", got, c.lines, &log)
			}
		})
	}
}

// A signed body that cannot be read is the one webhook that is lost if nobody looks: the log says so, without its text.
func TestASignedBodyThatCannotBeReadIsInTheLog(t *testing.T) {
	var log strings.Builder
	m := &memory{}
	i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Decode: func([]byte) ([]messaging.Event, error) {
		return nil, errors.New("no event of +15555550101")
	}})
	start(t, i)
	if w := post(i, `{"a":"+15555550101"}`); w.Code != http.StatusBadRequest || len(m.all().Statuses) != 0 {
		t.Errorf("answered %d, want 400 and nothing stored", w.Code)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "no event of +1555•••0101") || !strings.Contains(got, "bytes=20") {
		t.Errorf("the log says %s, want one warning with the reason, masked, and 20 bytes", got)
	}
}

// Whichever commit fails, its own requests are answered 503 and no other: a 204 is durable, a 503 comes again.
func TestTheAnswerIsThatOfItsOwnCommit(t *testing.T) {
	for failing := range 4 {
		var log strings.Builder
		m := &memory{}
		i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		stop := start(t, i)
		for n := range 4 {
			want := http.StatusNoContent
			m.setFail(nil)
			if n == failing {
				m.setFail(errors.New("disk full"))
				want = http.StatusServiceUnavailable
			}
			if got := post(i, status(n, "sent", time.Now())).Code; got != want {
				t.Errorf("commit %d of which %d fails: answered %d, want %d", n, failing, got, want)
			}
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v, want no error", err)
		}
		c := i.Counts()
		if got := len(m.all().Statuses); got != 3 || c.Commits != 4 || c.CommitsFailed != 1 || c.Committed != 3 {
			t.Errorf("%d stored, %d commits, %d failed, %d committed; want 3, 4, 1, 3", got, c.Commits, c.CommitsFailed, c.Committed)
		}
		again := map[bool]int{true: 0, false: 1}[failing == 3]
		if e, a := strings.Count(log.String(), "disk full"), strings.Count(log.String(), "stored again"); e != 1 || a != again {
			t.Errorf("the log says %d times that it fails, %d times that it is over; want 1 and %d:\n%s", e, a, again, &log)
		}
	}
}

func TestBothSecretsHoldWhileOneIsRotated(t *testing.T) {
	older, newer := strings.Repeat("o", 32), strings.Repeat("n", 32)
	m := &memory{}
	i := newIntake(t, m, Options{}, newer, older)
	start(t, i)
	for n, secret := range []string{older, newer} {
		if w := serve(i, request(status(n, "sent", time.Now()), secret)); w.Code != http.StatusNoContent {
			t.Errorf("secret %d: answered %d, want 204", n, w.Code)
		}
	}
	if got := len(m.all().Statuses); got != 2 {
		t.Errorf("%d statuses stored, want 2", got)
	}
}

func TestNoSecretNoIntake(t *testing.T) {
	if _, err := New(&memory{}, nil, Options{}); err == nil {
		t.Error("got an intake without secrets, want an error")
	}
	if _, err := New(nil, &messaging.Verifier{}, Options{}); err == nil {
		t.Error("got an intake without a ledger, want an error")
	}
	for name, o := range map[string]Options{
		"Hold": {Hold: time.Minute}, "MaxBody": {MaxBody: 1 << 30}, "Group": {Group: -1}, "Drain": {Drain: -1}, "MaxBodies": {MaxBodies: -1},
	} {
		if _, err := New(&memory{}, &messaging.Verifier{}, o); err == nil || !strings.Contains(err.Error(), "Options."+name) {
			t.Errorf("%s: %v, want an error that names it", name, err)
		}
	}
}

// A 2xx means that the event is durable (promise 5).
func TestNothingIsAnsweredBeforeTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		stop := start(t, i)
		answered := make(chan int, 1)
		go func() { answered <- post(i, status(1, "delivered", time.Now())).Code }()
		synctest.Wait()
		select {
		case code := <-answered:
			t.Fatalf("answered %d before the commit, want nothing yet", code)
		default:
		}
		m.gate <- struct{}{}
		if code := <-answered; code != http.StatusNoContent {
			t.Errorf("answered %d, want 204", code)
		}
		if got := m.all().Statuses; len(got) != 1 || got[0].MessageID != wamid(1) || got[0].Status != campaign.Delivered {
			t.Errorf("stored %+v, want %s delivered", got, wamid(1))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestALedgerThatFailsIsA503AtOnce(t *testing.T) {
	m := &memory{fail: errors.New("disk full")}
	i := newIntake(t, m, Options{RetryAfter: 7 * time.Second})
	start(t, i)
	w := post(i, status(1, "sent", time.Now()))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "7" {
		t.Errorf("answered %d, Retry-After %q; want 503 and 7", w.Code, w.Header().Get("Retry-After"))
	}
	m.setFail(nil)
	if w := post(i, status(1, "sent", time.Now())); w.Code != http.StatusNoContent {
		t.Errorf("after the repair: answered %d, want 204", w.Code)
	}
	if c := i.Counts(); c.CommitsFailed != 1 || c.Commits != 2 || c.Taken != 1 || c.Rejected[RejectedCommit] != 1 || c.Waiting != 0 {
		t.Errorf("counts %+v, want 2 commits of which 1 failed, 1 taken, 1 rejected, none waiting", c)
	}
}

func TestNoRequestIsHeldLongerThanTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &stuckLedger{release: make(chan struct{})} // does not even obey its context
		i := newIntake(t, stuck, Options{})
		stop := start(t, i)
		began := time.Now()
		w := post(i, status(1, "sent", time.Now()))
		if took := time.Since(began); w.Code != http.StatusServiceUnavailable || took != 10*time.Second {
			t.Errorf("answered %d after %v, want 503 after 10s", w.Code, took)
		}
		if n := i.Counts().Rejected[RejectedHeld]; n != 1 {
			t.Errorf("counted %d as held, want 1", n)
		}
		close(stuck.release)
		stop()
	})
}

type stuckLedger struct{ release chan struct{} }

func (s *stuckLedger) Apply(context.Context, campaign.Events) (campaign.Applied, error) {
	<-s.release
	return campaign.Applied{}, nil
}

func (s *stuckLedger) Sweep(context.Context, time.Time) (campaign.Swept, error) {
	return campaign.Swept{}, nil
}

func TestACommitHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		stop := start(t, i)
		began := time.Now()
		if w := post(i, status(1, "sent", time.Now())); w.Code != http.StatusServiceUnavailable || time.Since(began) != 5*time.Second {
			t.Errorf("answered %d after %v, want 503 after 5s", w.Code, time.Since(began))
		}
		stop()
	})
}

func TestASenderWhoLeavesIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		stop := start(t, i)
		ctx, leave := context.WithTimeout(context.Background(), time.Second)
		defer leave()
		began := time.Now()
		serve(i, request(status(1, "sent", time.Now()), secretText).WithContext(ctx))
		if took := time.Since(began); took != time.Second || i.Counts().Rejected[RejectedGone] != 1 {
			t.Errorf("held for %v, %d counted as gone; want 1s and 1", took, i.Counts().Rejected[RejectedGone])
		}
		m.gate <- struct{}{} // what was received is stored all the same
		synctest.Wait()
		if len(m.all().Statuses) != 1 {
			t.Errorf("stored %+v, want the one event", m.all().Statuses)
		}
		stop()
	})
}

func TestMoreThanCanBeCommittedSoonIs503AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{MaxWaiting: 10, Group: 1})
		stop := start(t, i)
		codes := make(chan int, 20)
		for n := range 20 {
			go func() { codes <- post(i, status(n, "sent", time.Now())).Code }()
		}
		synctest.Wait()
		if got := len(codes); got != 10 {
			t.Errorf("%d of 20 were answered at once, want 10", got)
		}
		for range len(codes) {
			if code := <-codes; code != http.StatusServiceUnavailable {
				t.Errorf("answered %d at once, want 503", code)
			}
		}
		if n := i.Counts().Rejected[RejectedFull]; n != 10 {
			t.Errorf("counted %d as full, want 10", n)
		}
		for range 10 {
			m.gate <- struct{}{}
			if code := <-codes; code != http.StatusNoContent {
				t.Errorf("answered %d, want 204", code)
			}
		}
		if n := i.Counts().Waiting; n != 0 {
			t.Errorf("%d still waiting, want 0", n)
		}
		stop()
	})
}

func TestARequestLongerThanAnEmptyQueueIsTaken(t *testing.T) {
	m := &memory{}
	i := newIntake(t, m, Options{MaxWaiting: 5})
	start(t, i)
	var events []string
	for n := range 1000 {
		events = append(events, status(n, "sent", time.Now()))
	}
	if w := post(i, "["+strings.Join(events, ",")+"]"); w.Code != http.StatusNoContent {
		t.Errorf("answered %d, want 204", w.Code)
	}
	if b := m.applied(); len(b) != 1 || len(b[0].Statuses) != 1000 {
		t.Errorf("stored %d batches, want one of 1000 statuses", len(b))
	}
}

func TestABatchFormsWhileTheOneBeforeItIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		sizes := []int{}
		i := newIntake(t, m, Options{Group: 50, OnCommit: func(events int, _ time.Duration, err error) { sizes = append(sizes, events) }})
		stop := start(t, i)
		var wait sync.WaitGroup
		send := func(n int) {
			wait.Go(func() {
				if code := post(i, status(n, "sent", time.Now())).Code; code != http.StatusNoContent {
					t.Errorf("answered %d, want 204", code)
				}
			})
		}
		send(0)
		synctest.Wait()
		for n := range 120 {
			send(1 + n)
		}
		synctest.Wait()
		for range 4 {
			m.gate <- struct{}{}
		}
		wait.Wait()
		if want := "[1 50 50 20]"; fmt.Sprint(sizes) != want {
			t.Errorf("batches of %v, want %v", sizes, want)
		}
		seen := map[string]bool{}
		for _, s := range m.all().Statuses {
			seen[s.MessageID] = true
		}
		if len(seen) != 121 {
			t.Errorf("%d events stored, want 121", len(seen))
		}
		if c := i.Counts(); c.Commits != 4 || c.Committed != 121 || c.Matched != 121 || c.Events["status"] != 121 {
			t.Errorf("counts %+v, want 4 commits, and 121 committed, matched and of kind status", c)
		}
		stop()
	})
}

func TestStoppingStoresWhatWaitsAndTurnsAwayTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{Group: 1})
		stop := start(t, i)
		codes := make(chan int, 5)
		for n := range 5 {
			go func() { codes <- post(i, status(n, "sent", time.Now())).Code }()
		}
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		synctest.Wait()
		m.gate <- struct{}{} // the commit under way is not undone by the stop
		synctest.Wait()
		if w := post(i, status(9, "sent", time.Now())); w.Code != http.StatusServiceUnavailable || i.Counts().Rejected[RejectedStopping] != 1 {
			t.Errorf("while stopping: answered %d, want 503, counted once", w.Code)
		}
		for range 4 {
			m.gate <- struct{}{}
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		for range 5 {
			if code := <-codes; code != http.StatusNoContent {
				t.Errorf("answered %d, want 204", code)
			}
		}
		if got := len(m.all().Statuses); got != 5 {
			t.Errorf("%d stored, want 5", got)
		}
		if err := i.Run(context.Background()); err == nil {
			t.Error("got no error of a second Run, want one")
		}
	})
}

func TestStoppingDoesNotWaitForALedgerForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{Group: 1, Drain: 3 * time.Second})
		stop := start(t, i)
		codes := make(chan int, 3)
		for n := range 3 {
			go func() { codes <- post(i, status(n, "sent", time.Now())).Code }()
		}
		synctest.Wait()
		began := time.Now()
		err := stop()
		if took := time.Since(began); err == nil || took > 8*time.Second { // 5 s commit under way + 3 s drain
			t.Errorf("%v after %v, want an error within 8s", err, took)
		}
		if want := "webhooks: 1 events were not stored within 3s of stopping; the service will repeat them"; err != nil && err.Error() != want {
			t.Errorf("Run: got %q, want %q", err, want)
		}
		for range 3 {
			if code := <-codes; code != http.StatusServiceUnavailable {
				t.Errorf("answered %d, want 503", code)
			}
		}
	})
}

// A stop whose time runs out in the last commit has left nobody without an answer.
func TestAStopThatAnsweredEverybodyIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIntake(t, &memory{gate: make(chan struct{})}, Options{Group: 1, Drain: 3 * time.Second})
		stop := start(t, i)
		codes := make(chan int, 2)
		for n := range 2 { // one under way, one that waits
			go func() { codes <- post(i, status(n, "sent", time.Now())).Code }()
		}
		synctest.Wait()
		if err := stop(); err != nil {
			t.Errorf("Run: %v, want no error", err)
		}
		for range 2 {
			if code := <-codes; code != http.StatusServiceUnavailable {
				t.Errorf("answered %d, want 503", code)
			}
		}
	})
}

func TestBodiesThatNobodySignedGetLittleMemory(t *testing.T) {
	i := newIntake(t, &memory{}, Options{MaxBodies: 100 << 10})
	start(t, i)
	long := strings.Repeat("x", 60<<10) // takes a buffer of 64 KiB
	held := request(long, "")
	reading, release := make(chan struct{}), make(chan struct{})
	held.Body = io.NopCloser(io.MultiReader(strings.NewReader(long), &pause{reading, release}))
	held.ContentLength = -1
	done := make(chan int)
	go func() { done <- serve(i, held).Code }()
	<-reading
	w := serve(i, request(long, secretText))
	if w.Code != http.StatusServiceUnavailable || i.Counts().Rejected[RejectedMemory] != 1 {
		t.Errorf("answered %d while memory was used up, want 503", w.Code)
	}
	if w := post(i, status(1, "sent", time.Now())); w.Code != http.StatusNoContent {
		t.Errorf("a small event was answered %d, want 204", w.Code)
	}
	close(release)
	if code := <-done; code != http.StatusUnauthorized {
		t.Errorf("answered %d, want 401", code)
	}
	if used := i.bodies.used.Load(); used != 0 {
		t.Errorf("%d bytes are still counted, want 0", used)
	}
	if w := serve(i, request(long, secretText)); w.Code != http.StatusBadRequest {
		t.Errorf("answered %d after the memory was given back, want 400", w.Code)
	}
}

// pause says that it was reached, then waits, then ends.
type pause struct {
	reached chan<- struct{}
	release <-chan struct{}
}

func (p *pause) Read([]byte) (int, error) {
	p.reached <- struct{}{}
	<-p.release
	return 0, io.EOF
}

func TestAnEventOfAnUnknownKindIsCountedAndNotStored(t *testing.T) {
	m := &memory{}
	i := newIntake(t, m, Options{})
	start(t, i)
	if w := post(i, `{"type":"invoice.created","data":{"total":1}}`); w.Code != http.StatusNoContent {
		t.Errorf("answered %d, want 204", w.Code)
	}
	if w := post(i, `[]`); w.Code != http.StatusNoContent {
		t.Errorf("answered %d to an empty batch, want 204", w.Code)
	}
	if len(m.applied()) != 0 || i.Counts().Events["unknown"] != 1 {
		t.Errorf("stored %v, counts %+v; want nothing stored, one event unknown", m.applied(), i.Counts())
	}
}

func ExampleIntake() {
	verifier, err := messaging.NewVerifier(messaging.SignatureForm{}, messaging.NewSecret(secretText))
	if err != nil {
		fmt.Println(err)
		return
	}
	ledger := &memory{} // the daemon gives its ledger
	intake, err := New(ledger, verifier, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { _ = intake.Run(ctx) })

	mux := http.NewServeMux()
	mux.Handle("/webhooks/messaging", intake)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, request(inbound("+15555550101", "STOP", time.Unix(1790000000, 0)), secretText))
	stop()
	run.Wait()

	s := ledger.all().Suppressions[0]
	fmt.Println(w.Code, s.To, s.Scope, s.Source)
	// Output: 204 +15555550101 marketing stop
}
