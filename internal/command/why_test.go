package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
)

func TestWhyShowsNoRateOfASenderThatIsGone(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	p := &Program{Stdout: &out}
	err := p.writeWhy(why.Answer{Run: "spring-1", State: campaign.Running, Sentence: "it is being sent", Lanes: []why.LaneState{
		{Connection: "conn_1", Sender: "host/9", LimitedBy: campaign.ByThroughput, Detail: "conn_1 sends", Rate: 72, At: at},
		{Connection: "conn_2", Sender: "host/7", LimitedBy: campaign.ByThroughput, Detail: "conn_2 sends", Rate: 72, At: at, Stale: true},
		{Connection: "conn_3", Sender: "host/8", LimitedBy: campaign.ByStopped, Detail: "its sender has ended", At: at},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		"conn_1 host/9 72.0 throughput conn_1 sends", "conn_2 host/7 - stale not heard of since " + Clock(at),
		"conn_3 host/8 - stopped its sender ended at " + Clock(at),
	} {
		if got := strings.Join(strings.Fields(lines[len(lines)-3+i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q in\n%s", got, want, out.String())
		}
	}
}

func TestWhyShowsTheOpenRowsAndWhenTheyAreSent(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	w := why.Answer{
		Run: "spring-1", State: campaign.Running, Sentence: "it is\x1b being sent", Finish: at.Add(time.Hour),
		Totals:   why.Totals{Rows: 9, Queued: 4, Sending: 3, InDoubt: 2},
		Segments: why.Segments{All: 14, Done: 5, Leased: 1, Parked: 6, Wake: at},
		Lanes: []why.LaneState{
			{Connection: "conn_1", Sender: "host/9", LimitedBy: campaign.ByThroughput, Detail: "conn_1 sends", Rate: 68.44, At: at},
		},
	}
	const (
		sentence = "spring-1: it is\uFFFD being sent\n"
		open     = "4 of 9 rows queued, 3 being sent, 2 in doubt; 5 of 14 segments done, 1 with a sender, 2 free, 6 waiting\n"
		lanes    = "\nCONNECTION  SENDER  PER SECOND  LIMITED BY  DETAIL\nconn_1      host/9  68.4        throughput  conn_1 sends\n"
	)
	quiet := w
	quiet.Finish, quiet.Segments.Wake, quiet.Lanes = time.Time{}, time.Time{}, nil
	ended := w
	ended.State = campaign.Finished
	for _, tt := range []struct {
		name string
		w    why.Answer
		want string
	}{
		{"with times and lanes", w,
			sentence + open + "next time to look: " + Clock(at) + "\nat this rate sent by: " + Clock(at.Add(time.Hour)) + "\n" + lanes},
		{"without times and lanes", quiet, sentence + open},
		{"an ended run", ended, sentence},
	} {
		if got := said(t, func(p *Program) error { return p.writeWhy(tt.w) }); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// said returns what write prints to standard output.
func said(t *testing.T, write func(*Program) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&Program{Stdout: &out}); err != nil {
		t.Error(err)
	}
	return out.String()
}
