package sender_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/sender"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/recipients"
	"campaignd/reporting"
	"campaignd/throttle"
)

// scene is a ledger, a service that says what a test wants, and engines between them. It lives in a
// synctest bubble.
type scene struct {
	t       *testing.T
	dir     string
	ledger  campaign.Ledger
	limiter throttle.Limiter
	client  *service.Client
	began   time.Time
	group   time.Duration           // sender.Options.Group
	runs    map[string]campaign.Run // by template
	options func(*sender.Options)   // changes those of start; nil: it does not

	// answer is what the service says to a request; nil: it accepts. It is called in the request's own
	// goroutine and may sleep.
	answer func(*request) *http.Response

	// away reports whether no connection can be made; nil: it can.
	away func() bool

	mu       sync.Mutex
	requests []*request
	flying   map[string]int // by connection
	nth      map[string]int // by connection
}

// request is one POST that reached the service.
type request struct {
	nth                  int // of its connection
	connection, template string
	to                   string
	at                   time.Time
	flying               int  // of its connection, with this one
	accepted             bool // a message was made of it
	ctx                  context.Context
}

// pace is the rate of each number of a scene, in messages per second.
const pace = 68

func newScene(t *testing.T) *scene {
	s := &scene{t: t, limiter: throttle.NewLocal(), began: time.Now(), runs: map[string]campaign.Run{},
		flying: map[string]int{}, nth: map[string]int{}}
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	var err error
	if s.dir, err = os.MkdirTemp(base, "campaignd-scene-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	path := filepath.Join(s.dir, "campaignd.db")
	sqlitetest.New(t, path)
	if s.ledger, err = sqlite.Open(t.Context(), path, ledger.Options{Sender: true}); err != nil {
		t.Fatal(err)
	}
	s.client, err = service.New(service.Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret(simKey), Transport: s,
		Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// launch makes a run of a template with so many rows. The phone numbers of a run begin at its own
// thousands.
func (s *scene) launch(template string, rows int, connections ...string) {
	s.t.Helper()
	s.launchAs(template, rows, "UTILITY", "{}", connections...)
}

// launchAs is launch with a category of the template, and limits.
func (s *scene) launchAs(template string, rows int, category, limits string, connections ...string) {
	s.t.Helper()
	list := make([]string, rows)
	for i := range list {
		list[i] = phone(100_000*len(s.runs) + i)
	}
	s.launchTo(template, list, category, limits, connections...)
}

// launchTo is launchAs with the phone numbers of the list.
func (s *scene) launchTo(template string, list []string, category, limits string, connections ...string) {
	s.t.Helper()
	path := filepath.Join(s.dir, template+".csv")
	if err := os.WriteFile(path, []byte("to\n"+strings.Join(list, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	source := fmt.Sprintf("name: %s\nconnections: [%s]\ntemplate: {name: %s, language: en_US, category: %s}\nlimits: %s\n",
		template, strings.Join(connections, ", "), template, category, limits)
	def, err := file.Parse(template+".yaml", []byte(source))
	if err != nil {
		s.t.Fatal(err)
	}
	hash, _, err := recipients.Hash(path)
	if err != nil {
		s.t.Fatal(err)
	}
	run, err := s.ledger.CreateRun(s.t.Context(), campaign.Run{Campaign: def.Name, ListHash: hash, ListName: path,
		Definition: []byte(source), Header: []string{"to"}, Template: template, Language: "en_US",
		Marketing: category == "MARKETING" || template == "promo", Wanted: campaign.WantRun})
	if err != nil {
		s.t.Fatal(err)
	}
	counts, err := launch.Import(s.t.Context(), launch.ImportInput{Ledger: s.ledger, Run: run, Definition: def, List: path})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.ledger.FinishImport(s.t.Context(), run.No, counts.Rows, campaign.Ready); err != nil {
		s.t.Fatal(err)
	}
	s.runs[template] = run
}

// origin gives each connection a company and an account of its own, named after it, under one key.
func origin(connection string) campaign.Origin {
	name := strings.TrimPrefix(connection, "conn_")
	return campaign.Origin{Key: "key", Company: "company_" + name, Account: "account_" + name}
}

// start runs an engine until the returned function is called.
func (s *scene) start(owner string) (engine *sender.Engine, stop func()) {
	s.t.Helper()
	o := sender.Options{Owner: owner, Origin: origin, Pace: func(string) float64 { return pace }, Group: s.group}
	if s.options != nil {
		s.options(&o)
	}
	engine, err := sender.New(s.ledger, s, s.limiter, o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	return engine, func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("the engine ended with %v, want nil", err)
		}
	}
}

// Send posts a message if a connection can be made.
func (s *scene) Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error) {
	if s.away != nil && s.away() {
		return messaging.Receipt{}, &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Code: "not_connected"}
	}
	return s.client.Send(ctx, m)
}

// Warm makes a connection if there is none.
func (s *scene) Warm(ctx context.Context) error { return s.client.Warm(ctx) }

// RoundTrip is the service.
func (s *scene) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	var m posted
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	q := &request{connection: m.ConnectionID, template: m.Template.Name, to: m.To, at: time.Now(), ctx: r.Context()}
	s.mu.Lock()
	s.flying[q.connection]++
	q.flying = s.flying[q.connection]
	s.nth[q.connection]++
	q.nth = s.nth[q.connection]
	s.requests = append(s.requests, q)
	answer := s.answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.flying[q.connection]--
		s.mu.Unlock()
	}()
	time.Sleep(100 * time.Millisecond)
	if answer != nil {
		if resp := answer(q); resp != nil {
			return resp, nil
		}
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	q.accepted = true
	s.mu.Unlock()
	return respond(200, fmt.Sprintf(`{"data":{"messageId":"wamid.%s.%s"}}`, q.template, q.to)), nil
}

// respond is an answer of the service.
func respond(status int, body string) *http.Response {
	kind := "application/json"
	if strings.HasPrefix(body, "<") {
		kind = "text/html"
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body))}
}

// refuse is a refusal by a code of the platform.
func refuse(code int) *http.Response {
	return respond(400, fmt.Sprintf(
		`{"error":"send_account","message":"Refused.","meta":{"errorClass":"account","retryable":false,"code":%d}}`, code))
}

// count counts the requests from one instant to another that match; nil matches all.
func (s *scene) count(from, to time.Time, match func(*request) bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.requests {
		if !q.at.Before(from) && q.at.Before(to) && (match == nil || match(q)) {
			n++
		}
	}
	return n
}

func over(connection string) func(*request) bool {
	return func(q *request) bool { return q.connection == connection }
}

// steady requires that a number or run sent at its full rate, within 5 %.
func (s *scene) steady(what string, from, to time.Time, rate float64, match func(*request) bool) {
	s.t.Helper()
	want := rate * to.Sub(from).Seconds()
	if got := s.count(from, to, match); float64(got) < 0.95*want || float64(got) > 1.05*want+1 {
		s.t.Errorf("%s: %d posts in %v, want %.0f within 5 %%", what, got, to.Sub(from), want)
	}
}

// lift is what `campaignd holds lift` does.
func (s *scene) lift(scope campaign.HoldScope, id string) {
	s.t.Helper()
	ended, err := s.ledger.LiftHolds(s.t.Context(), []campaign.Lift{{Scope: scope, ID: id, At: time.Now(), By: campaign.HoldByOperator}})
	if err != nil || len(ended) == 0 {
		s.t.Errorf("lifting %s %s ended %d holds (%v), want 1 or more", scope, id, len(ended), err)
	}
}

// holds are the scopes and ids of the holds in force and of the breakers that are tested.
func (s *scene) holds() (all []string) {
	s.t.Helper()
	hs, err := s.ledger.Holds(s.t.Context(), false)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range hs {
		all = append(all, fmt.Sprintf("%s %s %s", h.Scope, h.ID, h.Reason))
	}
	return all
}

// tallies are the deliveries of a run by status and reason.
func (s *scene) tallies(template string) map[string]int64 {
	s.t.Helper()
	all, _, err := s.ledger.Tallies(s.t.Context(), s.runs[template].No)
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, one := range all {
		out[strings.TrimSpace(string(one.Status)+" "+one.Reason)] += one.N
	}
	return out
}

// end requires that nobody was sent to twice and that each audit balances, and closes the ledger.
func (s *scene) end() {
	s.t.Helper()
	made := map[string]int{}
	for _, q := range s.requests {
		if q.accepted {
			made[q.template+" "+q.to]++
		}
	}
	for who, n := range made {
		if n > 1 {
			s.t.Errorf("%s got %d messages, want 1", who, n)
		}
	}
	for template, run := range s.runs {
		run, err := s.ledger.Run(s.t.Context(), run.No)
		if err != nil {
			s.t.Fatal(err)
		}
		if run.State == campaign.Paused {
			s.t.Errorf("%s is paused (%s), want it running or ended", template, run.Reason)
		}
		audit, err := reporting.Audit(s.t.Context(), s.ledger, run)
		if err != nil || !audit.Balanced {
			s.t.Errorf("audit of %s: %+v (%v), want it balanced", template, audit.Problems, err)
		}
	}
	if err := s.ledger.Close(); err != nil {
		s.t.Error(err)
	}
}

// sortedKeys are the keys of a map in order, for messages.
func sortedKeys(m map[string]int64) (all []string) {
	for k, n := range m {
		all = append(all, fmt.Sprintf("%s: %d", k, n))
	}
	slices.Sort(all)
	return all
}
