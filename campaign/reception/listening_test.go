package reception_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
)

// listened makes spans of minutes after midnight.
func listened(minutes ...int) (spans []reception.Span) {
	for i := 0; i < len(minutes); i += 2 {
		spans = append(spans, reception.Span{Since: minute(minutes[i]), Until: minute(minutes[i+1])})
	}
	return spans
}

func minute(n int) time.Time {
	return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
}

func TestTheDoubtWindowRunsWhileWebhooksAreTaken(t *testing.T) {
	const window, givenUp = 40, 40 + 516
	for _, c := range []struct {
		name  string
		spans []reception.Span
		now   int
		since int
		ends  int // minute at which the window is over
	}{
		{"all the time", listened(0, 100), 100, 90, 130},
		{"it is over", listened(0, 100), 100, 10, 50},
		{"nobody listened, ever", nil, 100, 90, 140},
		{"nobody listened for long", nil, 700, 100, 100 + givenUp},
		{"not since the doubt began", listened(0, 100), 140, 100, 260}, // the fourth try may be 2 h after the third
		{"40 minutes down", listened(0, 100, 140, 150), 150, 95, 260},
		{"40 minutes down, long ago", listened(0, 100, 140, 300), 300, 95, 260},
		{"half a minute down", append(listened(0, 100), reception.Span{Since: minute(100).Add(30 * time.Second), Until: minute(105)}),
			105, 100, 140}, // and 30 s
		{"3 minutes down", listened(0, 100, 103, 110), 110, 99, 142},
		{"20 minutes down", listened(0, 100, 120, 130), 130, 99, 159},
		{"a doubt of after the outage", listened(0, 100, 140, 150), 150, 145, 185},
		{"3 hours down", listened(0, 100, 280, 290), 290, 95, 640},
		{"the service has given up", listened(0, 100, 600, 610), 610, 95, 95 + givenUp},
		{"down again before the repetitions came", listened(0, 100, 140, 150, 155, 160), 160, 95, 275},
		{"two replicas in turn", listened(0, 60, 50, 100), 100, 90, 130},
		{"the second replica first", listened(50, 100, 0, 60), 100, 20, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := reception.NewListening(c.spans, reception.ServiceRepeats(), minute(c.now))
			got := l.Ends(minute(c.since), window*time.Minute).Truncate(time.Minute)
			if !got.Equal(minute(c.ends)) {
				t.Errorf("the window ends at minute %v, want %d", got.Sub(minute(0)).Minutes(), c.ends)
			}
		})
	}
}

// Exactly the times that ended by now are over, at each time and for each doubt.
func TestWhatIsOverHasEnded(t *testing.T) {
	draw := rand.New(rand.NewPCG(11, 9))
	for range 3000 {
		var minutes []int
		at := 0
		for range draw.IntN(5) {
			at += draw.IntN(300)
			minutes = append(minutes, at)
			at += draw.IntN(300)
			minutes = append(minutes, at)
		}
		now := at + draw.IntN(700)
		window := time.Duration(1+draw.IntN(120)) * time.Minute
		l := reception.NewListening(listened(minutes...), reception.ServiceRepeats(), minute(now))
		over := l.Over(window)
		for range 20 {
			since := minute(draw.IntN(now + 1)).Add(30 * time.Second)
			got := false
			for _, s := range over {
				got = got || !since.Before(s.Since) && since.Before(s.Until)
			}
			if ends := l.Ends(since, window); got != ends.Before(minute(now)) && !ends.Equal(minute(now)) {
				t.Fatalf("webhooks were taken in %v, window %v, now %d: the doubt of %v ends %v; is it over: %v, want %v", minutes, window, now,
					since.Sub(minute(0)), ends.Sub(minute(0)), got, !got)
			}
		}
	}
}

func TestLateWebhooksAreDueAfterAnOutage(t *testing.T) {
	got := map[string]string{}
	for name, l := range map[string]reception.Listening{
		"never down":   reception.NewListening(listened(0, 100), reception.ServiceRepeats(), minute(100)),
		"down before":  reception.NewListening(listened(0, 10, 80, 100), reception.ServiceRepeats(), minute(100)),
		"down since":   reception.NewListening(listened(0, 92, 95, 100), reception.ServiceRepeats(), minute(99)),
		"down now":     reception.NewListening(listened(0, 95), reception.ServiceRepeats(), minute(100)),
		"down later":   reception.NewListening(listened(0, 101), reception.ServiceRepeats(), minute(110)),
		"never up":     reception.NewListening(nil, reception.ServiceRepeats(), minute(100)),
		"all repeated": reception.NewListening(listened(0, 92, 95, 101), reception.ServiceRepeats(), minute(101)),
	} {
		if due := l.Due(minute(90)); due.IsZero() {
			got[name] = "no"
		} else {
			got[name] = fmt.Sprint("until ", due.Sub(minute(0)).Minutes())
		}
	}
	want := map[string]string{"never down": "no", "down before": "no", "down since": "until 100",
		"down now": "until 606", "never up": "until 606", "down later": "no", "all repeated": "no"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("late webhooks are due (-want +got):\n%s", diff)
	}
}
