package launch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// free is the turn of a number that nothing else uses.
func free() launch.Turn {
	return launch.Turn{Limiter: throttle.NewLocal(), Pace: func(string) float64 { return 68 },
		Origin: func(connection string) campaign.Origin {
			return campaign.Origin{Connection: connection, Account: "acc", Key: "key"}
		}}
}

// posts is a service that notes when each message was posted.
type posts struct {
	launch.Tester
	mu sync.Mutex
	at []time.Time
}

func (p *posts) Send(context.Context, *messaging.Message) (messaging.Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = append(p.at, time.Now())
	return messaging.Receipt{MessageID: "wamid.1"}, nil
}

func (*posts) Templates(context.Context, string) ([]messaging.TemplateRecord, error) {
	return nil, messaging.ErrNotOffered
}

// worst is the most posts in a sliding second.
func (p *posts) worst() (most int) {
	slices.SortFunc(p.at, time.Time.Compare)
	for i := range p.at {
		n := 0
		for n < len(p.at)-i && p.at[i+n].Sub(p.at[i]) < time.Second {
			n++
		}
		most = max(most, n)
	}
	return most
}

// A run that uses its pace, and 24 people who try a message at once, share the number.
func TestTestsBesideARunStayBelowTheLimit(t *testing.T) {
	path := writeFile(t, "turn.yaml", minimal)
	list := writeFile(t, "turn.csv", "to\n+2348031234567\n")
	synctest.Test(t, func(t *testing.T) {
		turn, service := free(), &posts{}
		turn.Pace = func(string) float64 { return 35 }
		ctx, end := context.WithCancel(t.Context())
		var running, testing sync.WaitGroup
		running.Go(func() {
			for ctx.Err() == nil {
				s, err := turn.Limiter.Lease(ctx, "conn_1", 35, 7)
				if err != nil {
					return
				}
				time.Sleep(s.Wait)
				for i := range s.N {
					time.Sleep(time.Until(s.At(i)))
					_, _ = service.Send(ctx, nil)
				}
			}
		})
		time.Sleep(2 * time.Second)
		for range 24 {
			testing.Go(func() {
				in := launch.SampleInput{File: path, List: list}
				if _, _, err := launch.SendTest(ctx, service, turn, in, "+2348031234567"); err != nil {
					t.Errorf("got %v, want it sent", err)
				}
			})
		}
		testing.Wait()
		time.Sleep(time.Second)
		end()
		running.Wait()
		if most := service.worst(); most > 36 {
			t.Errorf("got %d messages in a second, want at most 36 at 35/s", most)
		}
	})
}

func TestATestObeysHoldsAndTheLimiter(t *testing.T) {
	path := writeFile(t, "held.yaml", minimal)
	list := writeFile(t, "held.csv", "to\n+2348031234567\n")
	held := func(scope campaign.HoldScope, id string) func(*launch.Turn) {
		return func(turn *launch.Turn) {
			turn.Holds = func(context.Context) ([]campaign.Hold, error) {
				return []campaign.Hold{{Scope: scope, ID: id, Reason: "131042", Since: time.Now()}}, nil
			}
		}
	}
	template := campaign.TemplateID("acc", "hello_world", "en_US")
	for name, c := range map[string]struct {
		change func(*launch.Turn)
		want   string
	}{
		"key":        {held(campaign.HoldKey, "key"), "is held since"},
		"account":    {held(campaign.HoldAccount, "acc"), "is held since"},
		"connection": {held(campaign.HoldConnection, "conn_1"), "is held since"},
		"template":   {held(campaign.HoldTemplate, template), "is held since"},
		"another":    {held(campaign.HoldConnection, "conn_2"), ""},
		"no pace":    {func(turn *launch.Turn) { turn.Pace = func(string) float64 { return 0 } }, "the pace of conn_1 is not known"},
		"an intake":  {func(turn *launch.Turn) { turn.Limiter = nil }, "this process sends nothing"},
		"no slot": {func(turn *launch.Turn) {
			turn.Pace = func(string) float64 { return 0.05 }
			_, _ = turn.Limiter.Lease(context.Background(), "conn_1", 0.05, 1)
		}, "conn_1 had no free slot for a test message within 10s; nothing was sent, so try again"},
	} {
		synctest.Test(t, func(t *testing.T) {
			turn, service := free(), &posts{}
			c.change(&turn)
			_, _, err := launch.SendTest(t.Context(), service, turn, launch.SampleInput{File: path, List: list}, "+2348031234567")
			sent := len(service.at) == 1
			if c.want == "" && (err != nil || !sent) || c.want != "" && (!errors.Is(err, campaign.ErrNotNow) || sent ||
				!strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: got %v, sent %v; want %q", name, err, sent, c.want)
			}
		})
	}
}
