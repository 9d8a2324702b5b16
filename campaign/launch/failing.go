package launch

import (
	"fmt"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// Finals count accepted messages about which an event has come. It is the breaker for messages that
// were accepted and failed later: the answers to their requests showed nothing
// (docs/limits.md#accepted-and-failed-later).
type Finals struct {
	faults map[string]int64 // failed, and not because of its recipient, by code
	all    int64
}

// The breaker trips as that of the answers does: when 20 of 25 have the same fault.
const (
	finalsLeast = 25
	finalsShare = 0.8
)

// FinalsOf counts the messages of a run.
func FinalsOf(tallies []campaign.Tally) Finals {
	f := Finals{faults: map[string]int64{}}
	for _, t := range tallies {
		switch t.Status {
		case campaign.Failed:
			f.all += t.N
			if messaging.FaultOfMessage(t.Reason) {
				f.faults[codeOf(t.Reason)] += t.N
			}
		case campaign.Sent, campaign.Delivered, campaign.Read:
			f.all += t.N
		}
	}
	return f
}

func codeOf(code string) string {
	if code == "" {
		return campaign.NoCode
	}
	return code
}

// Add adds what was counted at now and not yet at before, the reading before it.
func (f *Finals) Add(now, before Finals) {
	f.all += max(now.all-before.all, 0)
	if f.faults == nil {
		f.faults = map[string]int64{}
	}
	for code, n := range now.faults {
		f.faults[code] += max(n-before.faults[code], 0)
	}
}

// Judge reports whether the messages are enough for a verdict. It returns the fault that most of
// them have, with a sentence; "": none.
func (f Finals) Judge() (code, text string, enough bool) {
	for c, n := range f.faults {
		if float64(n) >= finalsShare*float64(f.all) {
			code, text = c, fmt.Sprintf("%d of the last %d messages were accepted and failed later with %s: %s", n, f.all, c, codeSentence(c))
		}
	}
	if f.all < finalsLeast {
		return "", "", false
	}
	return code, text, true
}

// Fails reports whether messages have the fault.
func (f Finals) Fails(code string) bool { return f.faults[code] > 0 }

func codeSentence(code string) string {
	if code == campaign.NoCode {
		return "no code came with it"
	}
	return messaging.Sentence(code)
}
