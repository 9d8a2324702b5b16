package launch_test

import (
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// The name of a campaign identifies its runs, so a campaign with a new name sends the same message
// to the same people again. The launch says so, and so does a check, which has the same preflight.
func TestARenamedCampaignIsToldThatItsListWasSent(t *testing.T) {
	r := newRelaunch(t)
	first := start(t, r.of("list.csv", springList, "")).Run
	for _, c := range []struct {
		about, file, list string
		want              int // warnings
	}{
		{"another name", strings.Replace(springFile, "spring-sale", "spring-salee", 1), springList, 1},
		{"other bytes", strings.Replace(springFile, "spring-sale", "a", 1), springList + "+2348031234777,Femi,20 %,x\n", 0},
		{"another language", strings.NewReplacer("spring-sale", "b", "en_US", "en_GB").Replace(springFile), springList, 0},
		{"other rows", strings.NewReplacer("spring-sale", "c", "validate:", "where: {first_name: [Ada]}, validate:").Replace(springFile),
			springList, 0},
		{"other connections", strings.NewReplacer("spring-sale", "d", "conn_1, conn_2", "conn_3").Replace(springFile), springList, 0},
	} {
		in := springInput(t, c.file, c.list)
		found, err := launch.RunPreflight(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		before := len(found.Findings)
		if err := launch.Renamed(t.Context(), r.ledger, in, found); err != nil {
			t.Fatal(err)
		}
		if got := len(found.Findings) - before; got != c.want {
			t.Errorf("%s: got %d warnings of a run before, want %d: %v", c.about, got, c.want, found.Findings[before:])
		}
	}

	warned := func(name string) (told string) {
		r.file = overwrite(t, r.dir+"/renamed.yaml", strings.Replace(springFile, "spring-sale", name, 1))
		again := r.of("list.csv", springList, "")
		again.Checked = func(p *launch.Preflight) {
			for _, w := range p.Warnings() {
				if strings.Contains(w.What, "twice") {
					told = w.String()
				}
			}
		}
		second := start(t, again).Run
		if _, err := r.ledger.SetWanted(t.Context(), second.No, campaign.WantCancel, ""); err != nil {
			t.Fatal(err)
		}
		return told
	}
	const want = "renamed.yaml:1:1: name: spring-sale-1 of a moment ago has this list and this template under another name: " +
		"its people get the message twice; if that is not meant, name the campaign spring-sale again"
	if got := warned("spring-salee"); !strings.HasSuffix(got, want) {
		t.Errorf("the launch: got %q, want it to end with %q", got, want)
	}
	if _, err := r.ledger.SetWanted(t.Context(), first.No, campaign.WantCancel, ""); err != nil {
		t.Fatal(err)
	}
	if got := warned("spring-sales"); got != "" {
		t.Errorf("after both runs were cancelled before they began: got %q, want no warning", got)
	}
}
