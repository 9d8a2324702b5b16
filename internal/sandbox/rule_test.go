package sandbox

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// call plays one request to a sandbox that is not running.
func call(t *testing.T, s *Sandbox, method, path, key, body string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, "https://service.example"+path, strings.NewReader(body))
	r.Header.Set("User-Agent", "rule-test/1.0")
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

// twoClients is a sandbox with a partner-wide key and one of each client.
func twoClients(t *testing.T, changes ...func(*Options)) *Sandbox {
	t.Helper()
	o := Demo()
	o.Keys = []Key{{Token: "partner"}, {Token: "one", Company: "co_1"}, {Token: "two", Company: "co_2"}}
	o.Statuses = StatusProfile{}
	o.EnforceThroughput = false
	o.Connections = append(o.Connections[:1], Connection{ID: "conn_9", Phone: "+15555550900", Company: "co_2", Tier: "TIER_250"})
	for _, change := range changes {
		change(&o)
	}
	s, err := New(o)
	must(t, err)
	return s
}

const order = `{"connectionId":"conn_1","to":"+23480312345","template":{"name":"order_update","language":"en_US","body":["Ada","A-1"]}}`

// TestEveryRowOfTheTableOfErrors plays each condition of seed 000, Errors.
func TestEveryRowOfTheTableOfErrors(t *testing.T) {
	template := func(rest string) string {
		return `{"connectionId":"conn_1","to":"+23480312345","template":` + rest + `}`
	}
	text := func(rest string) string { return `{"connectionId":"conn_1","to":"+23480312345",` + rest + `}` }
	for name, c := range map[string]struct {
		body   string
		with   func(*Options)
		key    string
		status int
		code   string
		meta   int
	}{
		"missing to":         {body: `{"connectionId":"conn_1","text":"x"}`, status: 400, code: "missing_fields"},
		"missing connection": {body: `{"to":"+23480312345","text":"x"}`, status: 400, code: "missing_fields"},
		"missing content":    {body: `{"connectionId":"conn_1","to":"+23480312345"}`, status: 400, code: "missing_content"},
		"null content":       {body: text(`"text":null,"raw":null`), status: 400, code: "missing_content"},
		"two contents":       {body: text(`"text":"x","raw":{}`), status: 400, code: "multiple_content"},
		"sender":             {body: `{"connectionId":"conn_1","to":"+1 (555) 555-0100","text":"x"}`, status: 400, code: "recipient_is_sender"},
		"media":              {body: text(`"image":{}`), status: 400, code: "invalid_media"},
		"media of document":  {body: text(`"document":{"filename":"a.pdf"}`), status: 400, code: "invalid_media"},
		"media of header": {body: template(`{"name":"spring_sale_banner","language":"en_US","body":["a","b"],"header":{"image":{}}}`),
			status: 400, code: "invalid_media"},
		"location": {body: text(`"location":{"longitude":1}`), status: 400, code: "invalid_location"},
		"button":   {body: template(`{"name":"spring_sale","language":"en_US","body":["a","b"],"buttons":[{"type":"phone","text":"x"}]}`), status: 400, code: "invalid_button"},
		"template paused": {body: template(`{"name":"promo_weekend","language":"en_US","body":["a"]}`),
			status: 400, code: "send_template", meta: 132015},
		"needs template": {body: text(`"text":"x"`), with: func(o *Options) { o.Statuses.OutsideWindow = "refused" },
			status: 400, code: "send_needs_template", meta: 131047},
		"unreachable": {body: order, with: func(o *Options) { o.Statuses.Unreachable = 1 },
			status: 400, code: "send_recipient_permanent", meta: 131026},
		"retryable": {body: order, with: func(o *Options) { o.Faults.Refusals = []Refusal{{Code: 131000, Share: 1}} },
			status: 400, code: "send_retryable", meta: 131000},
		"allowance": {body: order, with: func(o *Options) { o.Companies = []Company{{ID: "co_1", Allowance: 5, Used: 5}} },
			status: 402, code: "plan_limit_messages"},
		"opted out": {body: template(`{"name":"newsletter","language":"en_US"}`),
			with: func(o *Options) { o.OptedOut = []string{"+23480312345"} }, status: 403, code: "recipient_opted_out"},
		"opted out, utility": {body: order, with: func(o *Options) { o.OptedOut = []string{"+23480312345"} }, status: 200},
		"suspended": {body: order, with: func(o *Options) { o.Companies = []Company{{ID: "co_1", Suspended: true}} },
			status: 403, code: "account_deactivated"},
		"suspended, own key": {body: order, key: "one", with: func(o *Options) { o.Companies = []Company{{ID: "co_1", Suspended: true}} },
			status: 403, code: "account_deactivated"},
		"unknown connection": {body: strings.Replace(order, "conn_1", "conn_x", 1), status: 404, code: "connection_not_found"},
		"outside the scope":  {body: order, key: "two", status: 404, code: "connection_not_found"},
		"unknown asset":      {body: text(`"image":{"assetId":"ast_x"}`), status: 404, code: "connection_not_found"},
		"wrong key":          {body: order, key: "guess", status: 401, code: "unauthorized"},
		"unknown field":      {body: text(`"txt":"x"`), status: 400, code: "invalid_request"},
		"wrong case":         {body: `{"connectionID":"conn_1","to":"+23480312345","text":"x"}`, status: 400, code: "invalid_request"},
		"unknown inner field": {body: template(`{"name":"order_update","language":"en_US","body":["a","b"],"params":[]}`),
			status: 400, code: "invalid_request"},
		"field twice": {body: text(`"text":"x","text":"y"`), status: 400, code: "invalid_request"},
		"trailing":    {body: order + order, status: 400, code: "invalid_request"},
		"not JSON":    {body: `to=1`, status: 400, code: "invalid_request"},
		"not UTF-8":   {body: text("\"text\":\"\xff\""), status: 400, code: "invalid_request"},
		"number for text": {body: template(`{"name":"order_update","language":"en_US","body":["a",7]}`),
			status: 400, code: "invalid_request"},
		"phone":            {body: `{"connectionId":"conn_1","to":"12","text":"x"}`, status: 400, code: "send_parameter", meta: 131009},
		"unknown template": {body: template(`{"name":"autumn","language":"en_US"}`), status: 400, code: "send_template", meta: 132001},
		"unknown language": {body: template(`{"name":"order_update","language":"en-US","body":["a","b"]}`),
			status: 400, code: "send_template", meta: 132001},
		"too few variables": {body: template(`{"name":"order_update","language":"en_US","body":["a"]}`),
			status: 400, code: "send_parameter", meta: 132000},
		"too many variables": {body: template(`{"name":"order_update","language":"en_US","body":["a","b","c"]}`),
			status: 400, code: "send_parameter", meta: 132000},
		"empty variable": {body: template(`{"name":"order_update","language":"en_US","body":["a",""]}`),
			status: 400, code: "send_parameter", meta: 131008},
		"newline": {body: template(`{"name":"order_update","language":"en_US","body":["a","b\nc"]}`),
			status: 400, code: "send_parameter", meta: 132018},
		"tab": {body: template(`{"name":"order_update","language":"en_US","body":["a","b\tc"]}`),
			status: 400, code: "send_parameter", meta: 132018},
		"four spaces": {body: template(`{"name":"order_update","language":"en_US","body":["a","b    c"]}`), status: 200},
		"five spaces": {body: template(`{"name":"order_update","language":"en_US","body":["a","b     c"]}`),
			status: 400, code: "send_parameter", meta: 132018},
		"too long": {body: template(`{"name":"order_update","language":"en_US","body":["a","` + strings.Repeat("é", 1024) + `"]}`),
			status: 400, code: "send_parameter", meta: 132005},
		"long enough": {body: template(`{"name":"order_update","language":"en_US","body":["a","` + strings.Repeat("é", 980) + `"]}`),
			status: 200},
		"no header":    {body: template(`{"name":"spring_sale_banner","language":"en_US","body":["a","b"],"buttons":[{"type":"url","text":"x"}]}`), status: 400, code: "send_parameter", meta: 132012},
		"other header": {body: template(`{"name":"spring_sale_banner","language":"en_US","body":["a","b"],"header":{"video":{"id":"1"}},"buttons":[{"type":"url","text":"x"}]}`), status: 400, code: "send_parameter", meta: 132012},
		"no button": {body: template(`{"name":"spring_sale","language":"en_US","body":["a","b"]}`),
			status: 400, code: "send_parameter", meta: 131008},
		"long code":           {body: template(`{"name":"coupon","language":"en_US","body":["a"],"buttons":[{"type":"copy_code","text":"ABCDEFGHIJKLMNOPQRSTU"}]}`), status: 400, code: "send_parameter", meta: 131009},
		"otp":                 {body: template(`{"name":"login_code","language":"en_US","otp":"123456"}`), status: 200},
		"contacts, no object": {body: text(`"contacts":[{"name":"Ada"}]`), status: 400, code: "invalid_request"},
		"reaction, no object": {body: text(`"reaction":"x"`), status: 400, code: "invalid_request"},
		"raw, no object":      {body: text(`"raw":true`), status: 400, code: "invalid_request"},
		"request, no object":  {body: text(`"locationRequest":7`), status: 400, code: "invalid_request"},
		"contacts":            {body: text(`"contacts":{"anything":[1]}`), status: 200},
		"reaction":            {body: text(`"reaction":{"emoji":"x"}`), status: 200},
		"location request":    {body: text(`"locationRequest":{"body":"x"}`), status: 200},
		"video":               {body: text(`"video":{"id":"1"}`), status: 200},
		"audio":               {body: text(`"audio":{"link":"https://x.example/a"}`), status: 200},
		"sticker":             {body: text(`"sticker":{"assetId":"ast_1"}`), status: 200},
		"asset of another": {body: text(`"sticker":{"assetId":"ast_9"}`),
			with: func(o *Options) { o.Assets = append(o.Assets, Asset{ID: "ast_9", Company: "co_2"}) }, status: 404, code: "connection_not_found"},
		"empty text": {body: text(`"text":""`), status: 400, code: "send_parameter", meta: 131008},
		"otp elsewhere": {body: template(`{"name":"order_update","language":"en_US","otp":"123456"}`),
			status: 400, code: "send_parameter", meta: 131009},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoClients(t, func(o *Options) {
				if c.with != nil {
					c.with(o)
				}
			})
			key := c.key
			if key == "" {
				key = "partner"
			}
			res := call(t, s, "POST", "/api/v1/messages", key, c.body)
			if res.StatusCode != c.status {
				raw, _ := io.ReadAll(res.Body)
				t.Fatalf("HTTP %d, want %d: %s", res.StatusCode, c.status, raw)
			}
			if res.Header.Get("x-request-id") == "" {
				t.Error("no x-request-id")
			}
			if got := len(s.Truth().Messages); got != 0 && c.status != 200 || got != 1 && c.status == 200 {
				t.Errorf("%d messages accepted", got)
			}
			if c.status == 200 {
				return
			}
			code, meta := errorOf(t, res)
			if code != c.code || meta != c.meta {
				t.Errorf("%s, meta.code %d; want %s, %d", code, meta, c.code, c.meta)
			}
		})
	}
}

// TestTheFirstRuleThatAppliesIsTheAnswer: what needs no look at the account, whose the connection
// is, the rules in the document's order; the platform speaks last, since a refused send never
// reaches it.
func TestTheFirstRuleThatAppliesIsTheAnswer(t *testing.T) {
	const own, out = "+15555550100", "+23480312345"
	paused := `{"name":"promo_weekend","language":"en_US","body":["a"]}`
	short := `{"name":"order_update","language":"en_US","body":["a"]}` // 132000 at the platform
	for name, c := range map[string]struct {
		connection, to, content string
		status                  int
		code                    string
	}{
		"shape, then connection":         {"conn_x", out, `"image":{}`, 400, "invalid_media"},
		"connection, then platform":      {"conn_x", out, `"text":""`, 404, "connection_not_found"},
		"connection, then recipient":     {"conn_x", "12", `"text":"x"`, 404, "connection_not_found"},
		"suspension, then opt-out":       {"conn_s", out, `"template":` + paused, 403, "account_deactivated"},
		"suspension, then platform":      {"conn_s", out, `"text":""`, 403, "account_deactivated"},
		"opt-out, then template":         {"conn_1", out, `"template":` + paused, 403, "recipient_opted_out"},
		"template, then sender":          {"conn_1", own, `"template":` + paused, 400, "send_template"},
		"sender, then asset":             {"conn_1", own, `"image":{"assetId":"ast_x"}`, 400, "recipient_is_sender"},
		"sender, then allowance":         {"conn_9", "+15555550900", `"text":"x"`, 400, "recipient_is_sender"},
		"asset, then allowance":          {"conn_9", out, `"image":{"assetId":"ast_x"}`, 404, "connection_not_found"},
		"allowance, then platform":       {"conn_9", out, `"template":` + short, 402, "plan_limit_messages"},
		"allowance, then empty text":     {"conn_9", out, `"text":""`, 402, "plan_limit_messages"},
		"allowance, then platform's own": {"conn_9", "12", `"text":"x"`, 402, "plan_limit_messages"},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoClients(t, func(o *Options) {
				o.OptedOut = []string{out}
				o.Connections = append(o.Connections, Connection{ID: "conn_s", Phone: "+15555550800", Company: "co_s"})
				o.Companies = []Company{{ID: "co_2", Allowance: 1, Used: 1}, {ID: "co_s", Suspended: true}}
			})
			res := call(t, s, "POST", "/api/v1/messages", "partner", `{"connectionId":"`+c.connection+`","to":"`+c.to+`",`+c.content+`}`)
			code, _ := errorOf(t, res)
			if res.StatusCode != c.status || code != c.code {
				t.Errorf("%d %s, want %d %s", res.StatusCode, code, c.status, c.code)
			}
		})
	}
}

// TestATemplateIsSentWhenApprovedOnly: rule 6, every state that the document names.
func TestATemplateIsSentWhenApprovedOnly(t *testing.T) {
	s := twoClients(t)
	for _, state := range []string{"paused", "disabled", "rejected", "pending", "approved"} {
		must(t, s.SetTemplate("order_update", "en_US", state))
		res := call(t, s, "POST", "/api/v1/messages", "partner", order)
		if state == "approved" {
			if res.StatusCode != 200 {
				t.Errorf("approved: %s", res.Status)
			}
			continue
		}
		if code, meta := errorOf(t, res); res.StatusCode != 400 || code != "send_template" || meta != 132015 {
			t.Errorf("%s: answer = %s %s %d, want 400 send_template 132015", state, res.Status, code, meta)
		}
	}
}

// TestRequestsAreJSON: JSON in and out (seed 000, Conventions), of every POST but the upload.
func TestRequestsAreJSON(t *testing.T) {
	s := twoClients(t)
	for path, body := range map[string]string{"/api/v1/messages": order, "/api/v1/webhooks": `{"url":"https://x.example/"}`} {
		for contentType, status := range map[string]int{
			"application/json": 200, "Application/JSON; charset=utf-8": 200,
			"": 400, "text/plain": 400, "application/x-www-form-urlencoded": 400, "application/json-patch+json": 400,
		} {
			res := call(t, s, "POST", path, "partner", body, "Content-Type", contentType)
			if res.StatusCode != status {
				t.Errorf("%s as %q: %s", path, contentType, res.Status)
			}
		}
		for name, body := range map[string]string{"huge": `{"x":"` + strings.Repeat("a", maxBody) + `"}`,
			"not UTF-8": "{\"x\":\"\xff\"}", "empty": ""} {
			if code, _ := errorOf(t, call(t, s, "POST", path, "partner", body)); code != "invalid_request" {
				t.Errorf("%s with a body that is %s: code = %s, want invalid_request", path, name, code)
			}
		}
	}
}

// TestAKeyOfOneClientSeesItsOwnRowsOnly: lists, ids and billing (seed 000, Authentication 4).
func TestAKeyOfOneClientSeesItsOwnRowsOnly(t *testing.T) {
	s := twoClients(t, func(o *Options) {
		o.Templates = append(o.Templates, Template{Name: "theirs", Language: "en_US", Companies: []string{"co_2"}})
	})
	get := func(key, path string) (int, string) {
		res := call(t, s, "GET", path, key, "")
		raw, err := io.ReadAll(res.Body)
		must(t, err)
		return res.StatusCode, string(raw)
	}
	for _, c := range []struct{ key, path, has, lacks string }{
		{"partner", "/api/v1/connections", "conn_9", "conn_x"},
		{"one", "/api/v1/connections", "conn_1", "conn_9"},
		{"two", "/api/v1/connections", "conn_9", "conn_1"},
		{"two", "/api/v1/numbers", "conn_9", "conn_1"},
		{"one", "/api/v1/companies", "co_1", "co_2"},
		{"one", "/api/v1/templates", "spring_sale", "theirs"},
		{"two", "/api/v1/templates?connectionId=conn_9", "theirs", "conn_1"},
	} {
		status, body := get(c.key, c.path)
		if status != 200 || !strings.Contains(body, c.has) || strings.Contains(body, c.lacks) {
			t.Errorf("%s %s = %d %s, want 200 with %s and without %s", c.key, c.path, status, body, c.has, c.lacks)
		}
	}
	if status, body := get("one", "/api/v1/templates?connectionId=conn_9"); status != 404 || !strings.Contains(body, "connection_not_found") {
		t.Errorf("another client's id: %d %s", status, body)
	}
	if status, body := get("one", "/api/v1/billing/invoices"); status != 403 || !strings.Contains(body, "partner_key_required") {
		t.Errorf("billing: %d %s", status, body)
	}
	if status, body := get("partner", "/api/v1/billing/usage"); status != 200 || !strings.Contains(body, "messagesUsed") {
		t.Errorf("billing, partner: %d %s", status, body)
	}
	if status, body := get("partner", "/api/v1/campaigns"); status != 404 || !strings.Contains(body, "not_found") {
		t.Errorf("unknown path: %d %s", status, body)
	}
	if res := call(t, s, "DELETE", "/api/v1/connections", "partner", ""); res.StatusCode != 405 {
		t.Errorf("DELETE: %s", res.Status)
	}
}

// TestTheEdgeRefusesBeforeTheService: 1010, 301, 308 (seed 000, Authentication 6, Endpoints).
func TestTheEdgeRefusesBeforeTheService(t *testing.T) {
	s := twoClients(t)
	for _, agent := range []string{"Go-http-client/1.1", "python-requests/2.31", "curl/8.5.0", ""} {
		res := call(t, s, "POST", "/api/v1/messages", "partner", order, "User-Agent", agent)
		raw, err := io.ReadAll(res.Body)
		must(t, err)
		if res.StatusCode != 403 || string(raw) != "error code: 1010" || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("agent %q: answer = %s %q, want 403 error code: 1010 as text/plain", agent, res.Status, raw)
		}
	}
	if res := call(t, twoClients(t, func(o *Options) { o.AllowBots = true }), "POST", "/api/v1/messages",
		"partner", order, "User-Agent", "curl/8"); res.StatusCode != 200 {
		t.Errorf("bots allowed: %s", res.Status)
	}
	res := call(t, s, "POST", "/api/v1/messages?x=1", "partner", order, "X-Forwarded-Proto", "http")
	if res.StatusCode != 301 || res.Header.Get("Location") != "https://service.example/api/v1/messages?x=1" {
		t.Errorf("http: %s %s", res.Status, res.Header.Get("Location"))
	}
	res = call(t, s, "POST", "/api/v1/messages/", "partner", order)
	if res.StatusCode != 308 || res.Header.Get("Location") != "/api/v1/messages" {
		t.Errorf("slash: %s %s", res.Status, res.Header.Get("Location"))
	}
	if n := len(s.Truth().Messages); n != 0 {
		t.Errorf("%d messages accepted", n)
	}
}

// TestTheAllowanceEndsAndReturnsWithTheMonth: rule 8, and a refused send is not counted.
func TestTheAllowanceEndsAndReturnsWithTheMonth(t *testing.T) {
	o := Options{Allowance: 3, Statuses: StatusProfile{Off: true, Recipients: []Recipient{{Phone: "+23480300000", Fate: FateUnreachable}}}}
	bubble(t, o, func(t *testing.T, c *scene) {
		send := func() int { return c.send(t, "conn_2", "+23480312345", "newsletter").StatusCode }
		for range 5 {
			if res := c.send(t, "conn_1", "+23480300000", "newsletter"); res.StatusCode != 400 {
				t.Fatalf("an unreachable recipient: %s, want 400", res.Status)
			}
		}
		for range 3 {
			if status := send(); status != 200 {
				t.Fatalf("within the allowance: %d, want 200", status)
			}
		}
		if status := send(); status != 402 {
			t.Fatalf("fourth: %d", status)
		}
		time.Sleep(31 * 24 * time.Hour) // the bubble begins on 1 January
		if status := send(); status != 200 {
			t.Fatalf("next month: %d", status)
		}
	})
}

// TestTheAllowanceIsNeverExceededByMany: exactly what is left is accepted, however many ask at
// once.
func TestTheAllowanceIsNeverExceededByMany(t *testing.T) {
	s := twoClients(t, func(o *Options) { o.Companies = []Company{{ID: "co_1", Allowance: 1000, Used: 900}} })
	var wg sync.WaitGroup
	var answers [2]atomic.Int64 // 200, 402
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				body := strings.Replace(order, "+23480312345", fmt.Sprintf("+23480312%02d%03d", g, i), 1)
				switch res := call(t, s, "POST", "/api/v1/messages", "partner", body); res.StatusCode {
				case 200:
					answers[0].Add(1)
				case 402:
					answers[1].Add(1)
				default:
					t.Errorf("answer %s, want 200 or 402", res.Status)
				}
			}
		})
	}
	wg.Wait()
	if ok, spent := answers[0].Load(), answers[1].Load(); ok != 100 || spent != 100 || len(s.Truth().Messages) != 100 {
		t.Errorf("%d accepted, %d refused with 402, %d in the truth; want 100 each", ok, spent, len(s.Truth().Messages))
	}
}

// TestTheServiceWindowIsReportedForTwentyFourHours: rule 4 and the states of seed 000.
func TestTheServiceWindowIsReportedForTwentyFourHours(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *scene) {
		warning := func() bool {
			res, err := c.post(t, `{"connectionId":"conn_1","to":"+23480312345","text":"hello"}`)
			must(t, err)
			raw, err := io.ReadAll(res.Body)
			must(t, err)
			if res.StatusCode != 200 {
				t.Fatalf("answer = %s %s, want 200", res.Status, raw)
			}
			return strings.Contains(string(raw), `"code":"outside_service_window"`)
		}
		if !warning() {
			t.Error("no warning before the customer wrote")
		}
		_, err := c.s.Receive(Inbound{Connection: "conn_1", From: "+23480312345", Text: "hi"})
		must(t, err)
		time.Sleep(24*time.Hour - time.Nanosecond)
		if warning() {
			t.Error("warning within 24 hours")
		}
		time.Sleep(time.Nanosecond)
		if !warning() {
			t.Error("no warning after 24 hours")
		}
		c.settle(t)
		failed := 0
		for _, m := range c.s.Truth().Messages {
			for _, st := range m.Statuses {
				if st.Code == 131047 {
					failed++
				}
			}
		}
		if failed != 2 {
			t.Errorf("%d messages failed with 131047, want the 2 outside the window", failed)
		}
	})
}

// TestAnUnverifiedWindowIsNotCalledClosed: the second of the document's two warnings.
func TestAnUnverifiedWindowIsNotCalledClosed(t *testing.T) {
	s := twoClients(t, func(o *Options) { o.Faults.Unverified = 1 })
	raw, err := io.ReadAll(call(t, s, "POST", "/api/v1/messages", "partner", `{"connectionId":"conn_1","to":"+23480312345","text":"x"}`).Body)
	must(t, err)
	if !strings.Contains(string(raw), `"warning":{"code":"unverified_service_window","message":"Whether`) {
		t.Errorf("answer = %s, want the warning unverified_service_window", raw)
	}
}

// TestAnAssetLivesThirtyDays: rule 11 and Limits: to the nanosecond.
func TestAnAssetLivesThirtyDays(t *testing.T) {
	bubble(t, Options{Assets: []Asset{{ID: "ast_1"}}, Statuses: StatusProfile{Off: true}}, func(t *testing.T, c *scene) {
		image := func() int {
			res, err := c.post(t, `{"connectionId":"conn_1","to":"+23480312345","image":{"assetId":"ast_1"}}`)
			must(t, err)
			return res.StatusCode
		}
		time.Sleep(30*24*time.Hour - time.Nanosecond)
		if status := image(); status != 200 {
			t.Errorf("just before: %d", status)
		}
		time.Sleep(time.Nanosecond)
		if status := image(); status != 404 {
			t.Errorf("at 30 days: %d", status)
		}
	})
}

// TestStopOptsOutOfMarketingAtThatClient: States, Opt-out; rule 5.
func TestStopOptsOutOfMarketingAtThatClient(t *testing.T) {
	o := Options{Connections: []Connection{{ID: "conn_1", Phone: "+15555550100", Company: "co_1"},
		{ID: "conn_2", Phone: "+15555550101", Company: "co_1"}, {ID: "conn_9", Phone: "+15555550900", Company: "co_2"}}}
	bubble(t, o, func(t *testing.T, c *scene) {
		const to = "+23480312345"
		_, err := c.s.Receive(Inbound{Connection: "conn_1", From: to, Text: " stop "})
		must(t, err)
		c.settle(t)
		for _, step := range []struct {
			conn, template string
			values         []string
			status         int
		}{
			{"conn_1", "newsletter", nil, 403},
			{"conn_2", "newsletter", nil, 403},
			{"conn_1", "order_update", []string{"a", "b"}, 200},
			{"conn_9", "newsletter", nil, 200},
		} {
			if res := c.send(t, step.conn, to, step.template, step.values...); res.StatusCode != step.status {
				t.Errorf("%s %s: %s, want %d", step.conn, step.template, res.Status, step.status)
			}
		}
		truth := c.s.Truth()
		if len(truth.OptOuts) != 1 || truth.OptOuts[0].Phone != to || truth.OptOuts[0].AckedAt.IsZero() {
			t.Errorf("opt-outs: %+v", truth.OptOuts)
		}
		// The platform's own preference is accepted, then fails (platform.md 4.4).
		_, err = c.s.Receive(Inbound{Connection: "conn_1", From: "+23480399999", Preference: "stop"})
		must(t, err)
		id := messageID(t, c.send(t, "conn_1", "+23480399999", "newsletter"))
		c.settle(t)
		m, ok := c.s.Message(id)
		if !ok || len(m.Statuses) != 1 || m.Statuses[0].Code != 131050 {
			t.Errorf("preference stop: %v %+v", ok, m)
		}
	})
}
