package api

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

// two is a world in which everything of another company has the word alien in it, and everything
// else has not. Key own is of comp_2.
type two struct {
	*world
	run  string // of the other company
	file int64  // its dropped file
	key  string // id of its key
}

func newTwo(t *testing.T) *two {
	t.Helper()
	w := &two{world: newWorld(t)}
	w.world.key(t, "own", "operate", "comp_2")
	l, now := w.session.Ledger, time.Now().Truncate(time.Millisecond)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	origin := func(connection string) campaign.Origin {
		n := strings.TrimPrefix(connection, "conn_")
		return campaign.Origin{Connection: connection, Company: "comp_" + n, Account: "acct_" + n, Portfolio: "port_" + n, Key: "key_" + n}
	}
	s := &w.process.Session
	s.Origins = func(context.Context, []campaign.Hold) func(string) campaign.Origin { return origin }
	s.Known = func(context.Context) ([]campaign.Origin, bool) {
		return []campaign.Origin{origin("conn_2"), origin("conn_alien")}, true
	}
	s.Service = &fakeService{connections: []string{"conn_2", "conn_alien"}}
	s.Configured = func(connection string) bool { return connection == "conn_2" || connection == "conn_alien" }
	w.process.Numbers = func(context.Context) ([]resource.Number, error) {
		return []resource.Number{{Connection: "conn_2", Company: "comp_2"}, {Connection: "conn_alien", Company: "comp_alien"}}, nil
	}
	for i, connections := range []string{"conn_alien", "conn_2, conn_alien", "conn_alien, conn_2"} {
		name := fmt.Sprintf("alien-%c", 'a'+i)
		run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: name, Launch: campaign.FiringKey + name, ListHash: name,
			ListName: "alien.csv", Header: []string{"alien"},
			Definition: []byte("name: " + name + "\nconnections: [" + connections + "]\ntemplate: {name: alien, language: en}\n"),
			Wanted:     campaign.WantRun})
		must(err)
		row := campaign.Delivery{Run: run.No, Row: 2, Key: 2348031234567, To: "+2348031234567", Cells: []string{"alien"}}
		must(l.AppendRows(t.Context(), run.No, 0, []campaign.Delivery{row}, []campaign.Segment{{Run: run.No, Hi: 1}}))
		must(l.FinishImport(t.Context(), run.No, 1, campaign.Ready))
		f, _, err := l.ClaimFile(t.Context(), campaign.DroppedFile{Bucket: "file:alien", Key: name + ".csv", Campaign: name, TakenAt: now})
		must(err)
		f.State, f.Run = campaign.DropLaunched, run.No
		must(l.UpdateFile(t.Context(), f))
		_, err = l.NoteFiring(t.Context(), campaign.Firing{Campaign: name, Key: name, At: now.Add(-time.Hour), Since: now.Add(-time.Minute),
			Outcome: campaign.FiringLaunched, Run: run.No})
		must(err)
		if i == 0 {
			w.run, w.file = run.ID(), f.No
		}
		must(hold(t, l, campaign.HoldRun, run.ID()))
	}
	for scope, id := range map[campaign.HoldScope]string{campaign.HoldKey: "key_alien", campaign.HoldCompany: "comp_alien",
		campaign.HoldPortfolio: "port_alien", campaign.HoldAccount: "acct_alien", campaign.HoldTemplate: "acct_alien/alien/en",
		campaign.HoldConnection: "conn_alien"} {
		must(hold(t, l, scope, id))
	}
	rejected, _, err := l.ClaimFile(t.Context(), campaign.DroppedFile{Bucket: "file:alien", Key: "alien-bad.csv", Campaign: "alien-a",
		TakenAt: now})
	must(err)
	rejected.State, rejected.Detail = campaign.DropRejected, "alien"
	must(l.UpdateFile(t.Context(), rejected))
	must(l.NoteWaits(t.Context(), "file:alien", "", []campaign.DropWait{{Key: "alien-wait.csv", Reason: "alien", Since: now}}))
	all := campaign.NewSuppression(2348031234567, "+2348031234567", campaign.ScopeMarketing, "import:alien", now).
		Proven(campaign.Proof{Message: "wamid.alien", Text: "alien", File: "alien.csv", Connection: "conn_alien"})
	other := all
	other.Company = "comp_alien"
	_, err = l.Suppress(t.Context(), []campaign.Suppression{all, other})
	must(err)
	k, err := w.session.CreateKey(t.Context(), "alien", "operate", "comp_alien", "")
	must(err)
	w.key = k.ID
	files, err := w.folder()
	must(err)
	def, err := file.Parse("alien.yaml", []byte("name: alien-a\nconnections: [conn_alien]\n"+
		"template: {name: alien, language: en}\nschedule: {cron: \"0 9 * * MON\", timezone: UTC}\n"))
	must(err)
	files = append(files, operator.File{Path: "alien.yaml", Definition: def, Cron: files[0].Cron},
		operator.File{Path: "alien-broken.yaml", Findings: []file.Finding{{Level: file.LevelError, What: "alien"}}})
	w.process.Folder = func() ([]operator.File, error) { return files, nil }
	return w
}

func hold(t *testing.T, l campaign.Ledger, scope campaign.HoldScope, id string) error {
	_, err := l.AddHolds(t.Context(), []campaign.Hold{{Scope: scope, ID: id, Reason: "operator", Detail: "alien",
		Source: campaign.HoldByOperator, Since: time.Now().UTC()}})
	return err
}

// state is what a key of all companies sees of the other company.
func (w *two) state(t *testing.T) (all []string) {
	t.Helper()
	for _, path := range []string{"/api/v1/runs", "/api/v1/holds", "/api/v1/drops", "/api/v1/runs/" + w.run + "/limits",
		"/api/v1/suppressions/+2348031234567", "/api/v1/suppressions"} {
		for line := range strings.SplitSeq(w.ask(t, "GET", path, "admin", "").Body.String(), "},{") {
			if strings.Contains(line, "alien") {
				all = append(all, strings.TrimRight(line, "]}\n"))
			}
		}
	}
	return all
}

// requests yields each operation of the document with the ids in its path, its query and its body:
// of a run, a campaign, a file and so on.
func (w *two) requests(t *testing.T, ids map[string]string, ask func(d documented, path, body string)) {
	t.Helper()
	for _, d := range w.documented() {
		if d.path == "/api/v1/events" {
			continue // a stream that does not end
		}
		path := d.path
		for name, id := range ids {
			path = strings.ReplaceAll(path, "{"+name+"}", id)
		}
		body := d.body(t)
		ask(d, path, body)
		for _, p := range d.op.Parameters {
			if id := ids[p.Name]; p.In == "query" && id != "" {
				ask(d, path+"?"+p.Name+"="+id, body)
			}
		}
		switch d.op.OperationID {
		case "add-hold", "lift-holds":
			for _, scope := range campaign.HoldScopes {
				id := ids[string(scope)]
				if scope == campaign.HoldKey {
					id = ids["api_key"]
				}
				ask(d, path, fmt.Sprintf(`{"scope": %q, "id": %q}`, scope, id))
			}
			if d.op.OperationID == "lift-holds" {
				ask(d, path, `{"reason": "operator"}`)
				ask(d, path, `{"reason": "account"}`)
			}
		}
	}
}

// kinds are the names of ids: parameters of paths and queries, and scopes of holds.
func kinds(run, name, file, key, n string) map[string]string {
	return map[string]string{"run": run, "campaign": name, "file": file, "key": key, "notification": "1", "connection": "conn_" + n,
		"number": "%2B2348031234567", "hash": exampleUpload.Hash, "company": "comp_" + n, "portfolio": "port_" + n, "account": "acct_" + n,
		"template": "acct_" + n + "/sale/en", "api_key": "key_" + n, "to": "%2B2348031234567", "last": "5",
		"against": "service"}
}

func TestNoAnswerNamesAnotherCompany(t *testing.T) {
	w := newTwo(t)
	before := w.state(t)
	if len(before) < 15 {
		t.Fatalf("a key of all companies sees %d things of the other company, want 15 or more: %q", len(before), before)
	}
	w.world.key(t, "stray", "operate", "comp_alie") // of a company that nobody knows
	for key, ids := range map[string]map[string]string{
		"own":   kinds("spring-2", "spring-2", "2", "00000000", "2"),
		"stray": kinds("nobody-z-77", "nobody-z", "7777", "77777777", "alie"),
	} {
		w.requests(t, ids, func(d documented, path, body string) {
			if d.op.OperationID == "cancel" {
				return // the other requests need the run
			}
			if got := w.ask(t, d.method, path, key, body); strings.Contains(got.Body.String(), "alien") {
				t.Errorf("%s %s %s: got %s, want nothing of the other company", d.method, path, body, got.Body)
			}
		})
	}
	if after := w.state(t); !slices.Equal(before, after) {
		t.Errorf("the other company after all requests:\n got %q\nwant %q", after, before)
	}
}

// An id of another company and one that nobody has get the same answer, and so does one that is
// nearly another company's.
func TestAnothersIDIsAsUnknownAsNobodys(t *testing.T) {
	w := newTwo(t)
	before := w.state(t)
	named := []string{"run", "campaign", "template", "file", "key", "connection", "company", "portfolio", "account", "api_key"}
	asked := func(ids map[string]string) (requests, answers []string) {
		w.requests(t, ids, func(d documented, path, body string) {
			if d.op.OperationID == "import-suppressions" {
				return // the first of two imports adds, the second finds
			}
			request := d.method + " " + path + " " + body
			answer := ""
			for _, name := range named {
				id := regexp.MustCompile(`\b` + regexp.QuoteMeta(ids[name]) + `\b`)
				if !id.MatchString(path) && !id.MatchString(body) {
					continue
				}
				if answer == "" {
					got := w.ask(t, d.method, path, "own", body)
					answer = fmt.Sprint(got.Code, " ", got.Body)
				}
				answer = id.ReplaceAllString(answer, "ID")
			}
			requests, answers = append(requests, request), append(answers, answer)
		})
		return requests, answers
	}
	_, nobody := asked(kinds("nobody-z-77", "nobody-z", "7777", "77777777", "xxxxxx"))
	for name, ids := range map[string]map[string]string{
		"another company's": kinds(w.run, "alien-a", fmt.Sprint(w.file), w.key, "alien"),
		"nearly":            kinds("alien-77", "alien-ab", "7778", "77777778", "alie"),
	} {
		requests, got := asked(ids)
		compared := 0
		for i, r := range requests {
			if got[i] != "" {
				compared++
			}
			if got[i] != nobody[i] {
				t.Errorf("%s, %s: got %s, want %s as of nobody's", r, name, got[i], nobody[i])
			}
		}
		if compared < 40 {
			t.Errorf("%s: %d requests have an id, want 40 or more", name, compared)
		}
	}
	if after := w.state(t); !slices.Equal(before, after) {
		t.Errorf("the other company after all requests:\n got %q\nwant %q", after, before)
	}
}

func TestNoEventNamesAnotherCompany(t *testing.T) {
	w := newTwo(t)
	o := &observer{s: w.Server, companies: map[campaign.RunNo]string{}}
	feed := newFeed(func(ctx context.Context) (snapshot, error) { return o.poll(ctx) }, w.process.Log)
	own, everyone := feed.at("", "comp_2"), feed.at("", "")
	poll := func() string {
		t.Helper()
		now, err := o.poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		feed.update(now, time.Now())
		mine, _, _ := feed.next(own)
		all, _, _ := feed.next(everyone)
		if strings.Contains(string(mine), "alien") || !strings.Contains(string(all), "alien") {
			t.Errorf("got the events %s, want none of the other company; a key of all companies has %s", mine, all)
		}
		return string(mine)
	}
	firing := campaign.Firing{Campaign: "spring-2", Key: "k", At: time.Now().Add(-time.Hour), Since: time.Now(),
		Outcome: campaign.FiringLaunched}
	if _, err := w.session.Ledger.NoteFiring(t.Context(), firing); err != nil {
		t.Fatal(err)
	}
	first := poll()
	for _, kind := range []string{resource.EventRun, resource.EventFiring} {
		if !strings.Contains(first, "event: "+kind+"\n") {
			t.Errorf("got the events %s, want the company's own %s", first, kind)
		}
	}
	for _, path := range []string{"/api/v1/runs/" + w.run + "/pause", "/api/v1/holds/lift"} {
		body := ""
		if strings.HasSuffix(path, "lift") {
			body = `{"reason": "operator"}`
		}
		if got := w.ask(t, "POST", path, "admin", body); got.Code != 200 {
			t.Fatalf("%s: got %d %s, want 200", path, got.Code, got.Body)
		}
		poll()
	}
}

func TestTheLatestRunIsOfTheKeysCompany(t *testing.T) {
	w := newTwo(t) // the newest runs are the other company's
	got, _ := answers[resource.Run](t, "latest", w.ask(t, "GET", "/api/v1/runs/latest", "own", ""))
	if got.ID != "spring-2" {
		t.Errorf("got %s, want spring-2", got.ID)
	}
}
