package webhooks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/messaging"
)

func TestARejectionHasAStatusAndNoBody(t *testing.T) {
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
			i := newIntake(t, m, Options{})
			i.bodies.limit = 1000
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

func TestNoRequestWaitsLongerThanTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &stuckLedger{release: make(chan struct{})} // it ignores its context
		i := newIntake(t, stuck, Options{})
		stop := start(t, i)
		began := time.Now()
		w := post(i, status(1, "sent", time.Now()))
		if took := time.Since(began); w.Code != http.StatusServiceUnavailable || took != 10*time.Second {
			t.Errorf("answered %d after %v, want 503 after 10s", w.Code, took)
		}
		if n := i.Counts().Rejected[RejectedLate]; n != 1 {
			t.Errorf("counted %d as late, want 1", n)
		}
		close(stuck.release)
		stop()
	})
}

type stuckLedger struct {
	reception.ListenLedger
	reception.SignatureLedger
	release chan struct{}
}

func (s *stuckLedger) NoteSignatures(
	context.Context, reception.SignatureNote, time.Time,
) (n reception.Signatures, replay time.Time, err error) {
	return n, replay, nil
}

func (s *stuckLedger) Listen(context.Context, reception.Span) error { return nil }

func (s *stuckLedger) Apply(context.Context, campaign.Events) (campaign.Applied, error) {
	<-s.release
	return campaign.Applied{}, nil
}

func (s *stuckLedger) Sweep(context.Context, time.Time) (campaign.Swept, error) {
	return campaign.Swept{}, nil
}

func TestARequestEndsWhenItsSenderLeaves(t *testing.T) {
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
		m.gate <- struct{}{} // the event is stored although the sender has left
		synctest.Wait()
		if len(m.all().Statuses) != 1 {
			t.Errorf("stored %+v, want the one event", m.all().Statuses)
		}
		stop()
	})
}

func TestAFullQueueIs503AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan struct{})}
		i := newIntake(t, m, Options{})
		i.maxWaiting, i.maxBatch = 10, 1
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
	i := newIntake(t, m, Options{})
	i.maxWaiting = 5
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

func TestLongBodiesGetABoundedMemory(t *testing.T) {
	i := newIntake(t, &memory{}, Options{})
	i.bodies.max = 100 << 10
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

// pause is a reader that reports its first Read, waits for release, and returns io.EOF.
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
