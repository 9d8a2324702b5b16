package sandbox

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// call sends one request to a sandbox that is not running.
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

// twoClients returns a sandbox with a partner-wide key and a key of each of two clients.
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

// The test makes each condition of docs/service.md#errors.
func TestEveryRowOfTheTableOfErrors(t *testing.T) {
	template := func(rest string) string {
		return `{"connectionId":"conn_1","to":"+23480312345","template":` + rest + `}`
	}
	update := func(values string) string {
		return template(`{"name":"order_update","language":"en_US","body":[` + values + `]}`)
	}
	banner := func(rest string) string {
		return template(`{"name":"spring_sale_banner","language":"en_US","body":["a","b"],` + rest + `}`)
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
		"media of header":    {body: banner(`"header":{"image":{}}`), status: 400, code: "invalid_media"},
		"location":           {body: text(`"location":{"longitude":1}`), status: 400, code: "invalid_location"},
		"button": {body: template(`{"name":"spring_sale","language":"en_US","body":["a","b"],"buttons":[{"type":"phone","text":"x"}]}`),
			status: 400, code: "invalid_button"},
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
		"field twice":      {body: text(`"text":"x","text":"y"`), status: 400, code: "invalid_request"},
		"trailing":         {body: order + order, status: 400, code: "invalid_request"},
		"not JSON":         {body: `to=1`, status: 400, code: "invalid_request"},
		"not UTF-8":        {body: text("\"text\":\"\xff\""), status: 400, code: "invalid_request"},
		"number for text":  {body: update(`"a",7`), status: 400, code: "invalid_request"},
		"phone":            {body: `{"connectionId":"conn_1","to":"12","text":"x"}`, status: 400, code: "send_parameter", meta: 131009},
		"unknown template": {body: template(`{"name":"autumn","language":"en_US"}`), status: 400, code: "send_template", meta: 132001},
		"unknown language": {body: template(`{"name":"order_update","language":"en-US","body":["a","b"]}`),
			status: 400, code: "send_template", meta: 132001},
		"too few variables":  {body: update(`"a"`), status: 400, code: "send_parameter", meta: 132000},
		"too many variables": {body: update(`"a","b","c"`), status: 400, code: "send_parameter", meta: 132000},
		"empty variable":     {body: update(`"a",""`), status: 400, code: "send_parameter", meta: 131008},
		"newline":            {body: update(`"a","b\nc"`), status: 400, code: "send_parameter", meta: 132018},
		"tab":                {body: update(`"a","b\tc"`), status: 400, code: "send_parameter", meta: 132018},
		"four spaces":        {body: update(`"a","b    c"`), status: 200},
		"five spaces":        {body: update(`"a","b     c"`), status: 400, code: "send_parameter", meta: 132018},
		"too long":           {body: update(`"a","` + strings.Repeat("é", 1024) + `"`), status: 400, code: "send_parameter", meta: 132005},
		"long enough":        {body: update(`"a","` + strings.Repeat("é", 980) + `"`), status: 200},
		"no header":          {body: banner(`"buttons":[{"type":"url","text":"x"}]`), status: 400, code: "send_parameter", meta: 132012},
		"other header": {body: banner(`"header":{"video":{"id":"1"}},"buttons":[{"type":"url","text":"x"}]`),
			status: 400, code: "send_parameter", meta: 132012},
		"no button": {body: template(`{"name":"spring_sale","language":"en_US","body":["a","b"]}`),
			status: 400, code: "send_parameter", meta: 131008},
		"long code": {body: template(`{"name":"coupon","language":"en_US","body":["a"],` +
			`"buttons":[{"type":"copy_code","text":"ABCDEFGHIJKLMNOPQRSTU"}]}`), status: 400, code: "send_parameter", meta: 131009},
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
				t.Error("the answer has no x-request-id, want one")
			}
			if got := len(s.Truth().Messages); got != 0 && c.status != 200 || got != 1 && c.status == 200 {
				t.Errorf("%d messages accepted, want 1 exactly after a 200", got)
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

// The rules about the message alone come first, then those of the connection, then the others in
// the order of docs/service.md#send-request. The platform is last, because a refused send never
// reaches it.
func TestTheFirstRuleThatAppliesDecides(t *testing.T) {
	const own, out = "+15555550100", "+23480312345"
	paused := `{"name":"promo_weekend","language":"en_US","body":["a"]}`
	short := `{"name":"order_update","language":"en_US","body":["a"]}` // the platform refuses it with 132000
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

// The states are those of docs/service.md#states.
func TestATemplateIsSentWhenApprovedOnly(t *testing.T) {
	s := twoClients(t)
	for _, state := range []string{"paused", "disabled", "rejected", "pending", "approved"} {
		must(t, s.SetTemplate("order_update", "en_US", state))
		res := call(t, s, "POST", "/api/v1/messages", "partner", order)
		if state == "approved" {
			if res.StatusCode != 200 {
				t.Errorf("approved: %s, want 200", res.Status)
			}
			continue
		}
		if code, meta := errorOf(t, res); res.StatusCode != 400 || code != "send_template" || meta != 132015 {
			t.Errorf("%s: answer = %s %s %d, want 400 send_template 132015", state, res.Status, code, meta)
		}
	}
}
