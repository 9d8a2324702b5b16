package main

import (
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/client"
)

// The key that launched a run, or made a follow-up, does not approve it. Another key does, and so
// does a user of the machine, even one who launched it; the log of actions has both names.
func TestApprovalNeedsASecondPerson(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("a.yaml", campaignFile+"policies: {approval: true}\n")
	defer d.serving()()
	access, err := client.ReadAccess(d.path("campaignd.db.api"))
	if err != nil {
		t.Fatal(err)
	}
	key := func(name string) *fixture {
		secret := strings.TrimSpace(d.want(0, "keys", "create", name, "--scope", "operate").stdout)
		return &fixture{t: t, dir: t.TempDir(), env: map[string]string{"CAMPAIGND_SERVER": access.URL, "CAMPAIGND_KEY": secret}}
	}
	ada, ben := key("ada"), key("ben")
	launch := func(by *fixture, list string) {
		t.Helper()
		by.want(0, "launch", d.path("a.yaml"), "--recipients",
			d.write("list-"+list+".csv", "phone,first_name,order\n+23480312000"+list+",Ada,7\n"))
	}
	refused := func(by *fixture, run string) {
		t.Helper()
		by.says(2, "", "campaignd: this key launched "+run+", and its approval needs a second person: another key approves it, or "+
			"`campaignd approve "+run+"` on the machine of the ledger\n", "approve", run)
	}
	approved := func(by *fixture, run string) {
		t.Helper()
		by.says(0, run+" is approved; it is sent as soon as a sender (`campaignd serve` or `run`) has it\n", "", "approve", run)
	}
	ends := func(run string) {
		t.Helper()
		d.eventually(run+" ends", func() bool {
			return slices.ContainsFunc(d.runs(), func(r runRow) bool { return r.ID == run && campaign.State(r.State).Ended() })
		})
	}
	launch(ada, "31")
	refused(ada, "orders-1")
	launch(ben, "31") // the same list again is the same run, which is still ada's
	refused(ada, "orders-1")
	approved(ben, "orders-1")
	ends("orders-1")
	ada.says(1, "", "campaignd: not possible now: orders-1 is finished, it does not wait for approval\n", "approve", "orders-1")

	launch(d, "32")
	approved(d, "orders-2")
	ends("orders-2")
	launch(d, "33")
	approved(ada, "orders-3")
	ends("orders-3")
	launch(ben, "34")
	d.want(0, "cancel", "orders-4")
	ends("orders-4")
	ada.want(0, "follow-up", "orders-4", "--where", "skipped=cancelled")
	refused(ada, "orders-5")
	ben.want(0, "approve", "orders-5")
	actions := d.want(0, "actions", "-o", "json").stdout
	wantIn(t, "the log of actions", actions, `"detail": "launched by key `, ` (ada)"`)
	made := strings.LastIndex(actions, `"by": "`) // the keys, by the user of the machine
	user := `"detail": "launched by ` + strings.Split(actions[made+len(`"by": "`):], `"`)[0] + `; `
	if got := strings.Count(actions, user); got != 2 {
		t.Errorf("got %d lines with %s, want those of orders-2 and orders-3 in\n%s", got, user, actions)
	}
}
