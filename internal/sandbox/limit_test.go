package sandbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox/draw"
)

// A number takes 80 messages in a sliding second, 1,000 with HIGH, 20 with coexistence
// (docs/limits.md#throughput). A refused message does not count.
func TestThroughputIsASlidingSecond(t *testing.T) {
	for name, c := range map[string]struct {
		conn  Connection
		limit int
	}{
		"standard":    {Connection{ID: "c", Phone: "+15555550100"}, 80},
		"high":        {Connection{ID: "c", Phone: "+15555550100", Throughput: "HIGH"}, 1000},
		"coexistence": {Connection{ID: "c", Phone: "+15555550100", Throughput: "HIGH", Coexistence: true}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Connections: []Connection{c.conn}, EnforceThroughput: true, Statuses: StatusProfile{Off: true}}
			bubble(t, o, func(t *testing.T, sc *scene) {
				n := 0
				send := func() string {
					n++
					res := sc.send(t, "c", fmt.Sprintf("+2348030%05d", n), "newsletter")
					if res.StatusCode == 200 {
						return ""
					}
					code, meta := errorOf(t, res)
					return fmt.Sprint(code, meta)
				}
				for i := range c.limit {
					if got := send(); got != "" {
						t.Fatalf("message %d: %s, want it accepted", i+1, got)
					}
				}
				if got := send(); got != "send_retryable130429" {
					t.Errorf("one more: %q, want send_retryable130429", got)
				}
				time.Sleep(time.Second - time.Nanosecond)
				if got := send(); got == "" {
					t.Error("one more within the second is accepted, want it refused")
				}
				time.Sleep(time.Nanosecond)
				if got := send(); got != "" {
					t.Errorf("after the second: %s, want it accepted", got)
				}
				truth := sc.s.Truth()
				if got := truth.Connections[0]; got.WorstSecond != c.limit+2 || got.Posts != int64(c.limit+3) || got.Accepted != int64(c.limit+1) {
					t.Errorf("worst second, posts, accepted = %d, %d, %d, want %d, %d, %d",
						got.WorstSecond, got.Posts, got.Accepted, c.limit+2, c.limit+3, c.limit+1)
				}
				if truth.Fired["throughput_exceeded"] != 2 {
					t.Errorf("throughput_exceeded fired %d times, want 2", truth.Fired["throughput_exceeded"])
				}
			})
		})
	}
}

// The pair rate refuses a recipient with 131056 within 6 s and does not concern others.
func TestPairRateHoldsOneRecipientOnly(t *testing.T) {
	o := Options{PairRate: 6 * time.Second, PairBurst: 3, Statuses: StatusProfile{Off: true}}
	bubble(t, o, func(t *testing.T, c *scene) {
		var got []int
		for range 4 {
			got = append(got, c.send(t, "conn_1", "+23480312345", "newsletter").StatusCode)
		}
		got = append(got, c.send(t, "conn_1", "+23480312346", "newsletter").StatusCode,
			c.send(t, "conn_2", "+23480312345", "newsletter").StatusCode)
		time.Sleep(6 * time.Second)
		got = append(got, c.send(t, "conn_1", "+23480312345", "newsletter").StatusCode,
			c.send(t, "conn_1", "+23480312345", "newsletter").StatusCode)
		if fmt.Sprint(got) != "[200 200 200 400 200 200 200 400]" {
			t.Errorf("answers = %v, want the fourth within 18 s refused, of this pair only", got)
		}
	})
}

// A message above the tier is accepted, then it fails. The numbers of a portfolio share the tier,
// which counts a moving 24 hours (docs/limits.md#tier).
func TestATierFailsTheUniqueRecipientsBeyondIt(t *testing.T) {
	o := Options{EnforceTier: true, Connections: []Connection{
		{ID: "a", Phone: "+15555550100", Tier: "TIER_250", Portfolio: "p"},
		{ID: "b", Phone: "+15555550101", Tier: "TIER_250", Portfolio: "p"},
	}}
	bubble(t, o, func(t *testing.T, c *scene) {
		send := func(conn string, i int) {
			if res := c.send(t, conn, fmt.Sprintf("+2348030%05d", i), "newsletter"); res.StatusCode != 200 {
				t.Fatalf("recipient %d of %s: %s, want 200", i, conn, res.Status)
			}
		}
		for i := range 200 {
			send("a", i)
		}
		for i := 150; i < 300; i++ { // 150 to 199 have had a message already
			send("b", i)
		}
		c.settle(t)
		failed := func() (n int) {
			for m := range c.s.Messages() {
				for _, st := range m.Statuses {
					if st.Code == 131048 {
						n++
					}
				}
			}
			return n
		}
		if got := failed(); got != 50 {
			t.Errorf("%d failed, want 50", got)
		}
		time.Sleep(24 * time.Hour)
		for i := 300; i < 350; i++ {
			send("a", i)
		}
		c.settle(t)
		if got := failed(); got != 50 {
			t.Errorf("%d failed a day later, want still 50", got)
		}
	})
}

// A message id is unique, contains the recipient, and finds its message.
func TestMessageIDsAreUniqueAndCarryTheRecipient(t *testing.T) {
	seen := map[string]bool{}
	for boot := range uint64(3) {
		for n := range uint64(5000) {
			id := wamid(draw.Mix(boot), 23480312345, 0x11, n)
			if seen[id] || !strings.HasPrefix(id, "wamid.HBgLMjM0ODAzMTIzNDUV") {
				t.Fatalf("ID %d of boot %d = %s, want one not seen that carries the recipient", n, boot, id)
			}
			seen[id] = true
			if back, ok := messageIndex(draw.Mix(boot), id); !ok || back != n {
				t.Fatalf("messageIndex(%s) = %d, %v, want %d, true", id, back, ok, n)
			}
		}
	}
	for _, id := range []string{"", "wamid.", "wamid.!!", "wamid.HBgL", "x" + wamid(1, 23480312345, 0x11, 1), wamid(2, 23480312345, 0x11, 1)} {
		if n, ok := messageIndex(1, id); ok {
			t.Errorf("%q reads as %d, want no message", id, n)
		}
	}
}

func FuzzMessageIndex(f *testing.F) {
	f.Add(wamid(1, 23480312345, 0x11, 1))
	f.Add("wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA")
	f.Fuzz(func(t *testing.T, id string) {
		if n, ok := messageIndex(1, id); ok && n >= 1<<40 {
			t.Errorf("messageIndex(%q) = %d, want less than 1<<40", id, n)
		}
	})
}
