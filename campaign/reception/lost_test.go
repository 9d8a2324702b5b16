package reception_test

import (
	"testing"
	"time"

	"campaignd/campaign/reception"
)

// Events that were lost have come when the service was asked for them, and webhooks were taken for
// a doubt window since then, so that none of them is repeated any more.
func TestAReplayArrivesWhileWebhooksAreTaken(t *testing.T) {
	for _, c := range []struct {
		name    string
		spans   []reception.Span
		now     int
		asked   int // minute; 0: never
		since   int // minute at which the doubt began; the quarantine was in minute 100
		missing bool
	}{
		{"never asked for", listened(0, 500), 500, 0, 90, true},
		{"asked for, and taken for the window", listened(0, 150), 150, 110, 90, false},
		{"a minute less", listened(0, 149), 149, 110, 90, true},
		{"nobody took them", listened(0, 105), 200, 110, 90, true},
		{"nobody took them until the service gave up", listened(0, 105, 800, 900), 900, 110, 90, true},
		{"the same, long after", listened(0, 105, 800, 1200), 1200, 110, 90, true},
		{"a break as long as all repetitions", listened(0, 150, 666, 1200), 1200, 150, 90, true},
		{"a minute less than them", listened(0, 150, 665, 1200), 1200, 150, 90, false},
		{"breaks that the service outlasts", listened(0, 105, 400, 420, 900, 1700), 1700, 110, 90, false},
		{"a break, and its repetitions are due", listened(0, 120, 123, 154), 154, 110, 90, false},
		{"a break while they may come again", listened(0, 149, 152, 156), 156, 110, 90, true},
		{"a doubt of the quarantine", listened(0, 500), 500, 0, 100, true},
		{"a doubt of after the quarantine", listened(0, 500), 500, 0, 101, false},
	} {
		lost := reception.LostTime{At: minute(100), Since: minute(40)}
		if c.asked > 0 {
			lost.Asked = minute(c.asked)
		}
		l := reception.NewListening(c.spans, reception.ServiceRepeats(), minute(c.now)).Without([]reception.LostTime{lost})
		got, missing := l.Unreplayed(minute(c.since), 40*time.Minute)
		if missing != c.missing || missing && got != lost {
			t.Errorf("%s: Unreplayed = %+v, %v; want missing %v", c.name, got, missing, c.missing)
		}
	}
}

// Doubts of before a quarantine end without being sent again until the lost events are back; later
// ones follow the policy of their campaign.
func TestOnlyDoubtsOfBeforeAQuarantineAreHeld(t *testing.T) {
	lost := []reception.LostTime{{At: minute(200), Since: minute(150), Asked: minute(201)}, {At: minute(100), Since: minute(40)}}
	l := reception.NewListening(listened(0, 300), reception.ServiceRepeats(), minute(300)).Without(lost)
	cut := minute(100).Add(time.Millisecond)
	for name, c := range map[string]struct{ over, held, rest reception.Span }{
		"all":    {span(0, 250), reception.Span{Since: minute(0), Until: cut}, reception.Span{Since: cut, Until: minute(250)}},
		"before": {span(0, 90), span(0, 90), span(90, 90)},
		"after":  {span(110, 250), reception.Span{}, span(110, 250)},
	} {
		if held, rest := l.Split(c.over, 40*time.Minute); held != c.held || rest != c.rest {
			t.Errorf("%s: got %v and %v, want %v and %v", name, held, rest, c.held, c.rest)
		}
	}
}

func span(since, until int) reception.Span {
	return reception.Span{Since: minute(since), Until: minute(until)}
}

// Events that were tried during an outage come again after it: these may be older than the lost
// time.
func TestALostEventMayBeOlderThanTheLostTime(t *testing.T) {
	for name, c := range map[string]struct {
		spans []reception.Span
		want  int
	}{
		"no outage":                {listened(0, 100), 100},
		"an outage whose end came": {listened(0, 40, 45, 100), 100},
		"one that is repeated":     {listened(0, 60, 95, 100), 60},
		"nobody takes them":        {listened(0, 60), 60},
		"nobody ever did":          {nil, 100},
	} {
		l := reception.NewListening(c.spans, reception.ServiceRepeats(), minute(100))
		if got := l.Missed(); !got.Equal(minute(c.want)) {
			t.Errorf("%s: Missed = %v, want %v", name, got, minute(c.want))
		}
	}
}

// Of several lost times that nobody has asked for, the oldest beginning counts, in any order, for a
// week after each quarantine.
func TestEventsAreMissingSinceTheOldestLostTime(t *testing.T) {
	const day = 24 * 60
	first := reception.LostTime{At: minute(100), Since: minute(40)}
	second := reception.LostTime{At: minute(300), Since: minute(20)} // of an older backup
	asked := reception.LostTime{At: minute(400), Since: minute(5), Asked: minute(410)}
	for _, c := range []struct {
		name string
		lost []reception.LostTime
		now  int
		want int // 0: none are missing
	}{
		{"none", nil, 500, 0},
		{"one", []reception.LostTime{first}, 500, 40},
		{"the older beginning comes last", []reception.LostTime{first, second}, 500, 20},
		{"the older beginning comes first", []reception.LostTime{second, first}, 500, 20},
		{"the oldest beginning was asked for", []reception.LostTime{asked, first}, 500, 40},
		{"all were asked for", []reception.LostTime{asked}, 500, 0},
		{"a week later", []reception.LostTime{first}, 100 + 7*day, 40},
		{"a minute after that", []reception.LostTime{first}, 101 + 7*day, 0},
		{"the first is too old", []reception.LostTime{second, first}, 101 + 7*day, 20},
	} {
		got := reception.NotAsked(c.lost, minute(c.now))
		if got.IsZero() != (c.want == 0) || c.want != 0 && !got.Equal(minute(c.want)) {
			t.Errorf("%s: missing since %v, want minute %d (0: none)", c.name, got, c.want)
		}
	}
}

func TestALostTimeNamesWhatToDo(t *testing.T) {
	lost := reception.LostTime{At: minute(100), Since: minute(40)}
	if got, want := lost.Sentence(time.Hour), "events since 2026-03-02T00:40:00Z were lost and not replayed: "+
		"`campaignd webhooks replay --since 2026-03-02T00:40:00Z`, or --not-replayed"; got != want {
		t.Errorf("not asked for: got %q, want %q", got, want)
	}
	lost.Asked = minute(110)
	if got, want := lost.Sentence(time.Hour), "lost events since 2026-03-02T00:40:00Z, asked for at 2026-03-02T01:50:00Z, may still come: "+
		"take webhooks for 1h0m0s after that, replay again, or pass --not-replayed"; got != want {
		t.Errorf("asked for: got %q, want %q", got, want)
	}
}

// A run waits for the deliveries that the service said it posts again, or for its doubt window.
func TestARunWaitsForTheDeliveriesOfAReplay(t *testing.T) {
	for _, c := range []struct {
		name             string
		asked            int // minute; 0: never. The quarantine was in minute 100
		deliveries, came int64
		now, created     int
		waits            bool
	}{
		{"some are to come", 110, 7, 6, 120, 90, true},
		{"all came", 110, 7, 7, 120, 90, false},
		{"one came twice", 110, 7, 8, 120, 90, false},
		{"the service counted none", 110, 0, 0, 120, 90, false},
		{"never asked for", 0, 7, 0, 120, 90, false},
		{"a minute before the doubt window is over", 110, 7, 6, 149, 90, true},
		{"after it", 110, 7, 6, 150, 90, false},
		{"a run of the time of the quarantine", 110, 7, 6, 120, 100, true},
		{"a run of after it", 110, 7, 6, 120, 101, false},
	} {
		lost := reception.LostTime{At: minute(100), Since: minute(40), Deliveries: c.deliveries, Came: c.came}
		if c.asked > 0 {
			lost.Asked = minute(c.asked)
		}
		l := reception.NewListening(listened(0, c.now), reception.ServiceRepeats(), minute(c.now)).
			Without([]reception.LostTime{{At: minute(10)}, lost})
		if got, waits := l.Replaying(minute(c.created), 40*time.Minute); waits != c.waits || waits && got != lost {
			t.Errorf("%s: Replaying = %+v, %v; want %v", c.name, got, waits, c.waits)
		}
	}
}

func TestADeliveryOfAReplayIsToldByItsTimes(t *testing.T) {
	lost := reception.LostTime{At: minute(100), Since: minute(40)}
	asked := lost
	asked.Asked = minute(110)
	for _, c := range []struct {
		name            string
		lost            reception.LostTime
		event, received int
		want            bool
	}{
		{"of the lost time", asked, 60, 115, true},
		{"of its first minute", asked, 40, 115, true},
		{"of before it", asked, 39, 115, false},
		{"of the minute of the request", asked, 110, 115, true},
		{"of after the request", asked, 111, 115, false},
		{"received before the quarantine", asked, 60, 99, false},
		{"received with it", asked, 60, 100, true},
		{"not asked for yet", lost, 111, 115, true},
	} {
		if got := c.lost.Of(minute(c.event), minute(c.received)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
