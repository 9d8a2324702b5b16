package main

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"campaignd/campaign/template"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

const autumnFile = `name: autumn_sale
language: en_US
category: MARKETING
components:
  - {type: HEADER, format: IMAGE, file: banner.jpg}
  - type: BODY
    text: Hi {{1}}, our autumn sale begins today with {{2}} off
    example: {body_text: [[Ada, "20 %"]]}
`

// templated returns a fixture with a folder of one template file.
func templated(t *testing.T, change func(*sandbox.Options)) *fixture {
	t.Helper()
	d := newFixture(t, change)
	if err := os.Mkdir(d.path("templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("templates/banner.jpg", "\xFF\xD8\xFF\xE0\x00\x10JFIF\x00")
	d.write("templates/autumn_sale.en_US.yaml", autumnFile)
	return d
}

func (d *fixture) pushed(code int, more ...string) []template.Pushed {
	d.t.Helper()
	var out []template.Pushed
	r := d.want(code, append([]string{"templates", "push", d.path("templates"), "-o", "json"}, more...)...)
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		d.t.Fatalf("%v in %q", err, r.stdout)
	}
	return out
}

func (d *fixture) listedTemplates() []messaging.TemplateRecord {
	d.t.Helper()
	var out []messaging.TemplateRecord
	if err := json.Unmarshal([]byte(d.want(0, "templates", "list", "-o", "json").stdout), &out); err != nil {
		d.t.Fatal(err)
	}
	return out
}

// setTemplate decides about a template at the platform.
func (d *fixture) setTemplate(name, body string) {
	d.t.Helper()
	url := d.env["CAMPAIGND_SERVICE_BASE_URL"] + "/sandbox/templates/" + name + "/status"
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		d.t.Fatalf("got %s for %s, want 200", resp.Status, body)
	}
}

func TestAPushIsReviewedAndThenTheSame(t *testing.T) {
	t.Parallel()
	reviewedThenTheSame(t, templated(t, nil))
}

func TestAPushOverTheCloudAPIIsTheSame(t *testing.T) {
	t.Parallel()
	d := overCloud(t, templated(t, func(o *sandbox.Options) { o.API = sandbox.APICloud }))
	reviewedThenTheSame(t, d)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m") // keeps its listings in the ledger
	d.setTemplate("order_update", `{"status": "paused", "silent": true}`)
	d.says(0, "0 added, 1 updated, 0 removed\n", "", "templates", "sync")
	wantIn(t, "the library", d.want(2, "templates", "list", "--library").stderr, "service.api_key is empty")
	d.write("campaignd.yaml", strings.Replace(d.text("campaignd.yaml"), "app_id", "portfolio", 1))
	d.write("templates/autumn_sale.en_US.yaml", strings.Replace(autumnFile, "today", "tonight", 1))
	wantIn(t, "without the app", d.want(1, "templates", "push", d.path("templates"), "--yes").stderr, "give app_id")
}

// overCloud makes the commands use the Cloud API of the fixture's sandbox alone.
func overCloud(t *testing.T, d *fixture) *fixture {
	t.Helper()
	delete(d.env, "CAMPAIGND_SERVICE_API_KEY")
	delete(d.env, "CAMPAIGND_WEBHOOKS_SECRETS")
	for name, secret := range map[string]string{"token": sandbox.DemoKey, "app": sandbox.CloudAppSecret, "verify": sandbox.CloudVerifyToken} {
		d.write(name, secret)
	}
	values := strings.NewReplacer("URL", d.env["CAMPAIGND_SERVICE_BASE_URL"], "ID", sandbox.CloudAccount, "APP", sandbox.CloudApp,
		"FOLDER", d.dir)
	d.write("campaignd.yaml", values.Replace(`cloud:
  base_url: 'URL'
  names: {conn_1: '300000000000001'}
  accounts: [{id: 'ID', app_id: 'APP', token_file: 'FOLDER/token', app_secret_file: 'FOLDER/app', verify_token_file: 'FOLDER/verify'}]
`))
	d.config = d.path("campaignd.yaml")
	return d
}

func reviewedThenTheSame(t *testing.T, d *fixture) {
	t.Helper()
	file := d.path("templates/autumn_sale.en_US.yaml")
	facts := func(action template.Action, status string) []template.Pushed {
		return []template.Pushed{{File: file, Name: "autumn_sale", Language: "en_US", Action: action, Status: status}}
	}
	d.says(3, file+": the service has no such template\n0 of 1 template file is as at the service\n", "",
		"templates", "diff", d.path("templates"))
	if got, want := d.pushed(0), facts(template.Created, "PENDING"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	d.setTemplate("autumn_sale", `{"status": "rejected"}`)
	d.says(1, "autumn_sale in en_US is REJECTED (MARKETING): INVALID_FORMAT\n", "", "templates", "wait", "autumn_sale")
	d.write("templates/autumn_sale.en_US.yaml", strings.Replace(autumnFile, "today", "now", 1))
	if got, want := d.pushed(0), facts(template.Edited, "PENDING"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	d.setTemplate("autumn_sale", `{"status": "approved"}`)
	d.says(0, "autumn_sale in en_US is APPROVED (MARKETING)\n", "", "templates", "wait", "autumn_sale", "--language", "en-US")
	if got, want := d.pushed(0), facts(template.Unchanged, "APPROVED"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	d.says(0, "1 of 1 template file is as at the service\n", "", "templates", "diff", d.path("templates"))
	wantIn(t, "show", d.want(0, "templates", "show", "autumn_sale").stdout,
		"autumn_sale in en_US is APPROVED", "HEADER IMAGE", "begins now with")
}

func TestAFaultyFileStopsThePushOfAll(t *testing.T) {
	t.Parallel()
	d := templated(t, nil)
	d.write("templates/other.en_US.yaml",
		strings.NewReplacer("autumn_sale", "other", "today with {{2}} off", "with {{2}}").Replace(autumnFile))
	before := len(d.listedTemplates())
	r := d.want(2, "templates", "push", d.path("templates"))
	wantIn(t, "standard error", r.stderr, d.path("templates/other.en_US.yaml")+":7:5: components[1].text:", "(2388299); write words before")
	if got := len(d.listedTemplates()); got != before {
		t.Errorf("got %d templates after the push, want %d as before", got, before)
	}
	d.want(2, "templates", "push", d.path("nothing"))
	d.want(2, "templates", "push", d.path("list.csv"))
	d.want(2, "templates", "push", "a", "b")
	wantIn(t, "no such connection", d.want(2, "templates", "list", "--connection", "conn_9").stderr, `no connection "conn_9"; did you mean`)
}

// The service refuses a second edit of an approved template within a day. The other file is pushed
// all the same.
func TestARefusedEditNamesItsRemedy(t *testing.T) {
	t.Parallel()
	d := templated(t, nil)
	d.pushed(0)
	for _, word := range []string{"now", "again"} {
		d.setTemplate("autumn_sale", `{"status": "approved"}`)
		d.write("templates/autumn_sale.en_US.yaml", strings.Replace(autumnFile, "today", word, 1))
		if word == "now" {
			d.pushed(0)
		}
	}
	d.write("templates/order.en_US.yaml", "name: order\nlanguage: en_US\nlibraryName: delivery_update\n")
	got := d.pushed(1)
	if len(got) != 2 || got[0].Action != template.Refused || got[0].Status != "APPROVED" ||
		!strings.Contains(got[0].Error, "push again later") || got[1].Action != template.Created || got[1].Status != "APPROVED" {
		t.Errorf("got %+v, want the edit refused with its remedy, and the library's template created", got)
	}
}

func TestAnEditThatStopsARunWantsYes(t *testing.T) {
	t.Parallel()
	d := templated(t, nil)
	d.pushed(0)
	d.setTemplate("autumn_sale", `{"status": "approved"}`)
	d.write("autumn.yaml", strings.NewReplacer("name: orders", "name: autumn", "order_update", "autumn_sale", ", category: UTILITY", "",
		"body:", "header: {image: {file: templates/banner.jpg}}, body:").Replace(campaignFile)+"limits: {rate: 1}\n")
	stop := d.serving()
	defer stop()
	d.want(0, "launch", d.path("autumn.yaml"), "--recipients", d.path("list.csv"))
	d.write("templates/autumn_sale.en_US.yaml", strings.Replace(autumnFile, "today", "now", 1))
	r := d.want(2, "templates", "push", d.path("templates"))
	wantIn(t, "standard error", r.stderr, "nothing was pushed: it would stop 1 unfinished run (autumn-1)", "give --yes")
	if got := d.pushed(0, "--yes"); got[0].Action != template.Edited {
		t.Errorf("got %+v, want the template edited", got)
	}
	d.want(0, "cancel", "autumn-1")
}

func TestAWaitEndsWithItsTime(t *testing.T) {
	t.Parallel()
	d := templated(t, func(o *sandbox.Options) { o.Review.After = time.Hour })
	d.pushed(0)
	d.says(3, "autumn_sale in en_US is PENDING (MARKETING)\n", "", "templates", "wait", "autumn_sale", "--timeout", "2s")
	wantIn(t, "unknown", d.want(2, "templates", "wait", "autumn_sail").stderr, `did you mean "autumn_sale"?`)
	d.want(2, "templates", "wait", "autumn_sale", "--timeout", "0s")
}

// The listing of the service is behind the platform until it is synchronised.
func TestASyncBringsTheListingUpToDate(t *testing.T) {
	t.Parallel()
	d := templated(t, nil)
	d.setTemplate("order_update", `{"status": "paused", "silent": true}`)
	d.says(0, "0 added, 1 updated, 0 removed\n", "", "templates", "sync")
	d.says(1, "order_update in en_US is PAUSED (UTILITY)\n", "", "templates", "wait", "order_update")
}

// The file of a template is judged by check as by push. Without the service it stands for the
// service's template.
func TestCheckJudgesTheTemplateFile(t *testing.T) {
	t.Parallel()
	d := templated(t, nil)
	d.write("autumn.yaml", strings.NewReplacer("order_update", "autumn_sale", ", category: UTILITY", "").Replace(campaignFile))
	wantIn(t, "offline", d.want(2, "check", d.path("autumn.yaml"), "--offline").stderr, "a header of type image and the campaign gives none")
	d.write("templates/autumn_sale.en_US.yaml", strings.Replace(autumnFile, "  - {type: HEADER, format: IMAGE, file: banner.jpg}\n", "", 1))
	d.want(0, "check", d.path("autumn.yaml"), "--offline")
	d.pushed(0)
	d.setTemplate("autumn_sale", `{"status": "approved"}`)
	if r := d.want(0, "check", d.path("autumn.yaml")); strings.Contains(r.stdout, "templates push") {
		t.Errorf("the same: got %q, want no word of a push", r.stdout)
	}
	d.write("templates/autumn_sale.en_US.yaml",
		strings.NewReplacer("  - {type: HEADER, format: IMAGE, file: banner.jpg}\n", "", "today", "now").Replace(autumnFile))
	wantIn(t, "another", d.want(0, "check", d.path("autumn.yaml")).stdout,
		"warning:", "it is not what the service has: body.text:", "templates push")
	d.write("templates/autumn_sale.en_US.yaml", "name: autumn_sale\nlanguage: en_US\ncategori: MARKETING\n")
	wantIn(t, "a fault", d.want(0, "check", d.path("autumn.yaml")).stdout, "autumn_sale.en_US.yaml:3:1: unknown key", "did you mean")
}
