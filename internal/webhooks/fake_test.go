package webhooks

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/messaging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is an EventLedger in memory that can be made to wait or to fail.
type memory struct {
	mu      sync.Mutex
	batches []campaign.Events
	fail    error
	gate    chan struct{} // Apply waits until it can receive, or its context ends
	sweeps  []time.Time
	by      []time.Time // by which the sweeps deleted
	swept   campaign.Swept

	listened []reception.Span
	lost     []reception.LostTime
	signed   reception.Signatures
	notes    int // of signatures
}

func (m *memory) NoteSignatures(
	_ context.Context, n reception.SignatureNote, now time.Time,
) (s reception.Signatures, replay time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return s, replay, m.fail
	}
	m.notes++
	m.signed, replay = m.signed.With(n, now)
	return m.signed, replay, nil
}

func (m *memory) Signatures(context.Context) (reception.Signatures, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.signed, m.fail
}

func (m *memory) Apply(ctx context.Context, e campaign.Events) (campaign.Applied, error) {
	if m.gate != nil {
		select {
		case <-m.gate:
		case <-ctx.Done():
			return campaign.Applied{}, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return campaign.Applied{}, m.fail
	}
	m.batches = append(m.batches, e)
	return campaign.Applied{Matched: len(e.Statuses)}, nil
}

func (m *memory) Sweep(_ context.Context, now time.Time) (campaign.Swept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.by = append(m.by, now)
	m.sweeps = append(m.sweeps, time.Now())
	return m.swept, m.fail
}

func (m *memory) Listen(_ context.Context, s reception.Span) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.listened = append(m.listened, s)
	}
	return m.fail
}

func (m *memory) Listened(context.Context, time.Time) ([]reception.Span, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.listened), nil
}

func (*memory) NoteReplay(context.Context, reception.Span, time.Time, int64) error { return nil }

func (m *memory) LostTimes(context.Context) ([]reception.LostTime, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lost), m.fail
}

func (m *memory) CountReplayed(_ context.Context, at time.Time, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.lost {
		if m.lost[i].At.Equal(at) {
			m.lost[i].Came += n
		}
	}
	return m.fail
}

// swepts returns the number of sweeps.
func (m *memory) swepts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sweeps)
}

// sizes returns the number of statuses of each commit.
func (m *memory) sizes() (n []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.batches {
		n = append(n, len(e.Statuses))
	}
	return n
}

func (m *memory) setFail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *memory) applied() []campaign.Events {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.batches
}

func (m *memory) all() campaign.Events {
	var e campaign.Events
	for _, b := range m.applied() {
		merge(&e, b)
	}
	return e
}

const secretText = "whsec-0123456789abcdef0123456789"

func newIntake(t testing.TB, l campaign.EventLedger, o Options, secrets ...string) *Intake {
	t.Helper()
	if len(secrets) == 0 {
		secrets = []string{secretText}
	}
	var hidden []messaging.Secret
	for _, s := range secrets {
		hidden = append(hidden, messaging.NewSecret(s))
	}
	v, err := messaging.NewVerifier(messaging.SignatureForm{}, hidden...)
	if err != nil {
		t.Fatal(err)
	}
	i, err := New(l, v, o)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// start runs the intake until stop is called or the test ends.
func start(t testing.TB, i *Intake) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() { cancel(); err = <-ended })
		return err
	}
	t.Cleanup(func() { stop() })
	return stop
}

func request(body, secret string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks/messaging", strings.NewReader(body))
	if secret != "" {
		if err := (messaging.SignatureForm{}).Sign(r.Header, messaging.NewSecret(secret), []byte(body), time.Now()); err != nil {
			panic(err)
		}
	}
	return r
}

// post delivers a signed body and returns the answer.
func post(i *Intake, body string) *httptest.ResponseRecorder {
	return serve(i, request(body, secretText))
}

func serve(i *Intake, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	w.Body = new(bytes.Buffer)
	i.ServeHTTP(w, r)
	return w
}

func wamid(n int) string { return fmt.Sprintf("wamid.TEST%06d", n) }

func status(n int, word string, at time.Time) string {
	return fmt.Sprintf(`{"id":"evt_%d","type":"message.status","connectionId":"conn_1",`+
		`"data":{"messageId":%q,"status":%q,"timestamp":%d,"to":"+1555555%04d"}}`,
		n, wamid(n), word, at.Unix(), n%10000)
}

func inbound(from, text string, at time.Time) string {
	return fmt.Sprintf(`{"type":"message.received","connectionId":"conn_1",`+
		`"data":{"messageId":"wamid.IN","from":%q,"timestamp":%d,"type":"text","text":{"body":%q}}}`,
		from, at.Unix(), text)
}
