package main

import (
	"encoding/json"
	"testing"

	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
)

// check and forecast say what a list costs before anything is sent.
func TestTheCostIsShownBeforeTheStart(t *testing.T) {
	d := newFixture(t, nil)
	d.env["CAMPAIGND_PRICES"] = d.write("rates.csv", "market,category,currency,rate,from\nNG,utility,USD,0.0067,2026-01-01\n")
	c, list := d.write("orders.yaml", campaignFile), d.write("list.csv", listOf(30))
	const want = "cost: 0.201 USD, utility at the rates of "
	wantIn(t, "check", d.want(0, "check", c, "--recipients", list).stdout, want)
	wantIn(t, "forecast", d.want(0, "forecast", c, "--recipients", list).stdout, want)
	var checked launch.Preflight
	if err := json.Unmarshal([]byte(d.want(0, "check", c, "--recipients", list, "-o", "json").stdout), &checked); err != nil {
		t.Fatal(err)
	}
	var f plan.Forecast
	if err := json.Unmarshal([]byte(d.want(0, "forecast", c, "--recipients", list, "-o", "json").stdout), &f); err != nil {
		t.Fatal(err)
	}
	if checked.Cost == nil || f.Cost == nil || checked.Cost.Totals[0].High != "0.201" || f.Cost.Totals[0].High != "0.201" {
		t.Errorf("got the costs %+v and %+v, want 0.201 USD in both", checked.Cost, f.Cost)
	}
}
