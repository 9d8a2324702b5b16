package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"campaignd/internal/operations"
)

// creations are the requests that make a record of each area, for a connection. A %[2]d is a
// number.
var creations = map[string]string{
	"templates": `{"connectionId":%[1]q,"name":"t%[2]d","language":"en_US","category":"MARKETING","components":` + fineBody + `}`,
	"campaigns": `{"connectionId":%[1]q,"name":"autumn","template":{"name":"newsletter","language":"en_US"},` +
		`"recipients":[{"to":"+2348030000001"}]}`,
	"flows": `{"connectionId":%[1]q,"name":"survey","categories":["SURVEY"],"json":{"version":"7.0","screens":[{"id":"A"}]}}`,
	// Their endpoints are those of the key's client.
	"webhooks": `{"url":"https://hooks.example/%[2]d"}`,
	"qr-codes": `{"connectionId":%[1]q,"prefilledMessage":"Hello %[2]d"}`,
}

// client is a client of the sandbox with its key and its connection.
type client struct{ company, key, conn string }

// record returns the id of a record of an area, which it makes over the API unless the scenario has
// it.
func (c client) record(t *testing.T, s *Sandbox, area string, n int) string {
	t.Helper()
	switch area {
	case "connections", "numbers":
		return c.conn
	case "companies":
		return c.company
	case "media":
		code, id, _ := upload(t, s, c.key, c.conn, "", 100)
		if id == "" {
			t.Fatalf("an upload: got %q, want an asset", code)
		}
		return id
	}
	body := creations[area]
	if body == "" {
		t.Fatalf("%s: got no request that makes a record, want one in creations", area)
	}
	res := call(t, s, http.MethodPost, operations.Prefix+"/"+area, c.key, fmt.Sprintf(body+"%[3]s", c.conn, n, ""))
	raw, err := io.ReadAll(res.Body)
	must(t, err)
	var made struct{ Data struct{ ID, Code string } }
	must(t, json.Unmarshal(raw, &made))
	if res.StatusCode != http.StatusOK || made.Data.ID+made.Data.Code == "" {
		t.Fatalf("POST /%s: got %s %s, want a record", area, res.Status, raw)
	}
	return made.Data.ID + made.Data.Code
}

// requests have a valid body for the operations that need one, besides those of creations.
var requests = map[string]string{
	"template_edit": `{"components":` + fineBody + `}`, "campaign_add": `{"recipients":[{"to":"+2348030000002"}]}`,
	"webhook_update": `{"active":true}`, "webhook_replay_one": `{"since":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z"}`,
	"flow_update": `{"name":"poll"}`, "qr_codes_update": `{"prefilledMessage":"Bye"}`,
	"template_sync": `{"connectionId":"conn_1"}`, "profile_update": `{"connectionId":"conn_1","about":"Boots"}`,
	"settings_update": `{"connectionId":"conn_1","iceBreakers":["When do you open?"]}`,
	"block_users":     `{"connectionId":"conn_1","users":["+2348030000001"]}`,
	"unblock_users":   `{"connectionId":"conn_1","users":["+2348030000001"]}`,
	"webhook_replay":  `{"since":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z"}`,
}

// askRecord asks an operation about a record.
func askRecord(t *testing.T, s *Sandbox, o operations.Operation, key, id string) (status int, code, body string) {
	t.Helper()
	path := o.At(id)
	if o.Name == "template_analytics" {
		path += "?start=2000-01-01&end=2000-01-01"
	}
	res := call(t, s, o.Method, path, key, requests[o.Name])
	raw, err := io.ReadAll(res.Body)
	must(t, err)
	var e struct{ Error string }
	_ = json.Unmarshal(raw, &e) // 204 has no body
	return res.StatusCode, e.Error, string(raw)
}

// scopeWorld has three clients with a key each, and a partner-wide key. The third is suspended
// after its records were made.
func scopeWorld(t *testing.T) (s *Sandbox, clients []client) {
	t.Helper()
	clients = []client{{"co_1", "one", "conn_1"}, {"co_2", "two", "conn_9"}, {"co_s", "suspended", "conn_s"}}
	s = twoClients(t, func(opt *Options) {
		opt.Keys = append(opt.Keys, Key{Token: "suspended", Company: "co_s"})
		opt.Connections = append(opt.Connections, Connection{ID: "conn_s", Phone: "+15555550800", Company: "co_s", Tier: "TIER_250"})
	})
	return s, clients
}

// A record is reached by the partner-wide key and by the key of its client. For another client's
// key it is as unknown as an id that nobody has (docs/service.md#authentication).
func TestARecordIsReachedByItsKeysOnly(t *testing.T) {
	for _, o := range offered(t) {
		if o.Scope != operations.Record {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			s, clients := scopeWorld(t)
			own, suspended := clients[0].record(t, s, areaOf(o.Path), 1), clients[2].record(t, s, areaOf(o.Path), 2)
			must(t, s.SetCompany("co_s", "suspended"))
			unknown := "not_found"
			if o.Name == "connection" || o.Name == "number" {
				unknown = "connection_not_found"
			}
			refused := map[bool]string{true: "account_deactivated"}[o.Writes()]
			for _, c := range []struct{ what, key, id, code string }{
				{"another client's record", "two", own, unknown},
				{"an unknown record", "partner", "none", unknown},
				{"a record of a suspended client, by its key", "suspended", suspended, "account_deactivated"},
				{"an unknown record, by the key of a suspended client", "suspended", "none", "account_deactivated"},
				{"a record of a suspended client, by a partner", "partner", suspended, refused},
				{"another client's record, which is suspended", "two", suspended, unknown},
				{"its own record", "one", own, ""},
			} {
				status, code, body := askRecord(t, s, o, c.key, c.id)
				if want := map[string]int{"account_deactivated": 403, unknown: 404}[c.code]; c.code != "" && (status != want || code != c.code) {
					t.Errorf("%s: got %d %s, want %d %q", c.what, status, body, want, c.code)
				}
				if c.code == "" && !reached(status) {
					t.Errorf("%s: got %d %s, want it reached", c.what, status, body)
				}
			}
			again := clients[0].record(t, s, areaOf(o.Path), 3) // the first one may be deleted
			if status, _, body := askRecord(t, s, o, "partner", again); !reached(status) {
				t.Errorf("by a partner: got %d %s, want it reached", status, body)
			}
		})
	}
}

// reached reports whether an answer is about the record. Its state may refuse the request.
func reached(status int) bool { return status < 300 || status == 400 || status == 409 }

// A list has the rows of the key: those of its own client, or of all.
func TestAListHoldsTheRowsOfItsKey(t *testing.T) {
	asked := 0
	for _, o := range offered(t) {
		area := areaOf(o.Path)
		made := creations[area] != "" || strings.Contains("connections numbers companies media", area)
		if o.Scope != operations.Rows || !made || strings.Count(o.Path, "/") > 3 {
			continue
		}
		asked++
		t.Run(o.Name, func(t *testing.T) {
			s, clients := scopeWorld(t)
			ids := []string{clients[0].record(t, s, area, 1), clients[1].record(t, s, area, 2)}
			for key, want := range map[string][2]bool{"one": {true, false}, "two": {false, true}, "partner": {true, true}} {
				raw, err := io.ReadAll(call(t, s, "GET", o.Path, key, "").Body)
				must(t, err)
				for i, id := range ids {
					if got := strings.Contains(string(raw), `"`+id+`"`); got != want[i] {
						t.Errorf("key %s: got the record of client %d in the list = %t, want %t: %.300s", key, i+1, got, want[i], raw)
					}
				}
			}
		})
	}
	if asked < 8 {
		t.Errorf("got %d lists, want 8 or more", asked)
	}
}
