package sandbox

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// The control paths refuse a request with a key and a request from a page of another site.
func TestTheControlPathIsNotTheService(t *testing.T) {
	s := twoClients(t)
	if res := call(t, s, "GET", "/sandbox/stats", "partner", ""); res.StatusCode != 400 {
		t.Errorf("with a key: %s, want 400", res.Status)
	}
	if res := call(t, s, "POST", "/sandbox/inbound", "", `{}`, "Sec-Fetch-Site", "cross-site"); res.StatusCode != 403 {
		t.Errorf("from another site: %s, want 403", res.Status)
	}
	if res := call(t, s, "GET", "/sandbox/nothing", "", ""); res.StatusCode != 404 {
		t.Errorf("an unknown path: %s, want 404", res.Status)
	}
	if res := call(t, s, "GET", "/sandbox/health", "", "", "User-Agent", "curl/8"); res.StatusCode != 200 ||
		res.Header.Get("X-Sandbox") != "control" {
		t.Errorf("health: %s, want 200 and X-Sandbox", res.Status)
	}
}

// The control paths show the truth as JSON, as CSV and message by message, and they change the
// sandbox.
func TestTheTruthIsReadOverHTTP(t *testing.T) {
	s := twoClients(t)
	id := messageID(t, call(t, s, "POST", "/api/v1/messages", "partner", order))
	get := func(path string) string {
		t.Helper()
		res := call(t, s, "GET", path, "", "")
		raw, err := io.ReadAll(res.Body)
		must(t, err)
		if res.StatusCode != 200 {
			t.Fatalf("GET %s = %s %s, want 200", path, res.Status, raw)
		}
		return string(raw)
	}
	var truth struct {
		Messages []Message
		Stats    Truth
	}
	must(t, json.Unmarshal([]byte(get("/sandbox/truth")), &truth))
	if len(truth.Messages) != 1 || truth.Messages[0].ID != id || strings.Join(truth.Messages[0].Values, "|") != "Ada|A-1" ||
		truth.Stats.Connections[0].Accepted != 1 {
		t.Errorf("truth = %+v, want the one message with its values", truth)
	}
	rows, err := csv.NewReader(strings.NewReader(get("/sandbox/truth?format=csv"))).ReadAll()
	must(t, err)
	if len(rows) != 2 || rows[1][0] != id || rows[1][2] != "+23480312345" || len(rows[0]) != len(rows[1]) {
		t.Errorf("rows = %v, want a header and the message", rows)
	}
	if !strings.Contains(get("/sandbox/messages/"+id), id) {
		t.Error("the message is not found by its id, want it found")
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/sandbox/inbound", `{"connectionId":"conn_1","from":"+23480312345","text":"STOP"}`, 200},
		{"POST", "/sandbox/inbound", `{"connectionId":"conn_1","from":"+23480312345"}`, 400},
		{"POST", "/sandbox/inbound", `{"connectionId":"conn_x","from":"+23480312345","text":"x"}`, 400},
		{"POST", "/sandbox/inbound", `{"connection":"conn_1"}`, 400},
		{"POST", "/sandbox/templates/spring_sale/status", `{"status":"paused","language":"en_US"}`, 200},
		{"POST", "/sandbox/templates/spring_sale/status", `{"status":"gone"}`, 400},
		{"POST", "/sandbox/templates/autumn/status", `{"status":"paused"}`, 400},
		{"POST", "/sandbox/companies/co_2/status", `{"status":"suspended"}`, 200},
		{"POST", "/sandbox/numbers/conn_1/quality", `{"quality":"RED"}`, 200},
		{"POST", "/sandbox/numbers/conn_1/quality", `{"quality":"BLUE"}`, 400},
		{"PUT", "/sandbox/faults", `{"lost_after": 0.5}`, 200},
		{"PUT", "/sandbox/faults", `lost_aftr: 0.5`, 400},
		{"POST", "/sandbox/replay", `{"all":true}`, 200},
		{"POST", "/sandbox/replay", ``, 200},
	} {
		if res := call(t, s, c.method, c.path, "", c.body); res.StatusCode != c.status {
			raw, _ := io.ReadAll(res.Body)
			t.Errorf("%s %s %s = %s %s, want %d", c.method, c.path, c.body, res.Status, raw, c.status)
		}
	}
	if s.Faults().LostAfter != 0.5 || !strings.Contains(get("/sandbox/faults"), "lost_after: 0.5") {
		t.Errorf("faults = %+v, want lost_after 0.5", s.Faults())
	}
	if res := call(t, s, "GET", "/api/v1/connections", "two", ""); res.StatusCode != 403 {
		t.Errorf("a suspended client: %s, want 403", res.Status)
	}
	if body, _ := io.ReadAll(call(t, s, "GET", "/api/v1/numbers", "one", "").Body); !strings.Contains(string(body), "RED") {
		t.Errorf("numbers = %s, want the quality RED", body)
	}
}
