package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/daemon"
)

// A phase may end before its bar is full: the run is paused, or the operator ends it.
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
				p := newProgress(&out, true)
				for _, now := range phases {
					p.show(now)
					fmt.Fprintf(p, "warning: in %s\n", now.Phase)
					time.Sleep(time.Second) // the bars' renderer
				}
				closed, cancel := context.WithTimeout(t.Context(), time.Minute)
				go func() { defer cancel(); p.close() }()
				<-closed.Done()
				if closed.Err() == context.DeadlineExceeded {
					t.Fatal("the bars wait for ever")
				}
				fmt.Fprintln(p, "afterwards")
				for _, now := range phases {
					if !strings.Contains(out.String(), "warning: in "+now.Phase+"\n") || !strings.Contains(out.String(), fmt.Sprintf("%d rows", now.Done)) {
						t.Errorf("%q lacks the warning or the last state of %s", out.String(), now.Phase)
					}
				}
				if !strings.HasSuffix(out.String(), "afterwards\n") {
					t.Errorf("%q lacks what was written after the end", out.String())
				}
			})
		})
	}
}

func TestPlainLinesDoNotCountSecondsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, false)
		p.show(daemon.Progress{Phase: "sending", Rows: 10, Done: 1})
		for left := range 10 {
			p.show(daemon.Progress{Phase: "sending", Rows: 10, Done: 1, Detail: fmt.Sprintf("%d s left", 10-left)})
			time.Sleep(time.Second)
		}
		p.show(daemon.Progress{Phase: "sending", Rows: 10, Done: 2})
		p.close()
		want := "sending 1 of 10 rows\nsending 1 of 10 rows; 10 s left\nsending 1 of 10 rows; 5 s left\nsending 2 of 10 rows\n"
		if out.String() != want {
			t.Errorf("said\n%swant\n%s", &out, want)
		}
	})
}
