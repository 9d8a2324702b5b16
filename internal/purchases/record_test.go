package purchases_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/reception"
	"campaignd/internal/purchases"
	"campaignd/recipients"

	"github.com/google/go-cmp/cmp"
)

// notebook is a ledger that keeps what it was asked and told, with its arguments.
type notebook struct {
	mu    sync.Mutex
	runs  []campaign.Run // the newest first; those that ended before EndedAfter are left out
	until time.Time
	hints []campaign.OrderHint

	filters []campaign.RunFilter
	stored  map[string]conversion.Order
	again   []string // AskAgain
	unread  []string
	ended   []string // hints
	removed []string
	matched []string
	fault   error // of MatchPurchases
}

func (n *notebook) Runs(_ context.Context, f campaign.RunFilter) (all []campaign.Run, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.filters = append(n.filters, f)
	for _, r := range n.runs {
		if r.EndedAt.IsZero() || r.EndedAt.After(f.EndedAfter) {
			all = append(all, r)
		}
	}
	return all, nil
}

func (n *notebook) SegmentStates(_ context.Context, no campaign.RunNo) ([]campaign.SegmentState, error) {
	return []campaign.SegmentState{{Segment: campaign.Segment{Run: no}}}, nil
}

func (n *notebook) MatchPurchases(_ context.Context, s campaign.SegmentState, span reception.Span, rule conversion.Rule) (int, error) {
	now := time.Now()
	if n.fault != nil {
		return 0, n.fault
	}
	n.matched = append(n.matched, fmt.Sprintf("%d from %v to %v within %v", s.Run, now.Sub(span.Since), span.Until.Sub(now), rule.Within))
	return 0, nil
}

func (n *notebook) AddHints(context.Context, []campaign.OrderHint) error { return nil }
func (n *notebook) Hints(_ context.Context, most int) ([]campaign.OrderHint, error) {
	return append([]campaign.OrderHint{}, n.hints[:min(most, len(n.hints))]...), nil
}

func (n *notebook) HintBacklog(context.Context) (int64, time.Time, error) {
	return int64(len(n.hints)), time.Time{}, nil
}

func (n *notebook) end(h campaign.OrderHint) {
	for i := range n.hints {
		if n.hints[i].Order == h.Order {
			n.hints = append(n.hints[:i:i], n.hints[i+1:]...)
			return
		}
	}
}

func (n *notebook) EndHint(_ context.Context, h campaign.OrderHint) error {
	n.ended = append(n.ended, h.Order)
	n.end(h)
	return nil
}

func (n *notebook) StorePurchases(_ context.Context, orders []conversion.Order) error {
	if n.stored == nil {
		n.stored = map[string]conversion.Order{}
	}
	for _, o := range orders {
		n.stored[o.ID] = o
	}
	return nil
}

func (n *notebook) StoreUnread(_ context.Context, ids []string, _ time.Time) error {
	n.unread = append(n.unread, ids...)
	return nil
}

func (n *notebook) AskAgain(_ context.Context, created, before, now time.Time, most int) error {
	n.again = append(n.again, fmt.Sprintf("created since %v ago, asked for before %v ago, at most %d", now.Sub(created), now.Sub(before),
		most))
	return nil
}

func (n *notebook) RemovePurchase(_ context.Context, h campaign.OrderHint) (bool, error) {
	n.removed = append(n.removed, h.Order)
	n.end(h)
	return true, nil
}

func (n *notebook) PolledUntil(context.Context) (time.Time, error) { return n.until, nil }
func (n *notebook) SetPolledUntil(_ context.Context, at time.Time) error {
	n.until = at
	return nil
}

// counting is a run whose orders are counted for 48 hours after a message.
func counting(no campaign.RunNo, region string, started, ended time.Time) campaign.Run {
	return campaign.Run{No: no, Campaign: "c", StartedAt: started, EndedAt: ended, Definition: []byte("name: c\nconnections: [conn_1]\n" +
		"template: {name: sale, language: en}\nrecipients: {file: l.csv, default_region: " + region + ", columns: {to: phone}}\n" +
		"conversions: {within: 48h}\n")}
}

// shopOf answers with orders by id, and with all of them as the list.
func shopOf(orders map[string]string, list []string, requests *[]string) platform {
	return func(path string) (int, string) {
		*requests = append(*requests, strings.TrimPrefix(path, "/2023-11"))
		id := path[strings.LastIndex(path, "/")+1:]
		switch {
		case strings.Contains(path, "/companies/"):
			return 200, `{"id":"a","address":{"country":"ZA"}}`
		case strings.HasSuffix(path, "/admin/customers"):
			return 200, `{"data":[{"id":"c-known","phone":"677000009"}]}`
		case strings.HasSuffix(path, "/admin/orders"):
			var all []string
			for _, id := range list {
				all = append(all, orders[id])
			}
			return 200, `{"data":[` + strings.Join(all, ",") + `]}`
		}
		if text, known := orders[id]; known {
			return 200, `{"data":` + text + `}`
		}
		return 404, `{}`
	}
}

// The rows of this table have what an order may have, one after the other.
func TestAnOrderIsStoredAsThePlatformShowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
		created := now.Add(-3 * time.Hour).Truncate(time.Second)
		base := conversion.Order{Amount: "12.5", Currency: "XAF", CreatedAt: created, UpdatedAt: created.Add(time.Hour), WasPaid: true}
		orders, want, ids := map[string]string{}, map[string]conversion.Order{}, []string{}
		add := func(id, members string, change func(*conversion.Order)) {
			ids = append(ids, id)
			orders[id] = fmt.Sprintf(`{"id":%q,"amount":12.5,"currency":"XAF","created_at":%q%s}`, id, at(-3*time.Hour),
				`,"updated_at":"`+at(-2*time.Hour)+`"`+members)
			o := base
			o.ID = id
			if change(&o); strings.Contains(members, `"updated_at"`) {
				o.UpdatedAt = o.CreatedAt
			}
			want[id] = o
		}
		add("paid", `,"amount_due":0`, func(*conversion.Order) {})
		add("due", `,"amount_due":0.01`, func(o *conversion.Order) { o.Due, o.WasPaid = true, false })
		add("refunded", `,"status":"refunded"`, func(o *conversion.Order) { o.Ended = true })
		add("deleted", `,"deleted_at":"`+at(0)+`"`, func(o *conversion.Order) { o.Ended = true })
		add("unchanged", `,"updated_at":null`, func(*conversion.Order) {})
		add("billing", `,"billing":{"address":{"phone":"677000001"}},"customer":{"id":"c","phone":"677000002"}`,
			func(o *conversion.Order) { o.Key = recipients.Key("+237677000001") })
		add("customer", `,"billing":{"address":{"phone":"none"}},"customer":{"id":"c","phone":"677000002"}`,
			func(o *conversion.Order) { o.Key = recipients.Key("+237677000002") })
		orders["unchanged"] = strings.Replace(orders["unchanged"], `"updated_at":"`+at(-2*time.Hour)+`",`, "", 1)
		// An event names these; the platform shows an order without its customer.
		add("asked", `,"customer_id":"c-known"`, func(o *conversion.Order) { o.Key = recipients.Key("+237677000009") })
		add("nobody", `,"customer_id":"c-gone"`, func(*conversion.Order) {})
		list := ids[:len(ids)-2]
		l := &notebook{runs: []campaign.Run{counting(2, "CM", now.Add(-time.Hour), time.Time{}), counting(1, "ZA", now.Add(-9*time.Hour),
			time.Time{})}}
		for _, id := range []string{"asked", "nobody", "gone"} {
			l.hints = append(l.hints, campaign.OrderHint{Order: id})
		}
		var requests []string
		if _, err := keeperOf(l, shopOf(orders, list, &requests), &bytes.Buffer{}).Take(t.Context()); err != nil {
			t.Fatalf("got %v, want no error", err)
		}
		if diff := cmp.Diff(want, l.stored); diff != "" {
			t.Errorf("stored -want +got:\n%s", diff)
		}
		if strings.Contains(strings.Join(requests, " "), "/companies/") {
			t.Errorf("got the requests %q, want none for the company: the newest campaign has a region", requests)
		}
		if fmt.Sprint(l.removed) != "[gone]" {
			t.Errorf("removed %q, want the order that the platform does not have", l.removed)
		}
		if want := "[created since 9h0m1s ago, asked for before 24h0m0s ago, at most 64]"; fmt.Sprint(l.again) != want {
			t.Errorf("asked again for %v, want %v", l.again, want)
		}
	})
}

// The country of the company counts only if no campaign has a region.
func TestTheRegionOfTheNewestCampaignCounts(t *testing.T) {
	for _, c := range []struct {
		regions []string // the newest first
		want    string
		asks    bool
	}{
		{[]string{"KE", "ZA"}, "+254677000001", false}, {[]string{"ZA", "KE"}, "+27677000001", false},
		{[]string{`""`, "KE"}, "+254677000001", false}, {[]string{`""`}, "+27677000001", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &notebook{}
			for i, region := range c.regions {
				l.runs = append(l.runs, counting(campaign.RunNo(9-i), region, time.Now().Add(-time.Hour), time.Time{}))
			}
			order := `{"id":"o","created_at":"` + time.Now().Format(time.RFC3339) + `","billing":{"address":{"phone":"0677000001"}}}`
			var requests []string
			if _, err := keeperOf(l, shopOf(map[string]string{"o": order}, []string{"o"}, &requests),
				&bytes.Buffer{}).Take(t.Context()); err != nil {
				t.Fatalf("got %v, want no error", err)
			}
			asks := strings.Contains(strings.Join(requests, " "), "/companies/")
			if got := l.stored["o"].Key; got != recipients.Key(c.want) || asks != c.asks {
				t.Errorf("%q: got the key %d, asked for the company: %v; want %d, %v", c.regions, got, asks, recipients.Key(c.want), c.asks)
			}
		})
	}
}

// A campaign with a region is launched after the country of the company was learnt.
func TestARegionReplacesTheCountryOfTheCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &notebook{runs: []campaign.Run{counting(1, `""`, time.Now().Add(-time.Hour), time.Time{})}}
		order := `{"id":"o","created_at":"` + time.Now().Format(time.RFC3339) + `","billing":{"address":{"phone":"0677000001"}}}`
		var requests []string
		k := keeperOf(l, shopOf(map[string]string{"o": order}, []string{"o"}, &requests), &bytes.Buffer{})
		for _, want := range []string{"+27677000001", "+254677000001"} {
			if _, err := k.Take(t.Context()); err != nil || l.stored["o"].Key != recipients.Key(want) {
				t.Errorf("got the key %d and %v, want %d", l.stored["o"].Key, err, recipients.Key(want))
			}
			l.runs = append([]campaign.Run{counting(2, "KE", time.Now(), time.Time{})}, l.runs...)
			time.Sleep(time.Minute)
		}
	})
}

// A poll begins where the last one ended: an order of the future does not move that.
func TestAPollIsReadUpToNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		list := listOf([]string{"later", "new", "old"}, now.Add(time.Hour), now.Add(-time.Minute), now.Add(-30*time.Minute))
		l := &notebook{until: now.Add(-20 * time.Minute), runs: []campaign.Run{counting(1, "CM", now.Add(-time.Hour), time.Time{})}}
		answer := func(path string) (int, string) { return 200, list }
		if _, err := keeperOf(l, answer, &bytes.Buffer{}).Take(t.Context()); err != nil || len(l.stored) != 3 {
			t.Errorf("got %d orders and %v, want 3", len(l.stored), err)
		}
		if want := now.Add(-time.Minute).Truncate(time.Second); !l.until.Equal(want) {
			t.Errorf("polled until %v, want %v", l.until, want)
		}
	})
}

// Orders count for the rule's time after the last message, which may prove accepted three days
// after the end of its run.
func TestARunIsCountedForDaysAfterItsEnd(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		ended time.Duration // before now; 0: not
		want  string
	}{
		{0, "[1 from 240h0m1s to 5m0s within 48h0m0s]"},
		{time.Hour, "[1 from 240h0m1s to 5m0s within 48h0m0s]"},
		{5*day - time.Minute, "[1 from 240h0m1s to 1m0s within 48h0m0s]"},
		{5 * day, "[]"},
		{9 * day, "[]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			r := counting(1, "CM", now.Add(-10*day), time.Time{})
			if c.ended > 0 {
				r.EndedAt = now.Add(-c.ended)
			}
			unstarted := counting(2, "CM", time.Time{}, time.Time{})
			plain := r
			plain.Definition = bytes.Split(r.Definition, []byte("conversions"))[0]
			l := &notebook{runs: []campaign.Run{unstarted, plain, r}}
			if _, err := keeperOf(l, nil, &bytes.Buffer{}).Match(t.Context()); err != nil || fmt.Sprint(l.matched) != c.want {
				t.Errorf("ended %v ago: matched %v, %v; want %v", c.ended, l.matched, err, c.want)
			}
			l.fault = errors.New("the ledger is away")
			if _, err := keeperOf(l, nil, &bytes.Buffer{}).Match(t.Context()); (err != nil) != (c.want != "[]") {
				t.Errorf("ended %v ago, a ledger that is away: got %v, want its fault if there is a run to match", c.ended, err)
			}
			if f := l.filters[0]; now.Sub(f.EndedAfter) != 93*day {
				t.Errorf("got the runs that ended in the last %v, want 93 days: within is at most 90", now.Sub(f.EndedAfter))
			}
		})
	}
}

// A missing order is gone only if the platform showed another one within the hour, or still does.
func TestAnOldAnswerProvesNoRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().Format(time.RFC3339)
		orders := map[string]string{"o": `{"id":"o","created_at":"` + now + `","updated_at":"` + now + `"}`}
		var requests []string
		shop, broken := shopOf(orders, []string{"o"}, &requests), false
		l := &notebook{until: time.Now(), hints: []campaign.OrderHint{{Order: "o"}}}
		k := keeperOf(l, func(path string) (int, string) {
			if broken && strings.Contains(path, "/customers/orders/") {
				return 404, `{}`
			}
			return shop(path)
		}, &bytes.Buffer{})
		take := func(hint string) {
			t.Helper()
			l.hints = []campaign.OrderHint{{Order: hint}}
			if _, err := k.Take(t.Context()); err != nil {
				t.Fatalf("got %v, want no error", err)
			}
		}
		take("o")
		broken = true // such as a wrong shop in the configuration
		time.Sleep(59 * time.Minute)
		take("first")
		time.Sleep(2 * time.Minute)
		take("second")
		if fmt.Sprint(l.removed) != "[first]" || fmt.Sprint(l.ended[len(l.ended)-1]) != "second" {
			t.Errorf("removed %q and gave up %q; want the first removed, the second given up", l.removed, l.ended)
		}
	})
}

// A process whose turn it is not neither takes nor matches.
func TestAProcessOutOfTurnDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &notebook{runs: []campaign.Run{counting(1, "CM", time.Now(), time.Time{})}}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		var turns atomic.Int64 // taking and matching ask for theirs at once
		purchases.New(purchases.Options{Ledger: l, Ours: func(context.Context) bool { turns.Add(1); return false }}).Run(ctx)
		if len(l.matched) > 0 || len(l.filters) > 0 || turns.Load() < 60 {
			t.Errorf("matched %v, read %d times in %d turns; want nothing, and to ask for its turn each minute", l.matched, len(l.filters),
				turns.Load())
		}
	})
}

// An answer that is too long is of one order, and is not asked for again.
func TestAnOrderThatIsTooLongIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &notebook{until: time.Now(), hints: []campaign.OrderHint{{Order: "long"}}}
		long := `{"data":{"id":"long","reference":"` + strings.Repeat("x", 9<<20) + `"}}`
		k := keeperOf(l, func(path string) (int, string) {
			if strings.HasSuffix(path, "/long") {
				return 200, long
			}
			return 200, `{"data":[]}`
		}, &bytes.Buffer{})
		if _, err := k.Take(t.Context()); err != nil || fmt.Sprint(l.unread) != "[long]" || len(l.hints) != 0 {
			t.Errorf("got %v, unread %q and %d hints; want it unread and no hint", err, l.unread, len(l.hints))
		}
	})
}
