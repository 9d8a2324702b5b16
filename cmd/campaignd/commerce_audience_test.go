package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
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
	consent.Store("no")
	r = d.want(0, "run", file, "--new")
	if !strings.Contains(r.stdout, "no_consent  1") || d.sentTo("650000002") != sent {
		t.Errorf("after the withdrawal: got %s; want one row without consent, and no message for it", r.stdout)
	}
	left, _ := filepath.Glob(d.path("*audience-*"))
	hidden, _ := filepath.Glob(d.path(".audience-*"))
	if len(left)+len(hidden) > 0 {
		t.Errorf("got the files %q and %q; want no list once it is imported", left, hidden)
	}
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
	d.oneLineOf(2, []string{"campaignd commerce audience", "--recipients FILE"}, "launch", file)
	d.oneLineOf(2, []string{"has no audience"}, "commerce", "audience", d.path("c.yaml"))
	var consent atomic.Value
	consent.Store("yes")
	d.customers(&consent)
	d.write("winback.yaml", strings.Replace(audienceFile, "{from: customers, ", "{from: customers, discount: NINE, ", 1))
	d.oneLineOf(2, []string{"audience.discount"}, "check", file)
}
