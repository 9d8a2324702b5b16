package sender_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

// sentBy counts the accepted messages by connection, and fails when a person got two.
func (s *scene) sentBy() map[string]int {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	by, got := map[string]int{}, map[string]int{}
	for _, q := range s.requests {
		if q.accepted {
			by[q.connection]++
			if got[q.to]++; got[q.to] == 2 {
				s.t.Errorf("%s got two messages, want one", q.to)
			}
		}
	}
	return by
}

// sumOf adds up the values of a map.
func sumOf(m map[string]int) (sum int) {
	for n := range maps.Values(m) {
		sum += n
	}
	return sum
}

// Rows that a number cannot send because its tier is full move to a number with free places, also
// when the process that holds them dies.
func TestATierThatIsFullMovesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		places := map[string]int64{"conn_1": 250, "conn_2": 800}
		s.options = func(o *sender.Options) {
			o.Tier = func(c string) campaign.Tier { return campaign.Tier{Portfolio: c, Places: places[c]} }
		}
		s.launchAs("moved", 1000, "UTILITY", "{move: true}", "conn_1", "conn_2")
		kill := s.startMortal("a")
		time.Sleep(3 * time.Second)
		kill()
		_, stop := s.start("b")
		time.Sleep(10 * time.Minute)
		stop()
		by := s.sentBy()
		if sumOf(by) < 990 || by["conn_1"] > 250 || by["conn_2"] > 800 { // a death leaves a few in doubt
			t.Errorf("sent %v; want nearly all of 1000, and no tier exceeded", by)
		}
		s.end()
	})
}

// A number that is far slower than the others keeps no list waiting.
func TestASlowNumberLeavesTheRestToAFastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.options = func(o *sender.Options) {
			o.Pace = func(c string) float64 { return map[string]float64{"conn_1": 2, "conn_2": pace}[c] }
		}
		s.launchAs("first", 1000, "UTILITY", "{move: true}", "conn_1", "conn_2")
		s.launchAs("second", 1000, "UTILITY", "{move: true}", "conn_1", "conn_2")
		s.launchAs("third", 1000, "UTILITY", "{move: true}", "conn_1", "conn_2")
		_, stop := s.start("a")
		time.Sleep(2 * time.Minute) // the slow one alone needs eight minutes for a run
		if by := s.sentBy(); sumOf(by) != 3000 {
			t.Errorf("sent %v after two minutes; want 3000", by)
		}
		stop()
		s.end()
	})
}

// A run that does not allow moves leaves what a number has begun to that number.
func TestNothingMovesUnlessTheCampaignAllowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.options = func(o *sender.Options) {
			o.Tier = func(c string) campaign.Tier { return campaign.Tier{Portfolio: c, Places: 250} }
		}
		s.launchAs("stays", 400, "UTILITY", "{}", "conn_1", "conn_2")
		_, stop := s.start("a")
		time.Sleep(10 * time.Minute)
		if by := s.sentBy(); len(by) != 1 || sumOf(by) != 250 {
			t.Errorf("sent %v; want 250 over one connection", by)
		}
		stop()
		s.end()
	})
}
