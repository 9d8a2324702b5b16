package sandbox

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A refused send does not count against the allowance.
func TestTheAllowanceEndsAndReturnsWithTheMonth(t *testing.T) {
	o := Options{Allowance: 3, Statuses: StatusProfile{Off: true, Recipients: []Recipient{{Phone: "+23480300000", Fate: FateUnreachable}}}}
	bubble(t, o, func(t *testing.T, c *scene) {
		send := func() int { return c.send(t, "conn_2", "+23480312345", "newsletter").StatusCode }
		for range 5 {
			if res := c.send(t, "conn_1", "+23480300000", "newsletter"); res.StatusCode != 400 {
				t.Fatalf("an unreachable recipient: %s, want 400", res.Status)
			}
		}
		for range 3 {
			if status := send(); status != 200 {
				t.Fatalf("within the allowance: %d, want 200", status)
			}
		}
		if status := send(); status != 402 {
			t.Fatalf("the fourth send: %d, want 402", status)
		}
		time.Sleep(31 * 24 * time.Hour) // the bubble begins on 1 January
		if status := send(); status != 200 {
			t.Fatalf("in the next month: %d, want 200", status)
		}
	})
}

// If many send at once, exactly as many are accepted as the allowance has left.
func TestTheAllowanceIsNeverExceededByMany(t *testing.T) {
	s := twoClients(t, func(o *Options) { o.Companies = []Company{{ID: "co_1", Allowance: 1000, Used: 900}} })
	var wg sync.WaitGroup
	var answers [2]atomic.Int64 // 200, 402
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				body := strings.Replace(order, "+23480312345", fmt.Sprintf("+23480312%02d%03d", g, i), 1)
				switch res := call(t, s, "POST", "/api/v1/messages", "partner", body); res.StatusCode {
				case 200:
					answers[0].Add(1)
				case 402:
					answers[1].Add(1)
				default:
					t.Errorf("answer %s, want 200 or 402", res.Status)
				}
			}
		})
	}
	wg.Wait()
	if ok, spent := answers[0].Load(), answers[1].Load(); ok != 100 || spent != 100 || len(s.Truth().Messages) != 100 {
		t.Errorf("%d accepted, %d refused with 402, %d in the truth; want 100 each", ok, spent, len(s.Truth().Messages))
	}
}
