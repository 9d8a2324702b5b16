package reporting

import (
	"fmt"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
)

// Cause is the likely cause why the service counts otherwise than the ledger.
type Cause string

// The causes.
const (
	CauseRetention  Cause = "retention"   // rows of the run were deleted here
	CauseAnotherDay Cause = "another_day" // the sums over the days are the same
	CauseDoubt      Cause = "doubt"       // messages here are in doubt
	CauseOtherRuns  Cause = "other_runs"  // other runs here sent the template
	CauseToday      Cause = "today"       // the day is not over
	CauseRefused    Cause = "refused"     // events are refused for their signature
	CauseNoStatus   Cause = "no_status"   // statuses did not come here
	CauseElsewhere  Cause = "elsewhere"   // somebody else sent the template
	CauseBehind     Cause = "behind"      // the counts of the service are behind
)

// causeOf returns the first cause that fits a day whose counts differ, and its sentence. sum are
// the differences of all days of the account.
func causeOf(d ComparedDay, ours *ourDay, sum Counted, run campaign.Run, a Against) (Cause, string) {
	differ := d.Difference
	more := max(differ.Sent, differ.Delivered, differ.Read)
	others := sentBeside(d, run, a)
	today := d.Date == dateOf(a.Now)
	replay := "`campaignd webhooks replay --since " + d.Date + "T00:00:00Z` asks for them again"
	switch {
	case differ == Counted{}:
		return "", ""
	case run.Retired.Rows > 0:
		return CauseRetention, "rows of the run were deleted here by retention.deliveries; the service still counts them"
	case sum == Counted{}:
		return CauseAnotherDay, "over all days both counts are the same: the service counts messages near midnight on another day"
	case differ.Sent > 0 && differ.Sent <= ours.doubts:
		return CauseDoubt, fmt.Sprintf("%s of this day in doubt: the service may have sent them",
			sentence.Count(ours.doubts, "message is", "messages are"))
	case more > 0 && len(others) > 0:
		return CauseOtherRuns, "the service counts the whole template, and other runs sent it too: " + strings.Join(others, ", ")
	case more > 0 && a.RefusedEvents != "":
		return CauseRefused, "statuses did not come here: " + a.RefusedEvents
	case today:
		return CauseToday, "the day is not over: statuses and the counts of the service are still to come"
	case differ.Sent > 0 && differ.Sent <= ours.silent:
		return CauseNoStatus, fmt.Sprintf("no status came for %s of this day: %s",
			sentence.Count(ours.silent, "accepted message", "accepted messages"), replay)
	case more > 0 && differ.Sent <= 0:
		return CauseNoStatus, "statuses of messages did not come here: " + replay
	case more > 0:
		return CauseElsewhere, "messages of the template are not of this ledger: test messages, or another program with the same account"
	}
	return CauseBehind, "the service counts fewer than its own events told: its counts may be behind; compare again later"
}

// sentBeside lists the other runs that may have sent the template in the account on the day, at
// most 3.
func sentBeside(d ComparedDay, run campaign.Run, a Against) (ids []string) {
	own := a.Origin(d.Connections[0])
	near := func(connection string) bool {
		o := a.Origin(connection)
		return o.Account == own.Account || o.Company != "" && o.Company == own.Company
	}
	for _, r := range a.Others {
		begins, ends := dateOf(firstOf(r.StartedAt, r.CreatedAt)), d.Date
		if !r.EndedAt.IsZero() {
			ends = dateOf(r.EndedAt.AddDate(0, 0, 1)) // most statuses come within a day
		}
		if r.No == run.No || r.Template != run.Template || r.Language != run.Language || d.Date < begins || d.Date > ends {
			continue
		}
		if def, err := file.ParseStored(r.ID(), r.Definition); err == nil && slices.ContainsFunc(def.Connections, near) {
			ids = append(ids, r.ID())
		}
	}
	if len(ids) > 3 {
		ids = append(ids[:3], sentence.Count(len(ids)-3, "other", "others"))
	}
	return ids
}

// service shows the template as the ledger and the service count it.
func (p page) service(r *Report) {
	c := r.Service
	if c == nil {
		return
	}
	fmt.Fprintf(p.w, "\n%s by day (UTC), as counted here and at the service\n",
		printable(strings.TrimSpace("template "+c.Template+" "+c.Language)))
	const columns = "  %-10s  %9s %9s  %9s %9s  %9s %9s  %s\n"
	if len(c.Days) > 0 {
		fmt.Fprintf(p.w, columns, "DAY", "SENT", "THERE", "DELIVERED", "THERE", "READ", "THERE", "OVER")
	}
	var differs []entry
	for _, d := range c.Days {
		o, t, over := d.Ours, d.Theirs, printable(strings.Join(d.Connections, ", "))
		fmt.Fprintf(p.w, columns, d.Date, count(o.Sent), count(t.Sent), count(o.Delivered), count(t.Delivered),
			count(o.Read), count(t.Read), over)
		if d.Sentence != "" {
			differs = append(differs, entry{d.Date, "", d.Sentence})
		}
	}
	for _, n := range c.Notes {
		differs = append(differs, entry{"note", "", n})
	}
	if len(differs) == 0 {
		differs = append(differs, entry{"same", "", "both sides count the same"})
	}
	p.block("what differs, and why", differs)
}
