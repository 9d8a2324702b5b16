package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"campaignd/internal/client/resource"
)

// told is an address that takes notifications once it is open. Before that its requests have no
// answer.
type told struct {
	t    *testing.T
	open chan struct{}

	mu     sync.Mutex
	asked  int
	types  map[string]map[string]bool // ids by type and subject of the event
	bodies map[string]string          // by id
	times  map[string]int             // by id
}

const toldKey = "0123456789abcdef0123456789abcdef"

func newTold(t *testing.T) (*told, string) {
	r := &told{t: t, open: make(chan struct{}), types: map[string]map[string]bool{}, bodies: map[string]string{}, times: map[string]int{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return r, s.URL
}

func (r *told) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var got struct {
		Type string
		Data struct{ Run, Subject string }
	}
	if err != nil || json.Unmarshal(body, &got) != nil {
		r.t.Errorf("got the body %q, %v; want JSON", body, err)
	}
	id := req.Header.Get("webhook-id")
	mac := hmac.New(sha256.New, []byte(toldKey))
	mac.Write([]byte(id + "." + req.Header.Get("webhook-timestamp") + "." + string(body)))
	if got, want := req.Header.Get("webhook-signature"), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)); got != want {
		r.t.Errorf("got the signature %q, want %q", got, want)
	}
	event := got.Type + " " + got.Data.Run + got.Data.Subject
	r.mu.Lock()
	r.asked++
	if r.types[event] == nil {
		r.types[event] = map[string]bool{}
	}
	r.types[event][id] = true
	if was := r.bodies[id]; was != "" && was != string(body) {
		r.t.Errorf("the id %s came with %s and %s, want one body", id, was, body)
	}
	r.bodies[id] = string(body)
	r.mu.Unlock()
	select {
	case <-r.open:
	case <-req.Context().Done():
		return
	}
	r.mu.Lock()
	r.times[id]++
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// requests counts what came, also without an answer.
func (r *told) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// events are those that were answered.
func (r *told) events() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for event, ids := range r.types {
		for id := range ids {
			if r.times[id] > 0 {
				all = append(all, event)
			}
		}
	}
	slices.Sort(all)
	return all
}

// notifications lists the outbox.
func (d *fixture) notifications(args ...string) (all []resource.Notification) {
	d.t.Helper()
	out := d.want(0, append([]string{"notifications", "list", "-o", "json"}, args...)...).stdout
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		d.t.Fatal(err)
	}
	return all
}

// A process is killed while its first requests have no answer. There is a notification of every
// event, each with one id.
func TestAKilledProcessLosesNoNotification(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	r, url := newTold(t)
	d.env["CAMPAIGND_NOTIFICATIONS_OPS_URL"] = url
	d.env["CAMPAIGND_NOTIFICATIONS_OPS_SECRETS"] = "whsec_" + base64.StdEncoding.EncodeToString([]byte(toldKey))
	d.env["CAMPAIGND_NOTIFICATIONS_OPS_EVENTS"] = "[hold.raised, run.started, run.paused, run.finished, approval.needed]"
	d.write("a.yaml", strings.Replace(campaignFile, "orders", "approved", 1)+"policies: {approval: true}\n")
	d.want(0, "ledger", "migrate") // makes the ledger
	d.want(0, "holds", "add", "connection", "conn_1")
	d.want(3, "run", d.path("c.yaml"), "--settle", "0s")
	d.want(0, "pause", "latest")

	child := exec.Command(os.Args[0], "serve")
	child.Env = append(os.Environ(), actAsCampaignd+"=1")
	for name, value := range d.env {
		child.Env = append(child.Env, name+"="+value)
	}
	before := r.requests()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	defer func() {
		if !killed {
			_ = child.Process.Kill()
			_ = child.Wait()
		}
	}()
	// A try that the run above took belongs to it for a minute.
	d.spoil("UPDATE notification SET next_at = 0 WHERE state = 'pending'")
	d.eventually("a request of the child waits for its answer, and the pause is in the outbox", func() bool {
		paused := func(n resource.Notification) bool { return n.Kind == "run.paused" }
		return r.requests() > before && slices.ContainsFunc(d.notifications(), paused)
	})
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	killed = true
	if sent := d.notifications("--state", "sent"); len(sent) > 0 {
		t.Fatalf("got %+v as sent, want nothing", sent)
	}

	close(r.open)
	d.spoil("UPDATE notification SET next_at = 0 WHERE state = 'pending'")
	defer d.serving()()
	d.want(0, "resume", "--all")
	d.want(0, "holds", "lift", "connection", "conn_1")
	d.want(0, "launch", d.path("a.yaml"), "--recipients", d.path("list.csv"))
	want := []string{"approval.needed approved-2", "hold.raised connection conn_1", "run.finished orders-1", "run.paused orders-1",
		"run.started orders-1"}
	d.eventually("every event is told", func() bool { return len(r.events()) >= len(want) && len(d.notifications("--state", "pending")) == 0 })
	if got := r.events(); !slices.Equal(got, want) {
		t.Errorf("got the events %q, want %q", got, want)
	}
	r.mu.Lock()
	for event, ids := range r.types {
		if len(ids) != 1 {
			t.Errorf("%s came under %d ids %v, want one", event, len(ids), slices.Collect(maps.Keys(ids)))
		}
	}
	r.mu.Unlock()

	all := d.notifications()
	first := all[len(all)-1]
	no := strconv.FormatInt(first.No, 10)
	wantIn(t, "show", d.want(0, "notifications", "show", no).stdout, first.ID, `"kind": "hold.raised"`)
	wantIn(t, "the table", d.want(0, "notifications").stdout, "hold.raised", "run.finished")
	d.want(0, "notifications", "send", no)
	d.eventually("it is sent again with its id", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.times[first.ID] > 1
	})
	wantIn(t, "the log of actions", d.want(0, "actions").stdout, "notifications send")
	wantIn(t, "config show", d.want(0, "config", "show").stdout, "ops:", `url: "***"`)
	d.want(2, "notifications", "show", "999999")
	d.want(2, "notifications", "send", "x")
	d.want(2, "notifications", "list", "--state", "lost")
	d.env["CAMPAIGND_NOTIFICATIONS_OPS_URL"] = "http://hooks.example/hush"
	if r := d.want(2, "notifications"); strings.Contains(r.stderr, "hush") {
		t.Errorf("got %q, want no word of the address", r.stderr)
	}
}
