package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// call sends a request to the sandbox of the scene, and returns status and body.
func (sc *scene) call(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://service.example/api/v1"+path, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+sc.key)
	req.Header.Set("User-Agent", "test/1")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := sc.client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// asked is one request with the answer that it must get: a status and a part of the body.
type asked struct {
	method, path, body string
	status             int
	part               string
}

func (sc *scene) asks(t *testing.T, all ...asked) {
	t.Helper()
	for _, a := range all {
		if status, body := sc.call(t, a.method, a.path, a.body); status != a.status || !strings.Contains(body, a.part) {
			t.Errorf("%s %s %.200s: got %d %.300s, want %d with %s", a.method, a.path, a.body, status, body, a.status, a.part)
		}
	}
}

func TestRecordsAreThoseOfTheLists(t *testing.T) {
	bubble(t, Demo(), func(t *testing.T, sc *scene) {
		sc.asks(t,
			asked{"GET", "/connections/conn_1", "", 200, `{"data":{"id":"conn_1","phoneNumber":"+15555550100"`},
			asked{"GET", "/connections/conn_9", "", 404, `"error":"connection_not_found"`},
			asked{"GET", "/numbers/conn_2", "", 200, `{"data":{"connectionId":"conn_2"`},
			asked{"GET", "/numbers/conn_9", "", 404, `"error":"connection_not_found"`},
			asked{"GET", "/companies/co_1", "", 200, `"verified":true,"connectionIds":["conn_1","conn_2","conn_3","conn_4"]`},
			asked{"GET", "/companies/co_9", "", 404, `"error":"not_found"`},
			asked{"POST", "/companies/co_1", "", 405, `"error":"method_not_allowed"`},
		)
	})
}

func TestAProfileKeepsThePlatformsBounds(t *testing.T) {
	bubble(t, Demo(), func(t *testing.T, sc *scene) {
		patch := func(member string) asked {
			return asked{"PATCH", "/profile", `{"connectionId":"conn_1",` + member + `}`, 400, `"error":"invalid_field"`}
		}
		long := func(name string, n int) asked { return patch(fmt.Sprintf(`"%s":%q`, name, strings.Repeat("é", n+1))) }
		sc.asks(t,
			asked{"GET", "/profile?connectionId=conn_1", "", 200, `{"data":{}}`},
			asked{"GET", "/profile", "", 400, `"error":"missing_fields"`},
			asked{"PATCH", "/profile", `{"connectionId":"conn_1","about":"We sell","category":"RETAIL","websites":["https://a.example"]}`, 200,
				`"category":"RETAIL"`},
			asked{"PATCH", "/profile", fmt.Sprintf(`{"connectionId":"conn_1","email":"a@b.example","about":%q}`, strings.Repeat("é", 139)), 200,
				`"websites":["https://a.example"]`},
			long("about", 139), long("address", 256), long("description", 512), long("email", 128),
			patch(`"email":"no"`), patch(`"email":"a@b@c"`), patch(`"category":"SHOES"`),
			patch(`"websites":["https://a.example","https://b.example","https://c.example"]`), patch(`"websites":["ftp://a.example"]`),
			asked{"PATCH", "/profile", `{"connectionId":"conn_1","unknown":1}`, 400, `"error":"invalid_request"`},
			asked{"PATCH", "/profile", `{"connectionId":"conn_1","about":1}`, 400, `"error":"invalid_request"`},
			asked{"GET", "/profile?connectionId=conn_2", "", 200, `{"data":{}}`},
		)
	})
}

func TestSettingsKeepThePlatformsBounds(t *testing.T) {
	bubble(t, Demo(), func(t *testing.T, sc *scene) {
		put := func(member string, status int, part string) asked {
			return asked{"PUT", "/conversation-settings", `{"connectionId":"conn_1",` + member + `}`, status, part}
		}
		var commands []string
		for i := range 31 {
			commands = append(commands, fmt.Sprintf(`{"name":"c%d","description":"d"}`, i))
		}
		const wrong = `"error":"invalid_field"`
		sc.asks(t,
			asked{"GET", "/conversation-settings?connectionId=conn_1", "", 200,
				`{"data":{"welcomeMessage":false,"iceBreakers":[],"commands":[]}}`},
			put(`"welcomeMessage":true,"iceBreakers":["When do you open?"],"commands":[`+strings.Join(commands[:30], ",")+`]`, 200, `"name":"c29"`),
			put(`"iceBreakers":[]`, 200, `"welcomeMessage":true,"iceBreakers":[]`),
			put(`"iceBreakers":["a","b","c","d","e"]`, 400, wrong),
			put(fmt.Sprintf(`"iceBreakers":[%q]`, strings.Repeat("x", 81)), 400, wrong),
			put(`"commands":[`+strings.Join(commands, ",")+`]`, 400, wrong),
			put(fmt.Sprintf(`"commands":[{"name":%q,"description":"d"}]`, strings.Repeat("x", 33)), 400, wrong),
			put(fmt.Sprintf(`"commands":[{"name":"n","description":%q}]`, strings.Repeat("x", 257)), 400, wrong),
			put(`"welcomeMessage":"yes"`, 400, `"error":"invalid_request"`),
		)
	})
}

// People are blocked who wrote in the last 24 hours. Their messages do not arrive, and a send to
// them is refused and not counted.
func TestOnlyPeopleWhoWroteAreBlocked(t *testing.T) {
	bubble(t, Demo(), func(t *testing.T, sc *scene) {
		const block, unblock = "/blocked-users", "/blocked-users/unblock"
		users := func(list string) string { return `{"connectionId":"conn_1","users":[` + list + `]}` }
		_, err := sc.s.Receive(Inbound{Connection: "conn_1", From: "+15555550201", Text: "hello"})
		must(t, err)
		sc.asks(t,
			asked{"POST", block, users(`"+15555550201","+15555550202","+15555550100","x"`), 200, `{"data":[` +
				`{"user":"+15555550201","status":"blocked"},{"user":"+15555550202","status":"failed","code":131047},` +
				`{"user":"+15555550100","status":"failed","code":131021},{"user":"x","status":"failed","code":131009}]}`},
			asked{"GET", block + "?connectionId=conn_1", "", 200, `{"data":[{"phoneNumber":"+15555550201","blockedAt":"`},
			asked{"GET", block + "?connectionId=conn_2", "", 200, `{"data":[]}`},
			asked{"POST", block, users(""), 400, `"error":"missing_fields"`},
			asked{"POST", block, users(strings.TrimSuffix(strings.Repeat(`"+15555550203",`, 1001), ",")), 400, `"error":"invalid_field"`},
			asked{"POST", "/messages", `{"connectionId":"conn_1","to":"+15555550201","text":"x"}`, 403, `"error":"recipient_blocked"`},
		)
		synctest.Wait() // the webhook of the first message has come
		before := len(sc.hook.deliveries())
		id, err := sc.s.Receive(Inbound{Connection: "conn_1", From: "+15555550201", Text: "are you there?"})
		synctest.Wait()
		if err != nil || id != "" || len(sc.hook.deliveries()) != before {
			t.Errorf("a blocked person's message got the id %q, %v, and %d webhooks; want none", id, err, len(sc.hook.deliveries())-before)
		}
		if used := sc.s.plan.used; used != 0 {
			t.Errorf("the refused send counts %d messages, want 0", used)
		}
		sc.asks(t, asked{"POST", unblock, users(`"+15555550201"`), 200, `"status":"unblocked"`},
			asked{"POST", "/messages", `{"connectionId":"conn_1","to":"+15555550201","text":"x"}`, 200, `"messageId"`})
		time.Sleep(24*time.Hour + time.Second)
		sc.asks(t, asked{"POST", block, users(`"+15555550201"`), 200, `"code":131047`})
		for ago, want := range map[string]string{"25h": `"code":131047`, "23h": `"status":"blocked"`} {
			from := "+155555503" + ago[:2]
			_, err := sc.s.Receive(Inbound{Connection: "conn_1", From: from, Text: "hello", Ago: ago})
			must(t, err)
			sc.asks(t, asked{"POST", block, users(`"` + from + `"`), 200, want})
		}
		if _, err := sc.s.Receive(Inbound{Connection: "conn_1", From: "+15555550201", Text: "x", Ago: "soon"}); err == nil {
			t.Error("got no error of the ago soon, want one")
		}
	})
}

func TestTheLinkOfAQRCodeNeverChanges(t *testing.T) {
	bubble(t, Demo(), func(t *testing.T, sc *scene) {
		_, text := sc.call(t, "POST", "/qr-codes", `{"connectionId":"conn_1","prefilledMessage":"Hello"}`)
		var made struct {
			Data struct{ Code, PrefilledMessage, URL string }
		}
		must(t, json.Unmarshal([]byte(text), &made))
		if !strings.HasPrefix(made.Data.URL, "https://") || !strings.HasSuffix(made.Data.URL, made.Data.Code) || made.Data.Code == "" {
			t.Fatalf("got %s, want an https link that ends with the code", text)
		}
		one := "/qr-codes/" + made.Data.Code
		sc.asks(t,
			asked{"PATCH", one, `{"prefilledMessage":"Bye"}`, 200, `"prefilledMessage":"Bye","url":"` + made.Data.URL},
			asked{"GET", "/qr-codes?connectionId=conn_1", "", 200, `"prefilledMessage":"Bye"`},
			asked{"GET", "/qr-codes?connectionId=conn_2", "", 200, `{"data":[]}`},
			asked{"POST", "/qr-codes", `{"connectionId":"conn_1"}`, 400, `"error":"missing_fields"`},
			asked{"POST", "/qr-codes", fmt.Sprintf(`{"connectionId":"conn_1","prefilledMessage":%q}`, strings.Repeat("é", 141)), 400,
				`"error":"invalid_field"`},
			asked{"PATCH", "/qr-codes/NONE", `{"prefilledMessage":"x"}`, 404, `"error":"not_found"`},
			asked{"DELETE", one, "", 204, ""},
			asked{"DELETE", one, "", 404, `"error":"not_found"`},
		)
	})
}

func TestANumberHasABoundOfCodes(t *testing.T) {
	bubble(t, Demo(), func(t *testing.T, sc *scene) {
		for range 2000 {
			if status, text := sc.call(t, "POST", "/qr-codes", `{"connectionId":"conn_1","prefilledMessage":"x"}`); status != 200 {
				t.Fatalf("got %d %s, want 200", status, text)
			}
		}
		sc.asks(t, asked{"POST", "/qr-codes", `{"connectionId":"conn_1","prefilledMessage":"x"}`, 409, `"error":"limit_reached"`},
			asked{"POST", "/qr-codes", `{"connectionId":"conn_2","prefilledMessage":"x"}`, 200, `"code"`})
	})
}

// Analytics count by UTC day with days of zero, for 365 days; the archive has every finished day.
func TestAnalyticsCountByDay(t *testing.T) {
	o := Demo()
	o.History.Days = 400
	o.Statuses = StatusProfile{Recipients: o.Statuses.Recipients}
	bubble(t, o, func(t *testing.T, sc *scene) {
		day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
		path := func(name string, from, to int) string {
			return "/analytics/" + name + "?connectionId=conn_1&start=" + day(from) + "&end=" + day(to)
		}
		_, text := sc.call(t, "POST", "/messages",
			`{"connectionId":"conn_1","to":"+15555550201","template":{"name":"order_update","language":"en_US","body":["Ada","A-1"]}}`)
		if !strings.Contains(text, "messageId") {
			t.Fatalf("got %s, want a messageId", text)
		}
		today := day(0)
		time.Sleep(time.Minute)
		sc.asks(t,
			asked{"GET", path("messaging", 0, 0), "", 200, `{"date":"` + today + `","sent":1,"delivered":1}`},
			asked{"GET", path("conversations", 0, 0), "", 200, `{"date":"` + today + `","category":"UTILITY","conversations":1}`},
			asked{"GET", path("pricing", 0, 0), "", 200, `{"date":"` + today + `","category":"UTILITY","type":"REGULAR","volume":1,"cost":0.02}`},
			asked{"GET", path("archive", 0, 0), "", 200, `{"data":[]}`},
			asked{"GET", path("messaging", 366, 0), "", 400, `"error":"outside_window"`},
			asked{"GET", path("messaging", 365, 365), "", 200, `{"date":"` + day(365) + `","sent":2`},
			asked{"GET", path("archive", 400, 400), "", 200, `{"date":"` + day(400) + `","sent":2`},
			asked{"GET", path("archive", 401, 401), "", 200, `{"date":"` + day(401) + `","sent":0,"delivered":0,"read":0,"failed":0}`},
			asked{"GET", "/analytics/archive?connectionId=conn_1&start=0001-01-01&end=" + today, "", 400, `"error":"outside_window"`},
			asked{"GET", path("messaging", 0, 1), "", 400, `"error":"invalid_field"`},
			asked{"GET", "/analytics/messaging?connectionId=conn_1&start=x&end=" + today, "", 400, `"error":"invalid_field"`},
			asked{"GET", "/analytics/messaging?connectionId=conn_1", "", 400, `"error":"missing_fields"`},
		)
		time.Sleep(24 * time.Hour)
		sc.asks(t,
			asked{"GET", path("archive", 1, 0), "", 200, `{"data":[{"date":"` + today + `","sent":1,"delivered":1,`},
			asked{"GET", path("messaging", 0, 0), "", 200, `"sent":0,"delivered":0}`})
	})
}

// The counts of earlier days follow from the seed, and accounts differ.
func TestTheHistoryFollowsFromTheSeed(t *testing.T) {
	archive := func(seed uint64, conn string) (text string) {
		o := Options{Seed: seed, Connections: append(Demo().Connections, Connection{ID: "conn_b", Phone: "+15555550991", Company: "co_b"})}
		o.History.Days = 30
		bubble(t, o, func(t *testing.T, sc *scene) {
			_, text = sc.call(t, "GET", "/analytics/archive?connectionId="+conn+"&start=1999-12-02&end=1999-12-31", "")
		})
		return text
	}
	first := archive(1, "conn_1")
	if again := archive(1, "conn_1"); again != first || strings.Count(first, `"sent":2`) != 30 {
		t.Errorf("the same seed: got %s and %s, want the same 30 days", first, again)
	}
	for what, other := range map[string]string{"another seed": archive(2, "conn_1"), "another account": archive(1, "conn_b")} {
		if other == first {
			t.Errorf("%s: got the same counts %s, want others", what, other)
		}
	}
}

// An answer is written when the lock is given back, so it must not be the state itself.
func TestAnswersAreNotTheStateItself(t *testing.T) {
	s, err := New(Demo())
	must(t, err)
	defer s.Close()
	send := func(method, path, body string) []byte {
		r := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+DemoKey)
		r.Header.Set("User-Agent", "test/1")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s %s: got %d %s, want 200", method, path, w.Code, w.Body)
		}
		return w.Body.Bytes()
	}
	var made struct{ Data struct{ Code string } }
	must(t, json.Unmarshal(send("POST", "/qr-codes", `{"connectionId":"conn_1","prefilledMessage":"a"}`), &made))
	code := "/qr-codes/" + made.Data.Code
	var all sync.WaitGroup
	for range 50 {
		for _, c := range [][3]string{
			{"GET", "/profile?connectionId=conn_1", ""},
			{"PATCH", "/profile", `{"connectionId":"conn_1","about":"x","websites":["https://a.example"]}`},
			{"GET", "/conversation-settings?connectionId=conn_1", ""},
			{"PUT", "/conversation-settings", `{"connectionId":"conn_1","iceBreakers":["x"]}`},
			{"GET", "/qr-codes?connectionId=conn_1", ""}, {"PATCH", code, `{"prefilledMessage":"b"}`},
		} {
			all.Go(func() { send(c[0], c[1], c[2]) })
		}
	}
	all.Wait()
}

func TestASuspendedClientsEndpointIsNotChanged(t *testing.T) {
	o := Demo()
	o.Keys = append(o.Keys, Key{Token: "own", Company: "co_1"})
	bubble(t, o, func(t *testing.T, sc *scene) {
		partner := sc.key
		sc.key = "own"
		_, text := sc.call(t, "POST", "/webhooks", `{"url":"https://hooks.example/own"}`)
		var made struct{ Data struct{ ID string } }
		must(t, json.Unmarshal([]byte(text), &made))
		sc.key = partner
		must(t, sc.s.SetCompany("co_1", "suspended"))
		one := "/webhooks/" + made.Data.ID
		const suspended = `"error":"account_deactivated"`
		sc.asks(t,
			asked{"GET", one, "", 200, made.Data.ID},
			asked{"PATCH", one, `{"active":false}`, 403, suspended},
			asked{"POST", one + "/replay", `{"since":"2000-01-01T00:00:00Z","until":"2000-01-01T01:00:00Z"}`, 403, suspended},
			asked{"DELETE", one, "", 403, suspended},
		)
	})
}
