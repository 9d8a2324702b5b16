package throughput

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The bounds of a pace that is learned (docs/limits.md#a-pace-that-learns).
const (
	// LearnAfter is how many messages are measured before the pace follows the measure.
	LearnAfter = 2000
	// AfterRefusal is how long a number keeps the pace of Number.Pace after the service refused a
	// message for its throughput.
	AfterRefusal = 10 * time.Minute
	// AfterLoss is how long it keeps that pace after the messages that came in were lost: as long as
	// each of them counts.
	AfterLoss = 10 * time.Minute
	// Together is how long slots wait for each other at most, so that one wake-up of the process sends
	// several messages. A number whose slots lie closer has at least this jitter.
	Together = 15 * time.Millisecond
	// Lateness is how old a slot may be at most when it is used: 20 ms for a late wake-up, and
	// Together.
	Lateness = 20*time.Millisecond + Together

	mostPart  = 0.985 // of the limit, whatever is measured
	leastPart = 0.1   // of the limit, however much comes in: then the service's refusals say more
	exact     = 1e-9  // part of a rate; without it an instant could fall on both ends of a second
)

// Way is how evenly messages come to the service: bounds of two durations, and how many messages
// were outside of them.
type Way struct {
	Soonest, Latest time.Duration // from the slot to the last byte written
	Quick, Slow     time.Duration // from there to the answer
	Outside         int           // most messages of one second that were outside of these bounds
}

// jitter is by how much longer the schedule of a second's messages may be than the second.
func (w Way) jitter() time.Duration { return w.Latest - w.Soonest + w.answers() }

// answers is the part of the jitter that is between here and the service: half of the spread of the
// answers, which come back on the same way.
func (w Way) answers() time.Duration { return (w.Slow - w.Quick) / 2 }

// Widen returns the bounds around both.
func (w Way) Widen(v Way) Way {
	return Way{Soonest: min(w.Soonest, v.Soonest), Latest: max(w.Latest, v.Latest), Quick: min(w.Quick, v.Quick),
		Slow: max(w.Slow, v.Slow), Outside: max(w.Outside, v.Outside)}
}

// Measured is what is known of a number by its own traffic. The zero value is nothing.
type Measured struct {
	Messages int // that were measured
	// Usual has a thousandth of the messages outside at each end, Whole has none. Both bound the
	// messages of a second; the one that permits the higher rate is taken.
	Usual, Whole Way
	Inbound      int       // most messages that came in within a second, in the last 10 minutes
	Quiet        int       // and in the quietest of these minutes
	Heard        bool      // events of the number come in, so Inbound counts
	Refused      time.Time // when the service last refused a message for its throughput
	Lost         time.Time // when it was noticed that what came in before had been lost; zero: nothing was
}

// kept is how many messages of a second are kept for inbound: the most of the last 10 minutes and
// one more. If the minutes differ, the next ones will exceed that: then the difference is kept, up
// to the standard deviation of as many independent messages.
func (m Measured) kept() float64 {
	most := float64(m.Inbound)
	return most + math.Max(1, math.Min(float64(m.Inbound-m.Quiet), math.Ceil(math.Sqrt(most))))
}

// Merge returns what two processes that share a number measured together. The inbound messages are
// those of m.
func (m Measured) Merge(o Measured) Measured {
	switch {
	case m.Messages == 0:
		m.Usual, m.Whole = o.Usual, o.Whole
	case o.Messages > 0:
		outside := m.Usual.Outside + o.Usual.Outside
		m.Usual, m.Whole = m.Usual.Widen(o.Usual), m.Whole.Widen(o.Whole)
		m.Usual.Outside = outside
	}
	m.Messages += o.Messages
	if o.Refused.After(m.Refused) {
		m.Refused = o.Refused
	}
	if o.Lost.After(m.Lost) {
		m.Lost = o.Lost
	}
	return m
}

// Learned is a pace with what is kept back of the limit, each in messages per second.
type Learned struct {
	Rate     float64
	Limit    float64
	Late     time.Duration // a slot that is older is not used
	Inbound  float64
	Jitter   float64
	Outliers float64
	Rest     float64 // what is kept back in any case
	Why      string  // for people
}

// Parts is what is kept back of the limit, by its reason, in messages per second.
func (l Learned) Parts() map[string]float64 {
	return map[string]float64{"inbound": l.Inbound, "jitter": l.Jitter, "outliers": l.Outliers, "rest": l.Rest}
}

// numberMay begins the sum, so that Told finds it.
const numberMay = "its number may send "

// String is the sum for an operator: "its number may send 77.4 of 80 messages per second; kept back
// for inbound 1, jitter 1.55, outliers 0, the rest 0.05: the last messages were uneven by 20 ms".
func (l Learned) String() string {
	part := func(v float64) float64 { return math.Round(v*100) / 100 }
	return fmt.Sprintf(numberMay+"%.4g of %.4g messages per second; kept back for inbound %v, jitter %v, outliers %v, the rest %v: %s",
		l.Rate, l.Limit, part(l.Inbound), part(l.Jitter), part(l.Outliers), part(l.Rest), l.Why)
}

// Learn is the rate to send at by what was measured: the largest R with ceil(R x (1 + J)) + o at
// most the limit less the inbound messages, where J is the jitter in seconds and o how many
// messages were outside of it. It is never below the pace p, and that is only lowered for more
// inbound messages than its reserve.
func (p Pace) Learn(m Measured, now time.Time) Learned {
	l := p.unlearned(m)
	switch {
	case p.Fixed:
		l.Why = "a number that is also used on a phone keeps its pace"
		return l
	case !m.Heard:
		l.Why = "no event of this number came in lately, so nobody knows what else it carries"
		return l
	case now.Before(m.Refused.Add(AfterRefusal)):
		l.Why = "the service refused a message for the number's throughput; until " +
			m.Refused.Add(AfterRefusal).UTC().Format("15:04:05") + " UTC it stays so"
		return l
	case now.Before(m.Lost.Add(AfterLoss)):
		l.Why = "what came in before " + m.Lost.UTC().Format("15:04:05") + " UTC was lost with the memory of Redis; until " +
			m.Lost.Add(AfterLoss).UTC().Format("15:04:05") + " UTC it stays so"
		return l
	case m.Messages < LearnAfter:
		l.Why = fmt.Sprintf("%d of %d messages are measured", m.Messages, LearnAfter)
		return l
	}
	inbound := m.kept()
	for _, w := range []Way{m.Usual, m.Whole} {
		room := math.Floor(p.Limit-inbound) - float64(w.Outside)
		rate, jitter := w.fits(room, mostPart*p.Limit)
		if rate <= l.Rate {
			continue
		}
		l = Learned{Rate: rate, Limit: p.Limit, Inbound: inbound, Jitter: rate * jitter.Seconds(), Outliers: float64(w.Outside),
			Why: fmt.Sprintf("the last messages were uneven by %.3g ms", float64(jitter)/1e6)}
		l.Rest = math.Max(0, p.Limit-rate-l.Inbound-l.Jitter-l.Outliers)
		spread := time.Duration((room/rate - 1) * float64(time.Second))
		l.Late = min(max(w.Soonest+spread-w.answers(), 0), Lateness)
	}
	return l
}

// fits is the largest rate up to most at which no second has more messages than room, and the
// jitter at that rate. Slots that lie within Together are used at one instant.
func (w Way) fits(room, most float64) (rate float64, jitter time.Duration) {
	const apart = (1 - exact) * float64(time.Second) / float64(Together) // no two slots wait for each other
	alone := math.Min(room*(1-exact)/(1+w.jitter().Seconds()), most)
	jitter = w.jitter()
	if alone <= apart {
		return alone, jitter
	}
	w.Latest = max(w.Latest, w.Soonest+Together)
	if rate = math.Min(room*(1-exact)/(1+w.jitter().Seconds()), most); rate <= apart {
		return apart, jitter
	}
	return rate, w.jitter()
}

// unlearned is the pace as long as nothing is measured. Messages that come in are counted from the
// first on: more of them than the reserve lower it.
func (p Pace) unlearned(m Measured) Learned {
	l := Learned{Limit: p.Limit, Late: Lateness, Inbound: p.Reserve}
	if m.Heard && m.Inbound > 0 && !p.Fixed {
		l.Inbound = math.Max(l.Inbound, m.kept())
	}
	l.Rate = math.Max(p.Factor*(p.Limit-l.Inbound), math.Min(leastPart*p.Limit, p.Rate))
	l.Rest = math.Max(0, p.Limit-l.Inbound-l.Rate)
	return l
}

// Told reads what String says: the rate, and the whole sum. It reports false if text has no such
// sum. A sender reports it for other processes, after words of its own.
func Told(text string) (rate float64, sum string, ok bool) {
	_, sum, ok = strings.Cut(text, numberMay)
	if !ok {
		return 0, "", false
	}
	_, err := fmt.Sscanf(sum, "%g of", &rate)
	return rate, sum, err == nil && rate > 0
}
