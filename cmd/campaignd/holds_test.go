package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestHoldsAreAddedListedAndLifted(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	if got := d.want(0, "holds").stdout; got != "nothing is held\n" {
		t.Errorf("got %q, want that nothing is held", got)
	}
	r := d.want(0, "holds", "add", "connection", "conn_1", "--for", "2h", "--reason", "maintenance")
	wantIn(t, "the sentence", r.stdout, "connection conn_1 is held since ", " holds it (maintenance); it ends at ",
		"`campaignd holds lift connection conn_1` ends it earlier")
	d.want(0, "holds", "add", "run", "latest")
	d.want(0, "holds", "add", "template", "/order_update/en_US")
	var states []struct {
		Scope, ID, Reason, Detail, Source, Who, Sentence string
		Since                                            time.Time
		Until, Ended                                     *time.Time
	}
	list := func(args ...string) {
		t.Helper()
		states = nil
		if err := json.Unmarshal([]byte(d.want(0, append([]string{"holds", "list", "-o", "json"}, args...)...).stdout), &states); err != nil {
			t.Fatal(err)
		}
	}
	list()
	if len(states) != 3 || states[0].Scope != "connection" || states[0].Until == nil || states[0].Until.Sub(states[0].Since) != 2*time.Hour ||
		states[0].Who == "" || states[1].ID != "orders-1" || states[1].Until != nil || states[1].Source != "operator" {
		t.Errorf("got %+v, want conn_1 for 2h, orders-1 and the template", states)
	}
	r = d.want(0, "holds", "lift", "connection", "conn_1")
	wantIn(t, "the sentence", r.stdout, "connection conn_1 was held from ", " lifted it")
	wantIn(t, "again", d.want(0, "holds", "lift", "connection", "conn_1").stdout, "connection conn_1 was not held")
	if list(); len(states) != 2 {
		t.Errorf("%d holds, want 2", len(states))
	}
	if list("--all"); len(states) != 3 || states[0].Ended == nil {
		t.Errorf("got %+v, want 3 with the first ended", states)
	}
	const stopsNothing = ", so a hold of it would stop nothing; "
	for args, want := range map[string]string{
		"holds add connection con_1":          `have no connection "con_1"` + stopsNothing + `did you mean "conn_1"?`,
		"holds add company comp_x":            `have no company "comp_x"` + stopsNothing + "known here: ",
		"holds add template acc_x/sale/en_US": `have no account "acc_x"` + stopsNothing,
		"holds add conn conn_1":               `scope "conn" is unknown; give key, company, portfolio, account, template, connection or run`,
		"holds add template order_update":     "want ACCOUNT/NAME/LANGUAGE",
		"holds add connection":                "want a SCOPE and an ID",
		"holds lift run other-9":              "no such run",
		"holds add connection a --for 0s":     "--for 0s is not positive",
		"holds lfit connection conn_1":        "did you mean `campaignd holds lift`?",
		"holds list now":                      "takes no argument",
	} {
		wantIn(t, args, d.want(2, strings.Fields(args)...).stderr, want)
	}
}

// A run under a hold of an operator waits, says why, and goes on when the hold is lifted.
func TestAHeldRunSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "ledger", "migrate") // makes the ledger
	d.want(0, "holds", "add", "connection", "*", "--reason", "maintenance")
	r := d.want(3, "run", d.path("c.yaml"), "--settle", "1s")
	const held = "every connection is held since "
	wantIn(t, "run", r.stderr, held, "only an operator ends it: `campaignd holds lift connection '*'`")
	wantIn(t, "report", d.want(0, "report", "latest").stdout, "held", held)
	wantIn(t, "why", d.want(0, "why", "latest").stdout, held)
	wantIn(t, "runs", d.want(0, "runs").stdout, ", held", "held: "+held)
	wantIn(t, "json", d.want(0, "why", "latest", "-o", "json").stdout, `"limited_by": "hold"`)
	wantIn(t, "json", d.want(0, "report", "latest", "--format", "json").stdout, `"scope": "connection"`)
	if d.accepted() != 0 {
		t.Errorf("%d accepted while all connections are held, want 0", d.accepted())
	}
	d.want(0, "holds", "lift", "connection", "*")
	d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	if d.accepted() == 0 {
		t.Error("0 accepted after the lift, want all")
	}
}
