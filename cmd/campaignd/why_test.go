package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

func TestWhyShowsNoPaceOfASenderThatIsGone(t *testing.T) {
	said := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	p := &program{stdout: &out}
	err := p.writeWhy(campaign.Why{Run: "spring-1", State: campaign.Running, Sentence: "it is being sent", Lanes: []campaign.LaneState{
		{Connection: "conn_1", Sender: "host/9", LimitedBy: "throughput", Detail: "conn_1 sends", Rate: 72, At: said},
		{Connection: "conn_2", Sender: "host/7", LimitedBy: "throughput", Detail: "conn_2 sends", Rate: 72, At: said, Stale: true},
		{Connection: "conn_3", Sender: "host/8", LimitedBy: campaign.LaneStopped, Detail: "its sender has ended", At: said},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{"conn_1 host/9 72.0 throughput conn_1 sends", "conn_2 host/7 - stale not heard of since " + clock(said), "conn_3 host/8 - stopped its sender ended at " + clock(said)} {
		if got := strings.Join(strings.Fields(lines[len(lines)-3+i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q in\n%s", got, want, out.String())
		}
	}
}
