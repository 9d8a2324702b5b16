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
		{Connection: "conn_1", Binding: "throughput", Detail: "conn_1 sends", Rate: 72, At: said},
		{Connection: "conn_2", Binding: "throughput", Detail: "conn_2 sends", Rate: 72, At: said, Stale: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	fresh, gone := strings.Fields(lines[len(lines)-2]), strings.Fields(lines[len(lines)-1])
	if strings.Join(fresh[:3], " ") != "conn_1 72.0 throughput" || strings.Join(gone[:3], " ") != "conn_2 - stale" || !strings.Contains(lines[len(lines)-1], "not heard of since "+clock(said)) {
		t.Errorf("got\n%s", out.String())
	}
}
