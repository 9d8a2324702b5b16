package sender_test

import (
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

// A recipient whom a number reached is sent by it again, and waits for it while it is held, also
// where limits.move lets others move. The others take what is free.
func TestStickyRecipientsKeepTheirNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.options = func(o *sender.Options) {
			o.Pace = func(c string) float64 { return map[string]float64{"conn_1": 20, "conn_2": pace}[c] }
		}
		s.launch("one", 200, "conn_1")
		s.launch("two", 300, "conn_2")
		_, stop := s.start("a")
		time.Sleep(time.Minute)
		stop()
		var list []string
		was := map[string]string{}
		for _, q := range s.requests {
			list = append(list, q.to)
			was[q.to] = q.connection
		}
		for i := range 300 {
			list = append(list, phone(500_000+i))
		}
		if _, err := s.ledger.AddHolds(t.Context(), []campaign.Hold{{Scope: campaign.HoldAccount, ID: "account_1", Reason: "operator",
			Source: campaign.HoldByOperator, Since: time.Now(), Until: time.Now().Add(10 * time.Minute)}}); err != nil {
			t.Fatal(err)
		}
		first := len(s.requests)
		s.launchTo("again", list, "UTILITY", "{move: true}\nnumbers: sticky", "conn_1", "conn_2")
		began := time.Now()
		_, stop = s.start("b")
		time.Sleep(2 * time.Minute)
		if n, m := s.count(began, time.Now(), over("conn_1")), s.count(began, time.Now(), over("conn_2")); n != 0 || m != 600 {
			t.Errorf("while conn_1 is held it sent %d and conn_2 %d; want 0 and 600", n, m)
		}
		time.Sleep(10 * time.Minute)
		stop()
		by := map[string]int{}
		for _, q := range s.requests[first:] {
			if by[q.connection]++; was[q.to] != "" && was[q.to] != q.connection {
				t.Errorf("%s was reached by %s, and then by %s", q.to, was[q.to], q.connection)
			}
		}
		if by["conn_1"] != 200 || by["conn_2"] != 600 {
			t.Errorf("sent again %v; want 200 over conn_1 and 600 over conn_2", by)
		}
		s.end()
	})
}
