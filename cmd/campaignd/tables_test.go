package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vbauerster/mpb/v8/decor"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// 1 January 2000 is a Saturday: the clock of a bubble begins with it.
func TestScheduleIsATableOfTheNextFirings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{t: t, dir: t.TempDir(), env: map[string]string{}}
		d.env["CAMPAIGND_CAMPAIGNS"] = d.dir
		file := d.write("c.yaml", campaignFile+"schedule: {cron: \"0 9 * * MON\", timezone: Africa/Lagos}\n")
		table := func(days ...string) string {
			file, heads := file+"\n", "CAMPAIGN  NEXT                      CRON         ZONE          FILE\n"
			for _, day := range days {
				heads += "orders    Mon 2000-" + day + " 09:00 WAT  0 9 * * MON  Africa/Lagos  " + file
			}
			return heads
		}
		d.says(0, table("01-03", "01-10", "01-17"), "", "schedule")
		d.says(0, table("01-03"), "", "schedule", "--next", "1")
		d.says(0, "CAMPAIGN  NEXT  CRON  ZONE  FILE\n", "", "schedule", "--next", "0")
		for _, tt := range []struct {
			next  string
			lines int
		}{{"999", 1000}, {"1000", 1001}, {"1001", 1001}} {
			if got := strings.Count(d.want(0, "schedule", "--next", tt.next).stdout, "\n"); got != tt.lines {
				t.Errorf("--next %s: %d lines, want %d: a thousand firings at most", tt.next, got, tt.lines)
			}
		}
		d.says(0, `[
  {
    "campaign": "orders",
    "file": "`+file+`",
    "cron": "0 9 * * MON",
    "timezone": "Africa/Lagos",
    "at": "2000-01-03T08:00:00Z",
    "local": "Mon 2000-01-03 09:00 WAT"
  }
]
`, "", "schedule", "--next", "1", "-o", "json")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		d.says(0, "[]\n", "", "schedule", "-o", "json")
	})
}

func TestRunsIsATableOfTheRunsNewestFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "suppressions", "export") // makes the ledger
	d.says(0, "RUN  STATE  ROWS  LAUNCHED  ENDED  LIST\n", "", "runs")
	d.says(0, "[]\n", "", "runs", "-o", "json")
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	d.write("list.csv", listOf(12))
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	d.spoil("UPDATE run SET state = 'running', wanted = 'pause', ended_at = 0 WHERE no = 2")
	var facts []runFacts
	text := d.want(0, "runs", "-o", "json").stdout
	if err := json.Unmarshal([]byte(text), &facts); err != nil || len(facts) != 2 {
		t.Fatalf("runs -o json has %d runs (%v), want 2:\n%s", len(facts), err, text)
	}
	second, first := facts[0], facts[1]
	if second.CreatedAt.Before(first.EndedAt) || !second.EndedAt.IsZero() || first.EndedAt.Before(first.CreatedAt) || time.Since(first.CreatedAt) > time.Minute {
		t.Errorf("launched and ended: %v to %v, then %v to %v, want the second after the first, and open", first.CreatedAt, first.EndedAt, second.CreatedAt, second.EndedAt)
	}
	list := d.path("list.csv")
	want := "RUN       STATE                   ROWS  LAUNCHED             ENDED                LIST\n" +
		fmt.Sprintf("orders-2  running, wanted: pause  12    %s  -                    %s\n", clock(second.CreatedAt), list) +
		fmt.Sprintf("orders-1  finished                3     %s  %s  %s\n", clock(first.CreatedAt), clock(first.EndedAt), list)
	d.says(0, want, "", "runs")
}

func TestWhySaysWhatIsOpenAndWhenItIsSent(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	w := campaign.Why{
		Run: "spring-1", State: campaign.Running, Sentence: "it is\x1b being sent", Finish: at.Add(time.Hour),
		Totals:   campaign.WhyTotals{Rows: 9, Queued: 4, Sending: 3, InDoubt: 2},
		Segments: campaign.WhySegments{All: 8, Done: 5, Leased: 1, Parked: 6, Wake: at},
		Lanes:    []campaign.LaneState{{Connection: "conn_1", Sender: "host/9", LimitedBy: "throughput", Detail: "conn_1 sends", Rate: 68.44, At: at}},
	}
	const (
		sentence = "spring-1: it is\uFFFD being sent\n"
		open     = "4 of 9 rows queued, 3 being sent, 2 in doubt; 5 of 8 segments done, 1 with a sender, 6 waiting\n"
		lanes    = "\nCONNECTION  SENDER  PER SECOND  BOUND BY    DETAIL\nconn_1      host/9  68.4        throughput  conn_1 sends\n"
	)
	quiet := w
	quiet.Finish, quiet.Segments.Wake, quiet.Lanes = time.Time{}, time.Time{}, nil
	ended := w
	ended.State = campaign.Finished
	for _, tt := range []struct {
		name string
		w    campaign.Why
		want string
	}{
		{"all of it", w, sentence + open + "next time to look: " + clock(at) + "\nat this rate sent by: " + clock(at.Add(time.Hour)) + "\n" + lanes},
		{"without times and lanes", quiet, sentence + open},
		{"an ended run", ended, sentence},
	} {
		if got := printed(t, func(p *program) error { return p.writeWhy(tt.w) }); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestAPreviewIsShownAsItWouldBePosted(t *testing.T) {
	message := &messaging.Message{}
	posted, err := json.MarshalIndent(message, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	tail := "\nPOST /api/v1/messages\n" + string(posted) + "\n"
	for _, tt := range []struct {
		sample campaign.Sample
		want   string
	}{
		{campaign.Sample{Row: 3, Line: 4, To: "+1\x1b", Message: message, Text: "Hello\nNam", Footer: "Bye"}, "row 3 (line 4) to +1\uFFFD\n\nHello\nNam\nBye\n" + tail},
		{campaign.Sample{Row: 3, Line: 4, To: "+1", Message: message}, "row 3 (line 4) to +1\n" + tail},
		{campaign.Sample{Row: 3, Line: 4, To: "0803", Skip: campaign.InvalidPhone, Note: "no +\x1b", Message: message, Text: "x"}, "row 3 (line 4) to 0803\nnot sent (invalid_phone): no +\uFFFD\n"},
	} {
		if got := printed(t, func(p *program) error { return p.writeSample(&tt.sample) }); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}

func TestATestMessageIsNamedByItsIds(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("list.csv", listOf(2))
	got := d.want(0, "test", d.path("c.yaml"), "--to", "+2348039999999").stdout
	if want := `^accepted by the service for \+2348039999999: wamid\.\S+ \(accepted is not delivered: look at the phone\)\n$`; !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("test: got %q, want %s", got, want)
	}
	got = d.want(0, "test", d.path("c.yaml"), "--to", "+2348039999999", "-o", "json").stdout
	var facts testFacts
	if err := json.Unmarshal([]byte(got), &facts); err != nil {
		t.Fatalf("%v, want JSON: %s", err, got)
	}
	if facts.To != "+2348039999999" || !strings.HasPrefix(facts.MessageID, "wamid.") || strings.HasPrefix(facts.RequestID, "wamid.") || strings.HasPrefix(facts.Warning, "wamid.") {
		t.Errorf("test -o json: got %s, want the number, and the message's id under its own name", got)
	}
}

// The bar, its name and the margins take 60 columns; the words behind it get the others.
func TestTheWordsBehindABarAreCutToTheTerminal(t *testing.T) {
	p := &progress{}
	words := "2 sent, 1 réad"
	p.behind.Store(&words)
	for _, tt := range []struct {
		s    decor.Statistics
		want string
	}{
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 120}, "3/9 2 sent, 1 réad"},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 78}, "3/9 2 sent, 1 réad"},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 77}, "3/9 2 sent, 1 réa"},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 61}, "3"},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 60}, ""},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 20}, ""},
		{decor.Statistics{Current: 9, Total: 9, AvailableWidth: 20, Completed: true}, "9 rows"},
	} {
		if got := p.tail(tt.s); got != tt.want {
			t.Errorf("%d columns: got %q, want %q", tt.s.AvailableWidth, got, tt.want)
		}
	}
}
