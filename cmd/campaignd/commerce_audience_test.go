package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"campaignd/internal/client"
	"campaignd/internal/command"
	"campaignd/internal/filelock"
)

const audienceFile = `name: winback
connections: [conn_1]
template: {name: order_update, language: en_US, body: ["{{ .first_name }}", "{{ .customer_id }}"]}
audience: {from: customers, consent: {field: metadata.consent, values: ["yes"]}}
`

// customers gives the fixture a platform with two customers. The second has the consent that the
// value says.
func (d *fixture) customers(consent *atomic.Value) {
	d.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2023-11/admin/customers" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, `{"data":[{"id":"01J8","first_name":"Ama","phone":"+237650000001","metadata":{"consent":"yes"}},
			{"id":"01J9","first_name":"Esi","phone":"+237650000002","metadata":{"consent":"%s"}}],"links":{"next":null},"meta":{"total":2}}`,
			consent.Load())
	}))
	d.t.Cleanup(server.Close)
	d.env["CAMPAIGND_COMMERCE_BASE_URL"], d.env["CAMPAIGND_COMMERCE_COMPANY"] = server.URL, company
	d.env["CAMPAIGND_COMMERCE_API_KEY"], d.env["CAMPAIGND_DATA_DIR"] = "key", d.dir
	d.write("winback.yaml", audienceFile)
}

// sentTo counts the messages to a number that the sandbox accepted.
func (d *fixture) sentTo(number string) int {
	d.t.Helper()
	resp, err := http.Get(d.env["CAMPAIGND_SERVICE_BASE_URL"] + "/sandbox/truth")
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.Count(string(text), number)
}

// A customer who withdraws the consent between two runs is not sent to by the second.
func TestAnAudienceIsSentAndAskedAnew(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	var consent atomic.Value
	consent.Store("yes")
	d.customers(&consent)
	file := d.path("winback.yaml")

	r := d.want(0, "commerce", "audience", file)
	if !strings.HasPrefix(r.stdout, "2 customers\n") || !strings.Contains(r.stdout, "first_name=Esi") || d.sentTo("650000002") != 0 {
		t.Errorf("the dry run: got %q; want 2 customers with their rows, and nothing sent", r.stdout)
	}
	d.want(0, "check", file)
	d.want(0, "run", file)
	sent := d.sentTo("650000002")
	if sent == 0 {
		t.Fatal("the second customer got no message; want one")
	}
	if r := d.want(0, "run", file); !strings.Contains(r.stderr, "winback-1 had ended before") {
		t.Errorf("the same command: got %q; want that nothing is sent", r.stderr)
	}
	if r := d.want(0, "check", file); !strings.Contains(r.stdout, "again and sends nothing: it has this campaign's audience and is finished") {
		t.Errorf("check: got %q; want that `run` sends nothing", r.stdout)
	}
	consent.Store("no")
	if r := d.want(0, "check", file); !strings.Contains(r.stdout, "again and sends nothing") {
		t.Errorf("check of another list: got %q; want the same", r.stdout)
	}
	r = d.want(0, "run", file, "--new")
	if !strings.Contains(r.stdout, "no_consent  1") || d.sentTo("650000002") != sent {
		t.Errorf("after the withdrawal: got %s; want one row without consent, and no message for it", r.stdout)
	}
	d.noLists()
}

// noLists checks that no list of an audience is left.
func (d *fixture) noLists() {
	d.t.Helper()
	if left, _ := filepath.Glob(d.path("campaignd.audiences/audience-*")); len(left) > 0 {
		d.t.Errorf("got the lists %q; want none once they are imported", left)
	}
}

// The process that serves makes the list of a launch, beside it and for another machine.
func TestALaunchMakesItsAudience(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	var consent atomic.Value
	consent.Store("yes")
	d.customers(&consent)
	file := d.path("winback.yaml")
	stop := d.serving()
	defer stop()
	if r := d.want(0, "launch", file); !strings.HasPrefix(r.stdout, "winback-1: 2 rows") {
		t.Errorf("got %q; want a run of 2 rows", r.stdout)
	}
	d.eventually("the second customer is sent to", func() bool { return d.sentTo("650000002") > 0 })
	d.eventually("the run has ended", func() bool { return strings.Contains(d.want(0, "launch", file).stdout, "had ended before") })
	sent := d.sentTo("650000002")
	consent.Store("no")
	access, err := client.ReadAccess(d.path("campaignd.db.api"))
	if err != nil {
		t.Fatal(err)
	}
	d.env["CAMPAIGND_SERVER"], d.env["CAMPAIGND_KEY"] = access.URL, access.Key
	if r := d.want(0, "check", file, "-o", "json"); !strings.Contains(r.stdout, `"no_consent": 1`) {
		t.Errorf("check: got %s; want one row without consent", r.stdout)
	}
	if r := d.want(0, "launch", file, "--new"); !strings.HasPrefix(r.stdout, "winback-2: 2 rows") {
		t.Errorf("got %q; want another run", r.stdout)
	}
	if r := d.want(0, "report", "winback-2"); !strings.Contains(r.stdout, "no_consent  1") || d.sentTo("650000002") != sent {
		t.Errorf("after the withdrawal: got %s; want one row without consent, and no message for it", r.stdout)
	}
	d.noLists()
}

// An erasure deletes the lists of killed processes, and says that one is being imported.
func TestAnErasureLooksIntoLists(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if err := os.MkdirAll(d.path("campaignd.audiences/audience-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("campaignd.audiences/audience-1/winback.csv", "phone\n+237650000001\n")
	d.env["CAMPAIGND_DATA_DIR"] = d.dir
	if r := d.want(0, "erase", "+237650000001", "--yes", "-o", "json"); !strings.Contains(r.stdout, `"lists": 0`) {
		t.Errorf("got %s; want no list that is left", r.stdout)
	}
	d.noLists()
	if err := os.Mkdir(d.path("campaignd.audiences/audience-2"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("campaignd.audiences/audience-2/winback.csv", "phone\n+237650000001\n")
	lock, err := filelock.Take(d.path("campaignd.audiences/audience-2/lock"))
	if err != nil {
		t.Fatal(err)
	}
	if r := d.want(command.ExitUnsure, "erase", "+237650000001", "--yes"); !strings.Contains(r.stderr, "1 list is") {
		t.Errorf("got %q; want that a list is made", r.stderr)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	d.want(0, "erase", "+237650000001", "--yes")
	d.noLists()
}

func TestAnUnfinishedRunKeepsItsAudience(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	var consent atomic.Value
	consent.Store("yes")
	d.customers(&consent)
	d.write("winback.yaml", audienceFile+"policies: {approval: true}\n")
	d.interruptAtApproval("run", d.path("winback.yaml"))
	consent.Store("no")
	d.want(0, "approve", "latest")
	r := d.want(0, "run", d.path("winback.yaml"))
	if !strings.HasPrefix(r.stdout, "winback-1 ") || strings.Contains(r.stdout, "no_consent") || d.sentTo("650000002") == 0 {
		t.Errorf("got %s; want the same run, with the list of before", r.stdout)
	}
}

func TestAnAudienceIsRefusedWithARemedy(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("winback.yaml", audienceFile)
	file := d.path("winback.yaml")
	d.oneLineOf(2, []string{"audience", "set commerce.base_url"}, "run", file)
	d.oneLineOf(1, []string{"no `campaignd serve` takes launches"}, "launch", file)
	d.oneLineOf(2, []string{"has no audience"}, "commerce", "audience", d.path("c.yaml"))
	var consent atomic.Value
	consent.Store("yes")
	d.customers(&consent)
	d.write("winback.yaml", strings.Replace(audienceFile, "{from: customers, ", "{from: customers, discount: NINE, ", 1))
	d.oneLineOf(2, []string{"audience.discount"}, "check", file)
	d.write("winback.yaml", strings.Replace(audienceFile, `["yes"]`, `["signed"]`, 1))
	if r := d.want(2, "run", file); !strings.Contains(r.stderr, "campaignd: winback.csv: none of the 2 rows can be sent: no_consent, ") {
		t.Errorf("got %q; want the reason, and the list without the folder that is deleted", r.stderr)
	}
	d.noLists()
}
