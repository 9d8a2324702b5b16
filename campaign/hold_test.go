package campaign

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// second is so many seconds after an arbitrary instant.
func second(n int) time.Time {
	return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

var whole = Origin{Key: "k", Company: "c", Account: "a", Portfolio: "p", Connection: "n", Template: "sale", Language: "en", Run: "spring-1"}

func TestAHoldStopsExactlyItsScope(t *testing.T) {
	t.Parallel()
	for scope, id := range map[HoldScope]string{HoldKey: "k", HoldCompany: "c", HoldAccount: "a", HoldPortfolio: "p", HoldConnection: "n",
		HoldTemplate: TemplateID("a", "sale", "en"), HoldRun: "spring-1"} {
		for _, c := range []struct {
			id   string
			o    Origin
			want bool
		}{
			{id, whole, true}, {HoldAny, whole, true}, {HoldAny, Origin{}, true},
			{"another", whole, false}, {id, Origin{}, false}, {"", Origin{}, false}, {"", whole, false},
		} {
			if got := (Hold{Scope: scope, ID: c.id}).Stops(c.o); got != c.want {
				t.Errorf("a hold of %s %q stops %+v: %v, want %v", scope, c.id, c.o, got, c.want)
			}
		}
	}
	if got, want := (Hold{Scope: "moon", ID: "a"}).Stops(whole), false; got != want {
		t.Errorf("a hold of an unknown scope stops: %v, want %v", got, want)
	}
}

// A process that starts while the service is away does not know whose its connections are.
func TestHoldsStopWhatIsNotKnownYet(t *testing.T) {
	t.Parallel()
	o := Origin{Key: "k", Account: "n", Connection: "n", Template: "sale", Language: "en", Run: "spring-1", Unasked: true}
	for id, want := range map[HoldScope]bool{HoldKey: false, HoldCompany: true, HoldAccount: true, HoldPortfolio: true,
		HoldConnection: false, HoldRun: false, HoldTemplate: false} {
		if got := (Hold{Scope: id, ID: "x"}).Stops(o); got != want {
			t.Errorf("a hold of a %s stops a message of an unknown one: %v, want %v", id, got, want)
		}
	}
	for id, want := range map[string]bool{"a/sale/en": true, "/sale/en": true, "a/sale/de": false, "a/on_sale/en": false} {
		if got := (Hold{Scope: HoldTemplate, ID: id}).Stops(o); got != want {
			t.Errorf("a hold of the template %s stops a message of an unknown account: %v, want %v", id, got, want)
		}
	}
}

func TestATemplateHoldIsOneAccountsIfKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, account, language string
		want                  bool
	}{
		{"a/sale/en", "a", "en", true}, {"a/sale/en", "b", "en", false}, {"a/sale/en", "", "en", false}, {"a/sale/en", "a", "de", false},
		{"/sale/en", "a", "en", true}, {"/sale/en", "", "en", true}, {"/sale/en", "a", "de", false},
	} {
		o := Origin{Account: c.account, Template: "sale", Language: c.language}
		if got := (Hold{Scope: HoldTemplate, ID: c.id}).Stops(o); got != c.want {
			t.Errorf("a hold of %s stops %+v: %v, want %v", c.id, o, got, c.want)
		}
	}
}

// An event of the service that names no account says nothing about the Cloud API.
func TestATemplateHoldOfTheServiceStaysThere(t *testing.T) {
	for _, platform := range []bool{false, true} {
		o := Origin{Account: "a", Connection: "c", Template: "sale", Language: "en", Platform: platform}
		for source, want := range map[HoldSource]bool{HoldByEvent: !platform, HoldByOperator: true} {
			h := Hold{Scope: HoldTemplate, ID: TemplateID("", "sale", "en"), Source: source}
			if got := h.Stops(o); got != want {
				t.Errorf("a hold by %s stops a connection of the platform (%v): %v, want %v", source, platform, got, want)
			}
		}
	}
}

func TestTheLongestHoldIsNamed(t *testing.T) {
	t.Parallel()
	hold := func(reason string, until, lifted int) Hold {
		h := Hold{Scope: HoldAccount, ID: "a", Reason: reason}
		if until != 0 {
			h.Until = second(until)
		}
		if lifted != 0 {
			h.Lifted = second(lifted)
		}
		return h
	}
	for name, c := range map[string]struct {
		holds []Hold
		want  string
	}{
		"None":         {nil, ""},
		"Over":         {[]Hold{hold("over", 10, 0), hold("lifted", 0, 5)}, ""},
		"Later":        {[]Hold{hold("short", 11, 0), hold("long", 12, 0), hold("mid", 11, 0)}, "long"},
		"Endless":      {[]Hold{hold("short", 11, 0), hold("endless", 0, 0), hold("long", 99, 0)}, "endless"},
		"OfAnother":    {[]Hold{{Scope: HoldAccount, ID: "b", Reason: "another"}}, ""},
		"FirstEndless": {[]Hold{hold("first", 0, 0), hold("second", 0, 0)}, "first"},
	} {
		got, held := HeldBy(c.holds, whole, second(10))
		if got.Reason != c.want || held != (c.want != "") {
			t.Errorf("%s: held by %q, %v; want %q", name, got.Reason, held, c.want)
		}
	}
}

func TestALiftEndsWhatItMay(t *testing.T) {
	t.Parallel()
	held := func(source HoldSource, since int) Hold {
		return Hold{Scope: HoldAccount, ID: "a", Reason: "131042", Source: source, Since: second(since)}
	}
	manual := held(HoldByEvent, 0)
	manual.Manual = true
	again := held(HoldByStatus, 0)
	again.Latest = second(20)
	ended := held(HoldByEvent, 0)
	ended.Lifted = second(5)
	for name, c := range map[string]struct {
		lift Lift
		hold Hold
		want bool
	}{
		"Event":             {Lift{At: second(10), By: HoldByEvent}, held(HoldByStatus, 10), true},
		"ThatReason":        {Lift{At: second(10), By: HoldByEvent, Reason: "131042"}, held(HoldByStatus, 0), true},
		"AnotherReason":     {Lift{At: second(10), By: HoldByEvent, Reason: "368"}, held(HoldByStatus, 0), false},
		"OlderEvent":        {Lift{At: second(10), By: HoldByEvent}, held(HoldByEvent, 11), false},
		"OlderThanLatest":   {Lift{At: second(10), By: HoldByEvent}, again, false},
		"SkewOfRefusal":     {Lift{At: second(10), By: HoldByEvent}, held(HoldByRefusal, 15), true},
		"SkewOfAcceptance":  {Lift{At: second(10), By: HoldByEvent}, held(HoldByStatus, 15), true},
		"BeyondTheSkew":     {Lift{At: second(10), By: HoldByEvent}, held(HoldByRefusal, 16), false},
		"EventWithoutTime":  {Lift{By: HoldByEvent}, held(HoldByStatus, 0), false},
		"EventOfManual":     {Lift{At: second(10), By: HoldByEvent}, manual, false},
		"EventOfOperator":   {Lift{At: second(10), By: HoldByEvent}, held(HoldByOperator, 0), false},
		"EventOfBreaker":    {Lift{At: second(10), By: HoldByEvent}, held(HoldByBreaker, 0), false},
		"Breaker":           {Lift{At: second(10), By: HoldByBreaker}, held(HoldByBreaker, 0), true},
		"BreakerOfRefusal":  {Lift{At: second(10), By: HoldByBreaker}, held(HoldByRefusal, 0), false},
		"Operator":          {Lift{At: second(10), By: HoldByOperator}, manual, true},
		"OperatorOfBreaker": {Lift{At: second(10), By: HoldByOperator}, held(HoldByBreaker, 20), true},
		"OperatorWithout":   {Lift{By: HoldByOperator}, held(HoldByStatus, 0), false},
		"LiftedAlready":     {Lift{At: second(10), By: HoldByOperator}, ended, false},
	} {
		c.lift.Scope, c.lift.ID = HoldAccount, "a"
		if got := c.lift.Ends(c.hold); got != c.want {
			t.Errorf("%s: it ends %v, want %v", name, got, c.want)
		}
		c.lift.ID = "b"
		if got := c.lift.Ends(c.hold); got {
			t.Errorf("%s of another account: it ends %v, want false", name, got)
		}
		c.lift.Scope, c.lift.ID = HoldPortfolio, "a"
		if got := c.lift.Ends(c.hold); got {
			t.Errorf("%s of another scope: it ends %v, want false", name, got)
		}
	}
}

func TestAReportRenewsItsHold(t *testing.T) {
	t.Parallel()
	report := func(since, until int) Hold {
		h := Hold{Scope: HoldAccount, ID: "a", Reason: "131042", Source: HoldByStatus, Since: second(since)}
		if until != 0 {
			h.Until = second(until)
		}
		return h
	}
	stored := func(since, latest, until, count int) Hold {
		h := report(since, until)
		h.Latest, h.Count = second(latest), count
		return h
	}
	lifted := stored(0, 0, 0, 3)
	lifted.Lifted, lifted.LiftedBy = second(50), HoldByOperator
	manual, wasManual := report(60, 0), stored(0, 0, 0, 1)
	manual.Manual, wasManual.Manual = true, true
	manualNow := stored(60, 60, 0, 1)
	manualNow.Manual = true
	wasManualNow := stored(0, 60, 0, 1)
	wasManualNow.Manual = true
	refusal := func(h Hold) Hold { h.Source = HoldByRefusal; return h }
	told := func(h Hold) Hold { h.Source = HoldByEvent; return h }
	operator := func(h Hold) Hold { h.Source = HoldByOperator; return h }
	event, command := LastLifts{Event: second(60)}, LastLifts{Operator: second(60)}
	for name, c := range map[string]struct {
		old, next Hold
		lifts     LastLifts
		want      Hold
		ok        bool
	}{
		"New":                    {Hold{}, report(60, 0), LastLifts{}, stored(60, 60, 0, 1), true},
		"Prolonged":              {stored(0, 0, 110, 2), report(60, 120), LastLifts{}, stored(0, 60, 120, 2), true},
		"NotShortened":           {stored(0, 0, 130, 2), report(60, 120), LastLifts{}, stored(0, 60, 130, 2), true},
		"StaysEndless":           {stored(0, 0, 0, 1), report(60, 120), LastLifts{}, stored(0, 60, 0, 1), true},
		"BecomesEndless":         {stored(0, 0, 110, 1), report(60, 0), LastLifts{}, stored(0, 60, 0, 1), true},
		"OlderReport":            {stored(50, 70, 0, 1), report(60, 0), LastLifts{}, stored(50, 70, 0, 1), true},
		"BackAfterItsEnd":        {stored(0, 0, 90, 2), report(60, 0), LastLifts{}, stored(0, 60, 0, 3), true},
		"BackMuchLater":          {stored(-900, -900, -500, 2), report(60, 0), LastLifts{}, stored(60, 60, 0, 1), true},
		"NewAfterALift":          {lifted, report(51, 0), LastLifts{}, stored(51, 51, 0, 1), true},
		"OlderThanItsLift":       {lifted, report(50, 0), LastLifts{}, lifted, false},
		"OverAlready":            {stored(0, 0, 90, 2), report(60, 100), LastLifts{}, stored(0, 0, 90, 2), false},
		"OlderThanItsEvent":      {Hold{}, report(60, 0), event, Hold{}, false},
		"NewerThanItsEvent":      {Hold{}, told(report(61, 0)), event, told(stored(61, 61, 0, 1)), true},
		"StatusWithinTheSkew":    {Hold{}, report(65, 0), event, Hold{}, false},
		"StatusBeyondTheSkew":    {Hold{}, report(66, 0), event, stored(66, 66, 0, 1), true},
		"RefusalWithinTheSkew":   {Hold{}, refusal(report(65, 0)), event, Hold{}, false},
		"RefusalBeyondTheSkew":   {Hold{}, refusal(report(66, 0)), event, refusal(stored(66, 66, 0, 1)), true},
		"OlderThanItsCommand":    {Hold{}, refusal(report(60, 0)), command, Hold{}, false},
		"RefusalAfterACommand":   {Hold{}, refusal(report(61, 0)), command, refusal(stored(61, 61, 0, 1)), true},
		"NoEventHealsManual":     {Hold{}, manual, event, manualNow, true},
		"ACommandHealsManual":    {Hold{}, manual, command, Hold{}, false},
		"ManualStaysManual":      {wasManual, report(60, 0), LastLifts{}, wasManualNow, true},
		"TheOperatorsLastWord":   {operator(stored(0, 0, 0, 1)), operator(report(60, 110)), LastLifts{}, operator(stored(0, 60, 110, 1)), true},
		"TheOperatorAlwaysHolds": {Hold{}, operator(report(1, 0)), command, operator(stored(1, 1, 0, 1)), true},
	} {
		got, ok := c.old.Renew(c.next, c.lifts, second(100))
		if d := cmp.Diff(c.want, got); d != "" || ok != c.ok {
			t.Errorf("%s: an effect %v, want %v; -want +got:\n%s", name, ok, c.ok, d)
		}
	}
}

// Each trip within 10 minutes of the last rest doubles the rest, up to 5 minutes.
func TestTheRestOfABreakerDoubles(t *testing.T) {
	t.Parallel()
	now, h := second(0), Hold{}
	for n, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300, 300, 300, 300, 300} {
		trip := Hold{Scope: HoldConnection, ID: "n", Reason: "breaker", Source: HoldByBreaker, Since: now}
		h, _ = h.Renew(trip, LastLifts{Operator: now, Event: now}, now)
		if got := h.Until.Sub(now); got != want*time.Second || h.Count != n+1 {
			t.Errorf("trip %d: it rests %s, counted %d; want %s", n+1, got, h.Count, want*time.Second)
		}
		if again, _ := h.Renew(trip, LastLifts{}, now); again.Until != h.Until || again.Count != h.Count {
			t.Errorf("trip %d told by another replica: until %s, counted %d; want %s, %d", n+1, again.Until, again.Count, h.Until, h.Count)
		}
		if got := []bool{h.Probing(now), h.Probing(h.Until)}; got[0] || !got[1] {
			t.Errorf("trip %d: it probes %v at its trip and at the end of its rest; want false and true", n+1, got)
		}
		now = h.Until.Add(holdRepeats - time.Second)
	}
	now = h.Until.Add(holdRepeats)
	h, _ = h.Renew(Hold{Scope: HoldConnection, ID: "n", Reason: "breaker", Source: HoldByBreaker, Since: now}, LastLifts{}, now)
	if want := now.Add(breakerRest); !h.Until.Equal(want) || h.Count != 1 {
		t.Errorf("long after the last rest: until %s, counted %d; want %s, 1", h.Until, h.Count, want)
	}
}

func paused(since int) Hold {
	return Hold{Scope: HoldTemplate, ID: TemplateID("acc", "promo", "en_US"), Reason: "PAUSED", Source: HoldByEvent, Since: second(since)}
}

// Reports and lifts of one template, in the order in which they arrive. The numbers are the seconds
// of their own times; negative: a lift.
func TestOldEventsNeverWinOverNewerOnes(t *testing.T) {
	for name, c := range map[string]struct {
		arrive []int
		held   bool
	}{
		"a pause":                                  {[]int{10}, true},
		"a pause and its approval":                 {[]int{10, -11}, false},
		"an approval of the day before":            {[]int{1500, -60}, true},
		"a pause that comes after its approval":    {[]int{-11, 10}, false},
		"a pause that comes again":                 {[]int{10, -11, 10}, false},
		"a second pause":                           {[]int{10, -11, 12}, true},
		"an approval that comes after two pauses":  {[]int{10, 12, -11}, true},
		"an approval at the instant of the pause":  {[]int{10, -10}, false},
		"two approvals, the older one comes later": {[]int{10, -13, -9, 12}, false},
	} {
		var h Hold
		var lifts LastLifts
		for n, m := range c.arrive {
			now := second(2000 + n)
			if m > 0 {
				h, _ = h.Renew(paused(m), lifts, now)
				continue
			}
			l := Lift{Scope: HoldTemplate, ID: paused(0).ID, At: second(-m), By: HoldByEvent}
			if l.Ends(h) {
				h.Lifted, h.LiftedBy = l.At, l.By
			}
			lifts = lifts.With(l.By, l.At)
		}
		if got := h.Scope != "" && h.InForce(second(3000)); got != c.held {
			t.Errorf("%s: held %t, want %t", name, got, c.held)
		}
	}
}
