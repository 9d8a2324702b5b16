package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// managed asks a management operation and returns the status, the error or the status of the
// record, and the code of the platform.
func (c *scene) managed(t *testing.T, method, path, body string) (status int, what string, code int, id string) {
	t.Helper()
	res := call(t, c.s, method, "/api/v1"+path, c.key, body)
	raw, err := io.ReadAll(res.Body)
	must(t, err)
	var in struct {
		Error string
		Meta  struct{ Code int }
		Data  json.RawMessage
	}
	if len(raw) > 0 {
		must(t, json.Unmarshal(raw, &in))
	}
	var record struct{ ID, Status string }
	if len(in.Data) > 0 && in.Data[0] == '{' {
		must(t, json.Unmarshal(in.Data, &record))
	}
	return res.StatusCode, in.Error + record.Status, in.Meta.Code, record.ID
}

const fineBody = `[{"type":"BODY","text":"Hello {{1}}, your table is ready now.","example":{"body_text":[["Ada"]]}}]`

func creation(name, components string) string {
	return `{"connectionId":"conn_1","name":"` + name + `","language":"en_US","category":"MARKETING","components":` + components + `}`
}

func (c *scene) want(t *testing.T, method, path, body string, status int, what string) (id string) {
	t.Helper()
	got, told, code, id := c.managed(t, method, path, body)
	if got != status || told != what {
		t.Fatalf("%s %s %s: got %d %s (%d), want %d %s", method, path, body, got, told, code, status, what)
	}
	return id
}

func TestAnApprovedTemplateIsEditedTenTimesAMonth(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *scene) {
		id := c.want(t, "POST", "/templates", creation("table", fineBody), 200, "PENDING")
		c.want(t, "PATCH", "/templates/"+id, `{"components":`+fineBody+`}`, 409, "template_not_editable")
		time.Sleep(3 * time.Second)
		c.want(t, "GET", "/templates/"+id, "", 200, "APPROVED")
		c.want(t, "PATCH", "/templates/"+id, `{"category":"UTILITY"}`, 409, "template_not_editable")
		first := time.Now()
		for n := range 10 {
			c.want(t, "PATCH", "/templates/"+id, `{"components":`+fineBody+`}`, 200, "PENDING")
			time.Sleep(24*time.Hour - time.Second)
			if n < 9 {
				c.want(t, "PATCH", "/templates/"+id, `{"components":`+fineBody+`}`, 409, "template_edit_limit")
			}
			time.Sleep(time.Second)
		}
		c.want(t, "PATCH", "/templates/"+id, `{"components":`+fineBody+`}`, 409, "template_edit_limit")
		time.Sleep(time.Until(first.Add(30*24*time.Hour - time.Second)))
		c.want(t, "PATCH", "/templates/"+id, `{"components":`+fineBody+`}`, 409, "template_edit_limit")
		time.Sleep(time.Second)
		c.want(t, "PATCH", "/templates/"+id, `{"components":`+fineBody+`}`, 200, "PENDING")
	})
}

func TestTheNameOfADeletedTemplateIsBlocked30Days(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *scene) {
		id := c.want(t, "POST", "/templates", creation("table", fineBody), 200, "PENDING")
		c.want(t, "POST", "/templates", creation("table", fineBody), 409, "template_exists")
		c.want(t, "DELETE", "/templates/"+id, "", 204, "")
		id = c.want(t, "POST", "/templates", creation("table", fineBody), 200, "PENDING") // it was never approved
		time.Sleep(3 * time.Second)
		c.want(t, "DELETE", "/templates/"+id, "", 204, "")
		c.want(t, "DELETE", "/templates/"+id, "", 404, "not_found")
		c.want(t, "POST", "/templates", creation("table", fineBody), 409, "template_name_blocked")
		time.Sleep(30*24*time.Hour - time.Second)
		c.want(t, "POST", "/templates", creation("table", fineBody), 409, "template_name_blocked")
		time.Sleep(time.Second)
		id = c.want(t, "POST", "/templates", creation("table", fineBody), 200, "PENDING")
		must(t, c.s.SetTemplate("table", "", "disabled"))
		c.want(t, "DELETE", "/templates/"+id, "", 409, "template_not_deletable")
		c.want(t, "PATCH", "/templates/"+id, `{"components":`+fineBody+`}`, 409, "template_not_editable")
	})
}

func TestAReviewRejectsOnceAndTellsTheReason(t *testing.T) {
	o := Options{}
	o.Review.After = time.Minute
	o.Review.Reject = map[string]string{"table": "TAG_CONTENT_MISMATCH"}
	o.Review.Category = map[string]string{"table": "UTILITY"}
	bubble(t, o, func(t *testing.T, c *scene) {
		id := c.want(t, "POST", "/templates", creation("table", fineBody), 200, "PENDING")
		time.Sleep(59 * time.Second)
		c.want(t, "GET", "/templates/"+id, "", 200, "PENDING")
		time.Sleep(2 * time.Second)
		c.want(t, "GET", "/templates/"+id, "", 200, "REJECTED")
		c.want(t, "PATCH", "/templates/"+id, `{"components":`+fineBody+`}`, 200, "PENDING")
		time.Sleep(61 * time.Second)
		c.want(t, "GET", "/templates/"+id, "", 200, "APPROVED")
		c.want(t, "DELETE", "/templates/"+id, "", 204, "")
		c.settle(t)
		var told []string
		for _, e := range c.events(t, "template.status") {
			data := e["data"].(map[string]any)
			told = append(told, fmt.Sprint(data["event"], " ", data["reason"], " ", data["category"]))
		}
		want := "REJECTED TAG_CONTENT_MISMATCH UTILITY, APPROVED NONE UTILITY, DELETED NONE UTILITY"
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("got the events %s, want %s", got, want)
		}
	})
}

func TestASilentChangeIsKnownAfterASync(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *scene) {
		res := call(t, c.s, "POST", "/sandbox/templates/newsletter/status", "", `{"status":"paused","silent":true}`)
		if res.StatusCode != 200 {
			t.Fatalf("got %s, want 200", res.Status)
		}
		c.want(t, "GET", "/templates/tpl_4", "", 200, "APPROVED")
		if what, code := errorOf(t, c.send(t, "conn_1", "+15555550199", "newsletter")); what != "send_template" || code != 132015 {
			t.Errorf("a send meanwhile: got %s %d, want send_template 132015", what, code)
		}
		res = call(t, c.s, "POST", "/sandbox/templates/coupon/status", "", `{"status":"deleted","silent":true}`)
		if res.StatusCode != 200 {
			t.Fatalf("a silent deletion: got %s, want 200", res.Status)
		}
		var got struct {
			Data struct{ Added, Updated, Removed int }
		}
		must(t, json.NewDecoder(call(t, c.s, "POST", "/api/v1/templates/sync", c.key, `{"connectionId":"conn_1"}`).Body).Decode(&got))
		if d := got.Data; d.Added != 0 || d.Updated != 1 || d.Removed != 1 {
			t.Errorf("sync: got %+v, want 1 updated and 1 removed", d)
		}
		c.want(t, "GET", "/templates/tpl_4", "", 200, "PAUSED")
		c.want(t, "GET", "/templates/tpl_5", "", 404, "not_found")
		if n := len(c.events(t, "template.status")); n != 0 {
			t.Errorf("got %d events, want none", n)
		}
	})
}

// Each body has one fault of a template; the first rule that it breaks gives the code.
func TestEachFaultOfATemplateHasItsCode(t *testing.T) {
	body := func(text, examples string) string {
		return `[{"type":"BODY","text":"` + text + `","example":{"body_text":[[` + examples + `]]}}]`
	}
	with := func(part string) string { return fineBody[:len(fineBody)-1] + "," + part + "]" }
	button := func(b string) string { return with(`{"type":"BUTTONS","buttons":[` + b + `]}`) }
	link := `{"type":"URL","text":"Go","url":"https://x.example/"}`
	for name, c := range map[string]struct {
		components string
		code       int
	}{
		"a long header":            {with(`{"type":"HEADER","format":"TEXT","text":"` + strings.Repeat("a", 61) + `"}`), 2388040},
		"a long footer":            {with(`{"type":"FOOTER","text":"` + strings.Repeat("a", 61) + `"}`), 2388040},
		"a long body":              {body(strings.Repeat("a", 1025), ""), 2388040},
		"a long label":             {button(`{"type":"QUICK_REPLY","text":"` + strings.Repeat("a", 26) + `"}`), 2388040},
		"an unknown header":        {with(`{"type":"HEADER","format":"LOCATION"}`), 2388047},
		"two headers":              {with(`{"type":"HEADER","format":"TEXT","text":"a"},{"type":"HEADER","format":"TEXT","text":"b"}`), 2388047},
		"a picture without handle": {with(`{"type":"HEADER","format":"IMAGE"}`), 2388047},
		"a handle of nobody":       {with(`{"type":"HEADER","format":"IMAGE","example":{"header_handle":["4::x"]}}`), 2388047},
		"no body":                  {`[{"type":"FOOTER","text":"a"}]`, 2388072},
		"no components":            {`[]`, 2388072},
		"variables from 2":         {body("We see {{2}} here today again.", `"a","b"`), 2388072},
		"a named variable":         {body("We see {{name}} here today again.", `"a"`), 2388072},
		"adjacent variables":       {body("We see {{1}} {{2}} here today again and again.", `"a","b"`), 2388072},
		"no example":               {`[{"type":"BODY","text":"We see {{1}} here today."}]`, 2388072},
		"a footer with a variable": {with(`{"type":"FOOTER","text":"For {{1}}"}`), 2388073},
		"few words":                {body("Hi {{1}} there", `"a"`), 2388293},
		"a variable first":         {body("{{1}}, we see you here today.", `"a"`), 2388299},
		"a variable last":          {body("We see you here today, {{1}}", `"a"`), 2388299},
		"11 buttons":               {button(strings.TrimSuffix(strings.Repeat(`{"type":"QUICK_REPLY","text":"a"},`, 11), ",")), 2388084},
		"3 addresses":              {button(link + "," + link + "," + link), 2388084},
		"a variable in the middle": {button(`{"type":"URL","text":"Go","url":"https://x.example/{{1}}/a"}`), 2388084},
		"nothing wrong":            {button(link + `,{"type":"URL","text":"Go","url":"https://x.example/{{1}}"}`), 0},
	} {
		t.Run(name, func(t *testing.T) {
			scene := &scene{s: twoClients(t), key: "partner"}
			status, what, code, _ := scene.managed(t, "POST", "/templates", creation("table", c.components))
			if want := (map[bool]string{true: "PENDING", false: "invalid_template"})[c.code == 0]; what != want || code != c.code {
				t.Errorf("got %d %s %d, want %s %d", status, what, code, want, c.code)
			}
		})
	}
	for name, in := range map[string]string{"a long name": strings.Repeat("a", 513), "a name with a capital": "Table"} {
		scene := &scene{s: twoClients(t), key: "partner"}
		if _, what, code, _ := scene.managed(t, "POST", "/templates", creation(in, fineBody)); what != "invalid_template" || code/1000 != 2388 {
			t.Errorf("%s: got %s %d, want invalid_template 2388xxx", name, what, code)
		}
	}
}
