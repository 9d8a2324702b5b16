package why

import (
	"testing"
	"time"

	"campaignd/campaign"
)

var holdNoon = time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return holdNoon.Add(time.Duration(n) * time.Minute) }

func TestARunIsHeldWhenEachConnectionIs(t *testing.T) {
	run := campaign.Run{No: 1, Campaign: "spring", State: campaign.Running, Template: "promo", Language: "en_US",
		Definition: []byte("name: spring\nconnections: [a, b]\ntemplate: {name: promo, language: en_US}\n" +
			"recipients: {file: x.csv, columns: {to: phone}}\na_key_of_another_version: 1\n")}
	of := func(c string) campaign.Origin {
		return campaign.Origin{Connection: c, Account: "acc_" + c, Company: "co"}
	}
	hold := func(scope campaign.HoldScope, id string) campaign.Hold {
		return campaign.Hold{Scope: scope, ID: id, Since: holdNoon}
	}
	for name, c := range map[string]struct {
		holds []campaign.Hold
		found int
		held  bool
	}{
		"nothing":                {nil, 0, false},
		"one connection":         {[]campaign.Hold{hold(campaign.HoldConnection, "a")}, 1, false},
		"both connections":       {[]campaign.Hold{hold(campaign.HoldConnection, "a"), hold(campaign.HoldAccount, "acc_b")}, 2, true},
		"the company":            {[]campaign.Hold{hold(campaign.HoldCompany, "co")}, 1, true},
		"another company":        {[]campaign.Hold{hold(campaign.HoldCompany, "co_2")}, 0, false},
		"one account's template": {[]campaign.Hold{hold(campaign.HoldTemplate, "acc_a/promo/en_US")}, 1, false},
		"the run":                {[]campaign.Hold{hold(campaign.HoldRun, "spring-1")}, 1, true},
	} {
		if got := len(RunHolds(run, c.holds, of, minute(1))); got != c.found {
			t.Errorf("%s: %d holds, want %d", name, got, c.found)
		}
		if _, held := Held(run, c.holds, of, minute(1)); held != c.held {
			t.Errorf("%s: held %t, want %t", name, held, c.held)
		}
		ended := run
		ended.State = campaign.Finished
		if got := len(RunHolds(ended, c.holds, of, minute(1))); got != 0 {
			t.Errorf("%s: %d holds of an ended run, want 0", name, got)
		}
	}
}

// A run goes on when one of its connections is free, so its wait is that of the first.
func TestARunWaitsForTheConnectionFreeFirst(t *testing.T) {
	run := campaign.Run{No: 1, Campaign: "spring", State: campaign.Running,
		Definition: []byte("name: spring\nconnections: [a, b, c]\ntemplate: {name: promo, language: en_US}\n" +
			"recipients: {file: x.csv, columns: {to: phone}}\n")}
	of := func(c string) campaign.Origin { return campaign.Origin{Connection: c} }
	hold := func(id, reason string, until time.Time) campaign.Hold {
		return campaign.Hold{Scope: campaign.HoldConnection, ID: id, Reason: reason, Since: holdNoon, Until: until}
	}
	holds := []campaign.Hold{hold("a", "131031", time.Time{}), hold("b", "2", minute(5)),
		hold("b", "131057", minute(3)), hold("c", "2", minute(9))}
	if got, held := Held(run, holds, of, minute(1)); !held || got != holds[1] {
		t.Errorf("held by %+v, %t; want by that of b until 12:05", got, held)
	}
}
