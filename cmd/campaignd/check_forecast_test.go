package main

import (
	"strings"
	"testing"

	"campaignd/internal/sandbox"
)

// A tier of 2,000 people a day makes two days of 5,000 rows, whatever the number's pace is.
func TestCheckSaysHowLongATierMakesIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) {
		for i := range o.Connections {
			o.Connections[i].Tier = "TIER_2K"
		}
	})
	d.write("list.csv", listOf(5000))
	got := d.want(0, "check", d.path("c.yaml")).stdout
	wantIn(t, "check", got, "sending takes about 48h", ", limited by tier; `campaignd forecast` shows its hours\n")
	wantIn(t, "check --offline", d.want(0, "check", d.path("c.yaml"), "--offline").stdout, "5000 rows, 5000 can be sent")
	d.write("bad.yaml", strings.Replace(campaignFile, "to: phone", "to: nobody", 1))
	wantIn(t, "check of a wrong column", d.run("check", d.path("bad.yaml")).stdout, "its rows were not judged\n")
}
