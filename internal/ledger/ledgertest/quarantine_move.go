package ledgertest

import (
	"testing"
	"time"

	"campaignd/campaign"
)

// The segments of a run with limits.move may have been moved in the lost time, so a message over
// any connection can prove a doubt of the run.
func quarantineKnowsThatSegmentsMove(t *testing.T, l Tables) {
	now := time.Now()
	since := now.Add(-time.Minute)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		limits string
		hash   string
		want   int
	}{{"{rate: 5}", "stays", 0}, {"{move: true}", "moves", 1}} {
		r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: c.hash, Definition: []byte(
			"name: spring\nconnections: [conn_1, conn_2]\ntemplate: {name: sale, language: en_US}\nlimits: " + c.limits + "\n")})
		must(err)
		must(l.AppendRows(t.Context(), r.No, 0, Rows(0, 4), []campaign.Segment{{Run: r.No, Hi: 4}}))
		must(l.FinishImport(t.Context(), r.No, 4, campaign.Ready))
		s := ClaimAll(t, l, r.No)[0]
		_, err = l.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", To: 1}})
		must(err)
		must(l.Record(t.Context(), Acceptances(s, 0, 1)))
		_, err = l.Quarantine(t.Context(), 1, nil, since)
		must(err)
		posted := now.Add(-30 * time.Second)
		_, err = l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: MessageID(r.No, 1), Connection: "conn_2",
			Recipient: 2348030000001, Status: campaign.Delivered, At: posted, ReceivedAt: now}}})
		must(err)
		if swept, err := l.Sweep(t.Context(), now); err != nil || swept.Adopted != c.want {
			t.Errorf("limits %s: swept %+v, %v; want %d adopted", c.limits, swept, err, c.want)
		}
		Audited(t, l, r.No)
	}
}
