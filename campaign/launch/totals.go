package launch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
	"campaignd/throttle/throughput"
)

// defaultPace is the pace of a number without configuration, in messages per second
// (docs/limits.md#pace), rounded to a ten-thousandth.
func defaultPace(n messaging.Number) float64 {
	pace := throughput.Number{Limit: n.Throughput, Level: n.Level, Coexistence: n.Coexistence}.Pace()
	return math.Round(pace.Rate*1e4) / 1e4
}

// totals adds the findings that follow from the counts.
func (c *check) totals() {
	p, d := c.p, c.d
	if d.Limits.Rate > 0 && (p.Pace == 0 || d.Limits.Rate < p.Pace) {
		p.Pace = d.Limits.Rate
	}
	send := p.Sendable
	if limit := d.Policies.FrequencyCap; p.Capped > 0 {
		becomes := "are skipped (frequency_cap)"
		if limit.Action == campaign.CapDefer {
			becomes = "wait until it allows another one"
		} else {
			send -= p.Capped
		}
		c.sayOf(p.Capped, file.KindFrequencyCap, "policies.frequency_cap",
			fmt.Sprintf("%s already had as many messages as it allows (%d in %s): if they are sent to now, they %s",
				sentence.Count(p.Capped, "recipient has", "recipients have"), limit.Messages, limit.Per, becomes),
			"")
	}
	if most := d.Limits.MaxMessages; most > 0 && send > most {
		c.sayOf(send-most, file.KindMaxMessages, "limits.max_messages",
			fmt.Sprintf("%s can be sent and the limit is %d: %s skipped (over_limit)", sentence.Count(send, "row", "rows"), most,
				sentence.Count(send-most, "becomes", "become")),
			"")
		send = most
	}
	if p.Pace > 0 {
		const century = 100 * 365 * 24 * time.Hour // a Duration holds almost three
		p.Duration = time.Duration(min(float64(send)/p.Pace, century.Seconds()) * float64(time.Second)).Round(time.Second)
		p.Seconds = p.Duration.Seconds()
	}
	if after := d.Limits.NotAfter.Std(); after > 0 && p.Duration > after {
		c.say(file.KindDeadline, "limits.not_after",
			fmt.Sprintf("sending takes about %s at %.1f messages per second: what is left after %s is skipped (expired)",
				campaign.Duration(p.Duration), p.Pace, d.Limits.NotAfter),
			"raise not_after, add connections, or send a shorter list")
	}
	if kind, m := d.Template.Header.Media(); m != nil && m.Link == "" && p.Duration > 25*24*time.Hour {
		c.say(file.KindMedia, "template.header."+kind,
			fmt.Sprintf("sending takes about %s, and the service deletes media 30 days after upload", campaign.Duration(p.Duration)),
			"send in parts")
	}
	if c.tiers > 0 && !c.noTier && send > c.tiers {
		c.sayOf(send-c.tiers, file.KindQuota, "connections",
			fmt.Sprintf("%s, but the numbers may reach at most %d people in 24 hours: "+
				"the others wait until places of the tier are free", sentence.Count(send, "recipient", "recipients"), c.tiers),
			"add connections of another portfolio, or let it take longer; connections of one portfolio share its tier")
	}
	if p.Marketing {
		for _, n := range p.Countries {
			if n.Country == "US" {
				// Since 1 April 2025; 131049 arrives by webhook (docs/service.md#errors).
				c.sayOf(n.Rows, file.KindCategory, "template.category",
					fmt.Sprintf("%s US numbers: the platform delivers no marketing templates to them (131049), "+
						"and each attempt counts against the allowance", sentence.Count(n.Rows, "recipient has", "recipients have")),
					"take them out of the list")
			}
		}
	}
	if c.longest > file.OldCopyCode {
		c.say(file.KindTemplate, "template.buttons",
			fmt.Sprintf("the longest coupon code has %d characters: %d are allowed since December 2025, "+
				"but two of the platform's pages still say %d", c.longest, file.MaxCopyCode, file.OldCopyCode),
			"")
	}
	if p.Sendable == 0 && len(p.Errors()) == 0 {
		p.listFault = true
		none := fmt.Sprintf("none of the %d rows can be sent", p.Rows)
		if p.Rows == 1 {
			none = "its only row cannot be sent"
		}
		if reasons := p.reasons(); reasons != "" {
			none += ": " + reasons
		}
		p.Findings = append(p.Findings, file.Finding{Level: file.LevelError, Where: c.in.List, What: none,
			Remedy: "`campaignd check` lists the rows"})
	}
}

// mostReasons is how many reasons a message of an error names.
const mostReasons = 3

// reasons counts the rows that are not sent by their reasons, the most frequent first. A single
// reason has its sentence.
func (p *Preflight) reasons() string {
	reasons := slices.DeleteFunc(slices.Clone(campaign.SkipReasons), func(r campaign.SkipReason) bool { return p.Skipped[r] == 0 })
	if len(reasons) == 1 {
		return string(reasons[0]) + ", " + reasons[0].Sentence()
	}
	slices.SortStableFunc(reasons, func(a, b campaign.SkipReason) int { return cmp.Compare(p.Skipped[b], p.Skipped[a]) })
	var counts []string
	for _, r := range reasons[:min(len(reasons), mostReasons)] {
		counts = append(counts, fmt.Sprintf("%d %s", p.Skipped[r], r))
	}
	if left := len(reasons) - len(counts); left > 0 {
		counts = append(counts, sentence.Count(int64(left), "other reason", "other reasons"))
	}
	return strings.Join(counts, ", ")
}
