package sandbox

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// Each case is a send that the platform or the service refuses, or that is accepted.
func TestASendIsJudgedAsThePlatformDoes(t *testing.T) {
	const to = `{"connectionId":"conn_1","to":"+15555550199",`
	row := `{"id":"r","title":"R"}`
	list := func(rows int) string {
		return to + `"list":{"body":"b","button":"c","sections":[{"title":"s","rows":[` +
			strings.TrimSuffix(strings.Repeat(row+",", rows), ",") + `]}]}}`
	}
	native := func(name, components string) string {
		return to + `"raw":{"type":"template","template":{"name":"` + name + `","language":{"code":"en_US"},"components":[` + components + `]}}}`
	}
	const text = `{"type":"body","parameters":[{"type":"text","text":"A1"}]}`
	for name, c := range map[string]struct {
		body, code string
		platform   int
	}{
		"a raw template of an opted-out recipient": {strings.Replace(native("news", ""), "0199", "0105", 1), "recipient_opted_out", 0},
		"a raw template that is paused":            {native("promo", text), "send_template", 132015},
		"a raw template without its value":         {native("order_ready", ""), "send_parameter", 132000},
		"a raw template that is unknown":           {native("nothing", ""), "send_template", 132001},
		"a raw template without a name":            {native("", ""), "send_parameter", 131008},
		"a raw template with its value":            {native("order_ready", text), "", 0},
		"a raw template with a text header": {native("headed", `{"type":"header","parameters":[{"type":"text","text":"A"}]}`),
			"", 0},
		"a text header without its value": {to + `"template":{"name":"headed","language":"en_US"}}`, "send_parameter", 132000},
		"named variables without values":  {to + `"template":{"name":"named","language":"en_US"}}`, "send_parameter", 132000},
		"named variables, each once":      {to + `"template":{"name":"named","language":"en_US","body":["Ada","noon"]}}`, "", 0},
		"a named variable twice": {to + `"template":{"name":"named","language":"en_US","body":["Ada","noon","Ada"]}}`,
			"send_parameter", 132000},
		"a picture as a video":    {to + `"video":{"assetId":"ast_png"}}`, "send_media", 131053},
		"a picture as a sticker":  {to + `"sticker":{"assetId":"ast_png"}}`, "send_media", 131053},
		"a picture as a picture":  {to + `"image":{"assetId":"ast_png"}}`, "", 0},
		"a picture as a document": {to + `"document":{"assetId":"ast_png","filename":"a.png"}}`, "", 0},
		"a list without rows":     {list(0), "send_parameter", 131008},
		"a list of 10 rows":       {list(10), "", 0},
		"a list of 11 rows":       {list(11), "send_parameter", 131009},
		"a button to ftp":         {to + `"cta":{"body":"b","displayText":"d","url":"ftp://x.example/"}}`, "send_parameter", 131009},
		"a button to a name":      {to + `"cta":{"body":"b","displayText":"d","url":"x.example"}}`, "send_parameter", 131009},
		"a link to a file":        {to + `"image":{"link":"file:///etc/x"}}`, "send_parameter", 131009},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoClients(t, func(o *Options) {
				o.OptedOut = append(o.OptedOut, "+15555550105")
				o.Assets = append(o.Assets, Asset{ID: "ast_png", ContentType: "image/png"})
				o.Templates = []Template{
					{Name: "news", Language: "en_US", Components: []Component{{Type: "BODY", Text: "News."}}},
					{Name: "promo", Language: "en_US", Status: "paused", Components: []Component{{Type: "BODY", Text: "Only {{1}}."}}},
					{Name: "order_ready", Language: "en_US", Category: "UTILITY", Components: []Component{{Type: "BODY", Text: "Order {{1}}."}}},
					{Name: "headed", Language: "en_US", Components: []Component{
						{Type: "HEADER", Format: "TEXT", Text: "For {{1}}"}, {Type: "BODY", Text: "News."}}},
					{Name: "named", Language: "en_US", Components: []Component{{Type: "BODY", Text: "Hi {{name}}, at {{time}}, {{name}}."}}},
				}
			})
			res := call(t, s, "POST", "/api/v1/messages", "partner", c.body)
			raw, err := io.ReadAll(res.Body)
			must(t, err)
			var got struct {
				Error string
				Meta  struct{ Code int }
				Data  struct {
					MessageID string
					Warning   *struct{ Code string }
				}
			}
			must(t, json.Unmarshal(raw, &got))
			if got.Error != c.code || got.Meta.Code != c.platform || (got.Data.MessageID != "") != (c.code == "") {
				t.Errorf("got %s, want error %q and code %d", raw, c.code, c.platform)
			}
			if strings.Contains(c.body, `"raw"`) && got.Data.Warning != nil {
				t.Errorf("got the warning %v, want none: a template may start a conversation", got.Data.Warning)
			}
		})
	}
}

// A client without the operator's verification has no AUTHENTICATION templates.
func TestAnUnverifiedClientSendsNoCodes(t *testing.T) {
	unverified := false
	s := twoClients(t, func(o *Options) {
		o.Companies = append(o.Companies, Company{ID: "co_1", Verified: &unverified})
		o.Templates = []Template{{Name: "code", Language: "en_US", Category: "AUTHENTICATION",
			Components: []Component{{Type: "BODY", Text: "{{1}} is your code."}}}}
	})
	for conn, want := range map[string]string{"conn_1": "send_template", "conn_9": ""} {
		body := `{"connectionId":"` + conn + `","to":"+15555550199","template":{"name":"code","language":"en_US","otp":"123456"}}`
		if code, _ := errorOf(t, call(t, s, "POST", "/api/v1/messages", "partner", body)); code != want {
			t.Errorf("a code over %s: got %q, want %q", conn, code, want)
		}
		create := `{"connectionId":"` + conn + `","name":"code2","language":"en_US","category":"AUTHENTICATION",` +
			`"components":[{"type":"BODY","text":"{{1}} is your code.","example":{"body_text":[["1"]]}}]}`
		want = map[string]string{"conn_1": "business_not_verified", "conn_9": ""}[conn]
		if code, _ := errorOf(t, call(t, s, "POST", "/api/v1/templates", "partner", create)); code != want {
			t.Errorf("a new AUTHENTICATION template over %s: got %q, want %q", conn, code, want)
		}
	}
}

func TestEachSecretHas64Digits(t *testing.T) {
	s := twoClients(t)
	seen := map[string]bool{}
	for range 50 {
		var in struct{ Data struct{ Secret string } }
		must(t, json.NewDecoder(call(t, s, "POST", "/api/v1/webhooks", "partner", `{"url":"https://x.example/"}`).Body).Decode(&in))
		if n := len(in.Data.Secret); n != 64 || seen[in.Data.Secret] {
			t.Fatalf("got a secret of %d characters (seen before: %t), want 64 and a new one", n, seen[in.Data.Secret])
		}
		seen[in.Data.Secret] = true
	}
}
