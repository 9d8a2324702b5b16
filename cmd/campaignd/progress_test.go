package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vbauerster/mpb/v8/decor"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/daemon"
)

// A phase may end before its bar is full, because the run is paused or interrupted.
func TestBarsEndWhereverTheRunEnds(t *testing.T) {
	for name, phases := range map[string][]daemon.Progress{
		"nothing was shown":        nil,
		"interrupted":              {{Phase: "importing", Rows: 10, Done: 10}, {Phase: "sending", Rows: 10, Done: 4}},
		"a phase is left early":    {{Phase: "sending", Rows: 10, Done: 4}, {Phase: "settling", Rows: 10, Done: 10}},
		"the length is not known":  {{Phase: "checking", Done: 1000}, {Phase: "importing", Rows: 10, Done: 10}},
		"more came than was known": {{Phase: "sending", Rows: 10, Done: 12}},
		"no rows":                  {{Phase: "sending"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := newProgress(&out, 120)
				for _, now := range phases {
					p.show(now)
					fmt.Fprintf(p, "warning: in %s\n", now.Phase)
					time.Sleep(time.Second) // for the renderer of the bars
				}
				closed, cancel := context.WithTimeout(t.Context(), time.Minute)
				go func() { defer cancel(); p.close() }()
				<-closed.Done()
				if closed.Err() == context.DeadlineExceeded {
					t.Fatal("close still waits after a minute, want it to return")
				}
				fmt.Fprintln(p, "afterwards")
				for _, now := range phases {
					wantIn(t, now.Phase, out.String(), "warning: in "+now.Phase+"\n", fmt.Sprintf("%d rows", now.Done))
				}
				if !strings.HasSuffix(out.String(), "afterwards\n") {
					t.Errorf("got %q, want \"afterwards\" at its end", out.String())
				}
			})
		})
	}
}

func TestPlainLinesDoNotCountSecondsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, 0)
		p.show(daemon.Progress{Phase: "sending", Rows: 10, Done: 1})
		for left := range 10 {
			p.show(daemon.Progress{Phase: "sending", Rows: 10, Done: 1, Detail: fmt.Sprintf("%d s left", 10-left)})
			time.Sleep(time.Second)
		}
		p.show(daemon.Progress{Phase: "sending", Rows: 10, Done: 2})
		p.close()
		want := "sending 1 of 10 rows\nsending 1 of 10 rows; 10 s left\nsending 1 of 10 rows; 5 s left\nsending 2 of 10 rows; 1m20s left\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", &out, want)
		}
	})
}

// The bar has a third of the terminal, at most 40 columns; its name and the margins have 20. The
// text after the bar gets the others.
func TestTheTextAfterABarIsCutToTheTerminal(t *testing.T) {
	suffix := "2 sent, 1 réad"
	for _, tt := range []struct {
		s    decor.Statistics
		want string
	}{
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 120}, "3/9 2 sent, 1 réad"},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 57}, "3/9 2 sent, 1 réad"},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 56}, "3/9 2 sent, 1 réad"},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 50}, "3/9 2 sent, 1 "},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 30}, ""},
		{decor.Statistics{Current: 9, Total: 9, AvailableWidth: 20, Completed: true}, "9 rows"},
		{decor.Statistics{Current: 3, Total: 9, AvailableWidth: 20, Aborted: true}, "3 rows of 9"},
	} {
		p := newProgress(io.Discard, tt.s.AvailableWidth)
		p.suffix.Store(&suffix)
		if got := p.tail(tt.s); got != tt.want {
			t.Errorf("%d columns: got %q, want %q", tt.s.AvailableWidth, got, tt.want)
		}
		p.close()
	}
}

func TestProgressSaysHowLongSendingTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgress(io.Discard, 0)
		for _, tt := range []struct {
			after time.Duration
			done  int64
			want  string
		}{
			{0, 100, ""}, // rows that an earlier process sent say nothing of the pace
			{4 * time.Second, 140, ""},
			{6 * time.Second, 200, "1m20s left"},
			{4 * time.Second, 200, "1m52s left"},
			{time.Second, 200, ""}, // nothing moves
			{85 * time.Second, 999, "1s left"},
			{time.Second, 1000, ""},
		} {
			time.Sleep(tt.after)
			p.show(daemon.Progress{Phase: "sending", Rows: 1000, Done: tt.done})
			if got := p.left(); got != tt.want {
				t.Errorf("%d rows: got %q, want %q", tt.done, got, tt.want)
			}
		}
	})
}

// A line is printed at once for a new phase, and when a detail appears or ends. Otherwise a line is
// printed every lineInterval.
func TestPlainLinesTellPhaseRowsAndDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, 0)
		totals := map[campaign.Status]int64{campaign.Read: 2, campaign.Queued: 7}
		for _, now := range []daemon.Progress{
			{Phase: "checking"},
			{Phase: "checking", Done: 1000}, // too soon
			{Phase: "importing", Done: 1000},
			{Phase: "uploading", Rows: 10},
			{Phase: "sending", Rows: 10, Done: 3, Totals: totals},
			{Phase: "sending", Rows: 10, Done: 4, Totals: totals}, // too soon
			{Phase: "sending", Rows: 10, Done: 4, Totals: totals, Detail: "a window\x1b"},
			{Phase: "sending", Rows: 10, Done: 5},
			{Phase: "paused", Rows: 10, Done: 5},
		} {
			p.show(now)
		}
		time.Sleep(lineInterval - 1)
		p.show(daemon.Progress{Phase: "paused", Rows: 10, Done: 6})
		time.Sleep(time.Nanosecond)
		p.show(daemon.Progress{Phase: "paused", Rows: 10, Done: 7})
		p.warn(&launch.Preflight{Findings: []file.Finding{
			{Level: file.LevelWarning, What: "odd\x1b"}, {Level: file.LevelError, What: "bad"},
		}})
		want := "checking\nimporting, 1000 rows so far\nuploading the file of the header\nsending 3 of 10 rows; 7 queued, 2 read\n" +
			"sending 4 of 10 rows; 7 queued, 2 read; a window\uFFFD\nsending 5 of 10 rows\npaused 5 of 10 rows\npaused 7 of 10 rows\n" +
			"warning: odd\uFFFD\n"
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", &out, want)
		}
	})
}

// A run may wait for a hold for days: its log has the reason once every ten minutes.
func TestAnEqualLineIsRepeatedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, 0)
		for range 21 * 60 {
			p.show(daemon.Progress{Phase: "held", Rows: 10, Done: 3, Detail: "a hold"})
			time.Sleep(time.Second)
		}
		p.show(daemon.Progress{Phase: "held", Rows: 10, Done: 4, Detail: "a hold"})
		if want := strings.Repeat("held 3 of 10 rows; a hold\n", 3) + "held 4 of 10 rows; a hold\n"; out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", &out, want)
		}
	})
}
