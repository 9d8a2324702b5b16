package sender_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/recipients"
)

// A refusal stops what it is about. Other numbers and runs go on at their full rate, and an
// operator's lift makes it go on within 10 s.
func TestARefusalHoldsExactlyWhatItIsAbout(t *testing.T) {
	for _, tt := range []struct {
		name   string
		failed func(*request) bool
		answer func() *http.Response
		hold   string
		scope  campaign.HoldScope
		id     string
		free   []func(*request) bool // what goes on
		each   []float64             // at this rate
	}{
		{"a suspended client under a partner's key", over("conn_1"),
			func() *http.Response {
				return respond(403, `{"error":"account_deactivated","message":"The client is suspended."}`)
			},
			"company company_1 account_deactivated", campaign.HoldCompany, "company_1", []func(*request) bool{over("conn_2")}, []float64{pace}},
		{"a locked account", over("conn_1"), func() *http.Response { return refuse(131031) },
			"account account_1 131031", campaign.HoldAccount, "account_1", []func(*request) bool{over("conn_2")}, []float64{pace}},
		{"a restricted number", over("conn_1"), func() *http.Response { return refuse(131048) },
			"connection conn_1 131048", campaign.HoldConnection, "conn_1", []func(*request) bool{over("conn_2")}, []float64{pace}},
		{"a template of one account", func(q *request) bool { return q.connection == "conn_1" && q.template == "spring" },
			func() *http.Response { return refuse(132015) },
			"template account_1/spring/en_US 132015", campaign.HoldTemplate, "account_1/spring/en_US",
			[]func(*request) bool{over("conn_1"), over("conn_2")}, []float64{pace, pace}},
	} {
		if (testing.Short() || !long) && tt.scope != campaign.HoldCompany {
			continue // as in TestAFailingServiceCostsNoRecipient
		}
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.launch("spring", 6000, "conn_1", "conn_2")
				s.launch("autumn", 6000, "conn_1", "conn_2")
				failed := time.Now().Add(5 * time.Second)
				healthy := failed.Add(30 * time.Second)
				s.answer = func(q *request) *http.Response {
					if now := time.Now(); tt.failed(q) && now.After(failed) && now.Before(healthy) {
						return tt.answer()
					}
					return nil
				}
				engine, stop := s.start("a")
				time.Sleep(time.Until(failed.Add(20 * time.Second)))
				if n := s.count(failed.Add(200*time.Millisecond), time.Now(), tt.failed); n > 0 {
					t.Errorf("%d posts of what is held, want 0", n)
				}
				for i, match := range tt.free {
					s.steady(tt.name, failed.Add(time.Second), time.Now(), tt.each[i], match)
				}
				if got := s.holds(); !slices.Equal(got, []string{tt.hold}) {
					t.Errorf("holds %q, want %q", got, tt.hold)
				}
				said := ""
				for _, number := range engine.Stats() {
					for _, l := range number.Lanes {
						if l.Connection == "conn_1" && l.Run == s.runs["spring"].No {
							said = string(l.LimitedBy)
						}
					}
				}
				if said != "hold" {
					t.Errorf("the lane is limited by %q, want hold", said)
				}
				time.Sleep(time.Until(healthy))
				s.lift(tt.scope, tt.id)
				time.Sleep(10 * time.Second)
				if n := s.count(healthy, time.Now(), tt.failed); n == 0 {
					t.Error("0 posts within 10 s of the lift, want it to go on")
				}
				time.Sleep(3 * time.Minute)
				stop()
				for _, template := range []string{"spring", "autumn"} {
					if got := s.tallies(template); got["accepted"] != 6000 {
						t.Errorf("%s ended with %v, want 6000 accepted", template, sortedKeys(got))
					}
				}
				s.end()
			})
		})
	}
}

// Attempts that were granted before a hold go back. When it ends they are asked for again, and who
// opted out meanwhile is not sent to.
func TestWhatWasGrantedGoesBackAndIsCheckedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.group = 5 * time.Second // 340 attempts a group
		s.launch("spring", 1000, "conn_1")
		failed := time.Now().Add(3 * time.Second)
		healthy := failed.Add(10 * time.Second)
		s.answer = func(q *request) *http.Response {
			if now := time.Now(); now.After(failed) && now.Before(healthy) {
				return refuse(131048)
			}
			return nil
		}
		_, stop := s.start("a")
		time.Sleep(time.Until(failed.Add(5 * time.Second)))
		var gone []campaign.Suppression
		for i := range 1000 { // nobody more may be sent to
			to := phone(i)
			gone = append(gone, campaign.Suppression{Key: recipients.Key(to), To: to, Scope: campaign.ScopeAll, Source: "operator", At: time.Now()})
		}
		if _, err := s.ledger.Suppress(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(healthy))
		s.lift(campaign.HoldConnection, "conn_1")
		time.Sleep(time.Minute)
		stop()
		if n := s.count(healthy, time.Now(), nil); n > 0 {
			t.Errorf("%d posts to people who had opted out during the hold, want 0", n)
		}
		if got := s.tallies("spring"); got["accepted"]+got["skipped suppressed"] != 1000 || got["skipped suppressed"] < 500 {
			t.Errorf("%v, want those sent before the hold accepted, the others suppressed", sortedKeys(got))
		}
		s.end()
	})
}
