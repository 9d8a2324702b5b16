package sender

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// A run sends by the settings of its campaign file.
func TestARunIsWhatItsCampaignSays(t *testing.T) {
	s := campaign.Run{
		No: 4, Campaign: "sale", Template: "spring", Language: "de", CreatedAt: time.Unix(1e9, 0), Header: []string{"to"},
		Definition: []byte(sale + `
limits: {rate: 7.5, not_after: 2h}
policies: {on_uncertain: resend, doubt_window: 40m}
window: {hours: "09:00-18:00"}
schedule: {cron: "0 9 * * 1", timezone: Africa/Lagos}
`),
	}
	r, err := compile(s)
	if err != nil {
		t.Fatal(err)
	}
	want := &run{
		no: 4, id: "sale-4", render: r.render, window: r.window, connections: []string{"conn_1", "conn_2"}, template: "spring", language: "de",
		definition: r.definition, policy: campaign.UncertainResend,
		doubtWindow: 40 * time.Minute, notAfter: 2 * time.Hour, started: time.Unix(1e9, 0), zone: r.zone,
	}
	if r.zone.String() != "Africa/Lagos" {
		t.Errorf("the zone of its recipients without one is %v, want that of its schedule", r.zone)
	}
	if !reflect.DeepEqual(r, want) || r.render == nil || r.window == nil || r.definition == nil {
		t.Errorf("run %+v, want %+v with a renderer and a window", r, want)
	}
	for _, tt := range []struct{ definition, header, want string }{
		{"name: [", "to", "the stored campaign of sale-4: "},
		{strings.Replace(sale, "en_US}", "en_US, body: [\"{{name}}\"]}", 1), "to", "the stored campaign of sale-4: "},
		// a column that the list has not
		{strings.Replace(sale, "en_US}", "en_US, body: [\"{{ .name }}\"]}", 1), "to", `the stored campaign of sale-4: `},
		{sale + `window: {hours: "9 to 5"}`, "to", " of sale-4: "},
	} {
		s.Definition, s.Header = []byte(tt.definition), []string{tt.header}
		if got, err := compile(s); err == nil || !strings.Contains(err.Error(), tt.want) || errors.Unwrap(err) == nil || got != nil {
			t.Errorf("%q compiles to %v, %v, want an error of %q", tt.definition, got, err, tt.want)
		}
	}
}

// A clock that is 25 hours ahead does not end a run that may be sent for 24.
func TestNoWrongClockExpiresARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, c := range map[string]struct {
			now  time.Time
			ok   bool
			want bool
		}{
			"not known":            {time.Time{}, false, false},
			"before it, elsewhere": {time.Now().Add(-25 * time.Hour), true, false},
			"after it, elsewhere":  {time.Now(), true, true},
		} {
			r := &run{notAfter: 24 * time.Hour, started: time.Now().Add(-25 * time.Hour)}
			r.observe(func() (time.Time, bool) { return c.now, c.ok })
			if got := r.skipping.Load() != nil; got != c.want {
				t.Errorf("%s: expired %v, want %v", what, got, c.want)
			}
		}
	})
}

// A run ends for good when it is cancelled or its time is up; over its budget, what was granted
// goes out.
func TestARunIsOverWhenItIsCancelledOrItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tt := range []struct {
			notAfter, age time.Duration
			wanted        campaign.Wanted
			want          campaign.SkipReason // "": it goes on
		}{
			{0, 1000 * time.Hour, campaign.WantRun, ""},
			{time.Hour, time.Hour - 1, campaign.WantRun, ""},
			{time.Hour, time.Hour, campaign.WantRun, campaign.Expired},
			{1, 0, campaign.WantRun, ""},
		} {
			r := &run{notAfter: tt.notAfter, started: now.Add(-tt.age)}
			r.paused.Store(true)
			if !r.observe(nil) || r.observe(nil) {
				t.Errorf("%v of %v: want a change when it goes on, and none after that", tt.age, tt.notAfter)
			}
			var got campaign.SkipReason
			if reason := r.skipping.Load(); reason != nil {
				got = *reason
			}
			if got != tt.want || r.over() != (tt.want != "") || r.paused.Load() {
				t.Errorf("%v of %v, wanted %s: skipped for %q, over %v, paused %v, want %q, %v, false", tt.age, tt.notAfter, tt.wanted, got, r.over(),
					r.paused.Load(), tt.want, tt.want != "")
			}
		}
		r := &run{}
		if r.skipRest(campaign.RunCancelled); !r.over() {
			t.Errorf("a cancelled run is over: %v, want true", r.over())
		}
		r.skipRest(campaign.OverLimit)
		if r.over() {
			t.Error("a run that is over its budget is over, want what was granted to go out")
		}
	})
}

// A draft without a retry makes none due.
func TestOnlyRetriesAreDueAgain(t *testing.T) {
	s, now := newSegment(&run{}, campaign.Lease{}, nil), time.Now()
	if again([]draft{{seg: s, rows: make([]campaign.Delivery, 3)}}, now); s.nextDue.Load() != 0 {
		t.Errorf("a retry is due at %d, want none", s.nextDue.Load())
	}
}

// Each answer of the ledger to an intent has its effect on the segment, its run and the engine.
func TestEachAnswerToAnIntentIsObeyed(t *testing.T) {
	began := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name                      string
		granted                   campaign.Granted
		attempts                  string // seq/attempt/tries
		mark                      int64
		left                      int // read ahead
		lost, paused, over, again bool
		poked                     int
		skipped                   int64
	}{
		{"all", campaign.Granted{To: 8}, "1/3/2 5/1/0 6/1/0 7/1/0", 8, 1, false, false, false, false, 0, 0},
		{"a part", campaign.Granted{To: 6, OverBudget: true}, "1/3/2 5/1/0", 6, 3, false, false, true, false, 0, 0},
		{"only the retry", campaign.Granted{To: 5}, "1/3/2", 5, 4, false, false, false, false, 0, 0},
		{"two are skipped", campaign.Granted{To: 8, Skipped: map[int64]campaign.SkipReason{1: campaign.OptedOut, 6: campaign.OptedOut}},
			"5/1/0 7/1/0", 8, 1, false, false, false, false, 0, 2},
		{"another owner", campaign.Granted{Fenced: true}, "", 5, 4, true, false, false, false, 0, 0},
		{"held", campaign.Granted{Denied: true}, "", 5, 4, false, true, false, true, 1, 0},
		{"the budget is used up", campaign.Granted{Denied: true, OverBudget: true}, "", 5, 4, false, false, true, true, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := New(nil, nil, nil, Options{Owner: "a"})
			if err != nil {
				t.Fatal(err)
			}
			w, r := newWorker(e, "conn_1"), (&run{no: 1}).limited(5)
			s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Hi: 9}, Mark: 5}, nil)
			for seq := range int64(4) {
				s.buf = append(s.buf, campaign.Delivery{Run: 1, Seq: 5 + seq})
			}
			d := draft{seg: s, rows: s.buf[:3]}
			d.Retries = []campaign.Retry{{Delivery: campaign.Delivery{Run: 1, Seq: 1}, Attempt: 3, Tries: 2}}
			var got []string
			for _, sh := range w.planner.admit(d, tt.granted, began) {
				said := fmt.Sprintf("%d/%d/%d", sh.delivery.Seq, sh.nth, sh.tries)
				if got = append(got, said); sh.segment != s || !sh.intentAt.Equal(began) {
					t.Errorf("attempt %+v, want one of the segment, of an intent at %v", sh, began)
				}
			}
			if attempts := strings.Join(got, " "); attempts != tt.attempts || s.lease.Mark != tt.mark || len(s.buf) != tt.left ||
				s.pending.Load() != int64(len(got)) {
				t.Errorf("attempts %q, mark %d, %d read ahead, %d pending, want %q, %d, %d, %d", attempts, s.lease.Mark, len(s.buf), s.pending.Load(),
					tt.attempts, tt.mark, tt.left, len(got))
			}
			reason := r.skipping.Load()
			if s.lost.Load() != tt.lost || r.paused.Load() != tt.paused || (reason != nil) != tt.over ||
				reason != nil && *reason != campaign.OverLimit {
				t.Errorf("lost %v, paused %v, skipped %v, want %v, %v, %v", s.lost.Load(), r.paused.Load(), reason, tt.lost, tt.paused, tt.over)
			}
			if due := s.dueBy(began); due != tt.again || len(e.poke) != tt.poked || w.number.counts.skipped.Load() != tt.skipped {
				t.Errorf("due again %v, poked %d, %d skipped, want %v, %d, %d", due, len(e.poke), w.number.counts.skipped.Load(), tt.again, tt.poked,
					tt.skipped)
			}
			if held := s.lease.Connection == "conn_1"; held != (tt.attempts != "") {
				t.Errorf("its lease is of %q, want conn_1: %v", s.lease.Connection, tt.attempts != "")
			}
		})
	}
}
