package conversion

import (
	"math"
	"time"
)

// Lift compares the people whom a run was to reach with those it held out. Scripts rely on the
// JSON.
type Lift struct {
	Treated          int64 `json:"treated"` // whom the import queued, whatever became of them
	TreatedConverted int64 `json:"treated_converted"`
	HeldOut          int64 `json:"held_out"`
	HeldOutConverted int64 `json:"held_out_converted"`
	// Difference is the share of the treated who converted minus the share of the held out, from -1 to
	// 1. Low and High are its 95 % interval.
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	// Until is when the last order that counts may be created; zero while the run has not ended.
	Until time.Time `json:"until,omitzero"`
	// EndedBy is the run that sent to the people who were held out while they were compared, from
	// Until on; "": none did.
	EndedBy string `json:"ended_by,omitempty"`
	Warning string `json:"warning,omitempty"` // why the figures say little; "": they are fit for use
}

// FewPeople is how many people a group has at least without a warning. If 2 % buy, 2 buyers
// are expected among 100 people, and the interval is wider than any effect of a message.
const FewPeople = 100

// z95 is the 97.5 % quantile of the normal distribution: 2.5 % lie beyond each end of a 95 %
// interval.
const z95 = 1.959963984540054

// NewLift returns the difference of two shares with Newcombe's interval (method 10 of
// docs/commerce.md#lift). It holds for small shares, where the usual interval is too narrow. With
// nobody in a group nothing is known: the interval is from -1 to 1.
func NewLift(treated, treatedConverted, heldOut, heldOutConverted int64) Lift {
	l := Lift{Treated: treated, TreatedConverted: treatedConverted, HeldOut: heldOut, HeldOutConverted: heldOutConverted,
		Low: -1, High: 1}
	switch {
	case treated == 0 || heldOut == 0:
		l.Warning = "a group has nobody, so there is nothing to compare"
		return l
	case min(treated, heldOut) < FewPeople:
		l.Warning = "a group has fewer than 100 people: the difference may be chance"
	}
	p1, low1, high1 := wilson(treatedConverted, treated)
	p2, low2, high2 := wilson(heldOutConverted, heldOut)
	difference := p1 - p2
	l.Difference = rounded(difference)
	l.Low = rounded(difference - math.Hypot(p1-low1, high2-p2))
	l.High = rounded(difference + math.Hypot(high1-p1, p2-low2))
	return l
}

// rounded keeps six digits, so that a report shows no noise of the arithmetic.
func rounded(share float64) float64 { return math.Round(share*1e6) / 1e6 }

// wilson returns the share of x in n with its 95 % score interval (docs/commerce.md#lift).
func wilson(x, n int64) (p, low, high float64) {
	p = float64(x) / float64(n)
	square, size := z95*z95, float64(n)
	middle := (p + square/(2*size)) / (1 + square/size)
	half := z95 * math.Sqrt(p*(1-p)/size+square/(4*size*size)) / (1 + square/size)
	return p, middle - half, middle + half
}
