package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// SentWithin is how long a message counts for the people who got a template before, unless the
// configuration has another time (sent_before.within).
const SentWithin = 30 * 24 * time.Hour

// mostSent is how many rows of earlier runs are compared with a list, those of the newest runs
// first: SQLite reads a million in 3 s.
const mostSent = 10_000_000

// sentLedger is what the comparison with earlier runs reads.
type sentLedger interface {
	Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error)
	Runs(ctx context.Context, f campaign.RunFilter) ([]campaign.Run, error)
	campaign.RepeatLedger
}

// Repeats asks a preflight who of its list got the template, in any language, from an earlier run
// of any campaign (docs/lists.md#people-who-got-the-template-before).
type Repeats struct {
	Ledger sentLedger
	Within time.Duration // 0: SentWithin
	// LeaveOut skips these people as sent_before.
	LeaveOut bool
	// Exempt leaves out the comparison for a template that is not marketing, unless the campaign has a
	// policy for it.
	Exempt bool
	// Others leaves out the runs of the campaign itself, and own is a run that does not count.
	Others bool
	own    campaign.RunNo
}

// SentBefore says how many people of a list got its template before.
type SentBefore struct {
	// People are those who got it since then, who may have got it, or to whom an unfinished run is to
	// send it.
	People int64     `json:"people"`
	Of     int64     `json:"of"` // the people of the list who can be sent to
	Since  time.Time `json:"since"`
	// Runs have these people, the newest first. With Unfinished, one of them has not ended.
	Runs       []string `json:"runs,omitempty"`
	Unfinished bool     `json:"unfinished,omitempty"`
	// NotCompared are runs of the template that were not compared, or not wholly: together the runs
	// have too many rows, the import of one has not ended, or retention deleted rows.
	NotCompared []string `json:"not_compared,omitempty"`
}

// Any reports whether somebody got the template before, or may have.
func (s *SentBefore) Any() bool { return s != nil && (s.People > 0 || len(s.NotCompared) > 0) }

// String is the comparison in a sentence without its end.
func (s *SentBefore) String() string {
	text := fmt.Sprintf("%d of %d got this template since %s", s.People, s.Of, s.Since.UTC().Format("2 January"))
	if s.Unfinished {
		text += ", or are about to get it"
	}
	if len(s.Runs) > 0 {
		text += ", from " + someOf(s.Runs)
	}
	if len(s.NotCompared) > 0 {
		text += "; not compared: " + someOf(s.NotCompared)
	}
	return text
}

// someOf names at most three runs.
func someOf(ids []string) string {
	shown := ids[:min(len(ids), 3)]
	text := strings.Join(shown, ", ")
	if more := len(ids) - len(shown); more > 0 {
		text += " and " + sentence.Count(int64(more), "other run", "other runs")
	}
	return text
}

// SentBeforeError says that a launch would send a template to people who got it before.
type SentBeforeError struct {
	SentBefore
	ByHand bool // a person launches, and can choose
	Late   bool // a firing that is late
}

// Error is the comparison, and the ways out.
func (e *SentBeforeError) Error() string {
	if e.Late {
		return e.SentBefore.String() + ", so it was not launched this late; to send it all the same, give schedule.at a time to come"
	}
	if !e.ByHand {
		return e.SentBefore.String() + ", so it was not launched"
	}
	return e.SentBefore.String() + "; nothing was sent\n--leave-out-sent sends to the others only, and --send-again to all of them"
}

// compared divides the runs of a template since an instant into those that are compared, and those
// that are beyond the bound.
func compared(
	ctx context.Context, l sentLedger, template string, since time.Time, except func(campaign.Run) bool,
) (runs, beyond []campaign.Run, err error) {
	if template == "" { // of an earlier version
		return nil, nil, nil
	}
	all, err := l.Runs(ctx, campaign.RunFilter{Template: template, EndedAfter: since})
	if err != nil {
		return nil, nil, fmt.Errorf("read runs: %w", err)
	}
	rows := int64(0)
	for _, run := range all {
		switch {
		case run.Wanted == campaign.WantCancel && run.StartedAt.IsZero() || except != nil && except(run):
			continue
		case rows+run.Rows > mostSent:
			beyond, rows = append(beyond, run), mostSent // older runs are not compared either
			continue
		}
		rows += run.Rows
		runs = append(runs, run)
	}
	return runs, beyond, nil
}

// sends reports whether a run may still send to its queued rows.
func sends(r campaign.Run) bool { return !r.State.Ended() && r.Wanted != campaign.WantCancel }

// sentSince is the time from which messages count.
func sentSince(now time.Time, within time.Duration) time.Time {
	return now.Add(-cmp.Or(within, SentWithin)).UTC()
}

// compare returns which of keys, which are folded, got the template.
func (r *Repeats) compare(
	ctx context.Context, template string, keys *recipients.KeySet, except func(campaign.Run) bool,
) (*recipients.KeySet, *SentBefore, error) {
	out, met := &SentBefore{Since: sentSince(time.Now(), r.Within)}, new(recipients.KeySet)
	runs, beyond, err := compared(ctx, r.Ledger, template, out.Since, except)
	if err != nil {
		return nil, nil, err
	}
	for _, run := range beyond {
		out.NotCompared = append(out.NotCompared, run.ID())
	}
	for _, run := range runs {
		found := false
		for row, err := range r.Ledger.SentRows(ctx, run.No, campaign.SentFilter{Since: out.Since, Queued: sends(run)}) {
			if err != nil {
				return nil, nil, fmt.Errorf("read %s: %w", run.ID(), err)
			}
			if key := recipients.Fold(row.Key); keys.Has(key) {
				met.Add(key)
				found = true
			}
		}
		if found {
			out.Runs, out.Unfinished = append(out.Runs, run.ID()), out.Unfinished || sends(run)
		}
		if run.State == campaign.Importing && sends(run) || run.Retired.Rows > 0 {
			out.NotCompared = append(out.NotCompared, run.ID())
		}
	}
	return met, out, nil
}

// sentBefore compares the list of the preflight with earlier runs of the template.
func (c *check) sentBefore(ctx context.Context) error {
	r := c.in.Repeats
	if r == nil || r.Exempt && !c.p.Marketing && c.d.Policies.SentBefore == "" {
		return nil
	}
	keys, err := keysOf(ctx, c.in.List, c.d.ListOptions(c.in.List))
	var bad *recipients.FileError
	if errors.As(err, &bad) { // the preflight finds it too
		return nil
	}
	if err == nil {
		c.met, c.p.SentBefore, err = r.compare(ctx, c.d.Template.Name, keys, func(run campaign.Run) bool {
			return run.No == r.own || r.Others && run.Campaign == c.d.Name
		})
	}
	return err
}

// leaveOutSent counts the rows of a batch whose people got the template before, and marks those
// that are left out.
func (c *check) leaveOutSent(batch []pending) {
	if c.p.SentBefore == nil {
		return
	}
	for i := range batch {
		r := &batch[i]
		if r.Skip != "" {
			continue
		}
		c.p.SentBefore.Of++
		if !c.met.Has(recipients.Fold(r.Key)) {
			continue
		}
		c.p.SentBefore.People++
		if c.in.Repeats.LeaveOut {
			r.Skip, r.Note = campaign.SentBefore, fmt.Sprintf("line %d: %s", r.line, campaign.SentBefore.Sentence())
		}
	}
}

// byHand reports whether a person launches a run with this launch key.
func byHand(key string) bool {
	return !strings.HasPrefix(key, campaign.FiringKey) && !strings.HasPrefix(key, campaign.DropKey) && key != AutoFollowUp
}

// leavesOut reports whether the run of a launch is to leave out who got its template before.
func (l Request) leavesOut(def *file.Definition) bool {
	return l.LeaveOutSent || def.Policies.SentBefore == file.SentBeforeLeaveOut && !l.SendAgain
}

// repeats is the comparison of a launch; nil: none is made. Without a person, runs of the campaign
// itself do not count: a recurring campaign sends its template to the same people again. They do
// not count either if a person wants another run of the campaign (New), unless people are left out.
func (l Request) repeats(def *file.Definition) *Repeats {
	leaveOut := l.leavesOut(def)
	if l.SendAgain && !leaveOut {
		return nil
	}
	return &Repeats{Ledger: l.Ledger, Within: l.SentWithin, LeaveOut: leaveOut, Exempt: !l.LeaveOutSent && !l.Late,
		Others: !byHand(l.Key) || l.New && !leaveOut, own: l.own}
}

// refuseRepeats refuses a new run after its preflight, if its people got the template before and
// nobody said what to do about them.
func (l Request) refuseRepeats(ctx context.Context, def *file.Definition, list, hash string, checked *Preflight) error {
	s := checked.SentBefore
	switch {
	case s == nil && byHand(l.Key) && !l.New && !l.SendAgain: // a template that is exempt
		return l.sentBefore(ctx, def, list, hash, func(r campaign.Run) bool { return !mayStillSend(r) })
	case !s.Any() || l.leavesOut(def):
		return nil
	case byHand(l.Key):
		return &SentBeforeError{SentBefore: *s, ByHand: true}
	case l.Late, def.Policies.SentBefore == file.SentBeforeRefuse:
		return &SentBeforeError{SentBefore: *s, Late: l.Late}
	}
	return nil
}

// warning is what a launch without a person tells of people who got the template before; "":
// nothing.
func (s *SentBefore) warning(run campaign.Run) string {
	if byHand(run.Launch) || run.LeaveOut && (s == nil || len(s.NotCompared) == 0) || !s.Any() {
		return ""
	}
	return s.String()
}

// repeatsAtOnce is how many repeats one transaction stores.
const repeatsAtOnce = 5000

// addRepeats stores which rows of an imported run and of other runs of its template have the same
// people, where one of the two runs leaves people out, and notes the warning. If two runs are
// imported at the same time, the one that comes here later finds all rows of the other. family has
// the runs whose rows run has, as a follow-up.
func addRepeats(ctx context.Context, l sentLedger, run campaign.Run, within time.Duration, family map[campaign.RunNo]bool,
	warning string) error {
	since := sentSince(run.CreatedAt, within)
	counts := func(a, b campaign.Run) bool { // for a, b is another run
		return a.LeaveOut && sends(a) && (a.Campaign != b.Campaign || byHand(a.Launch))
	}
	runs, _, err := compared(ctx, l, run.Template, since, func(o campaign.Run) bool {
		return o.No == run.No || family[o.No] || !counts(run, o) && !counts(o, run)
	})
	if err != nil {
		return err
	}
	var own []campaign.SentRow
	if len(runs) > 0 {
		if own, err = sentRows(ctx, l, run, campaign.SentFilter{Queued: true}); err != nil {
			return err
		}
		slices.SortFunc(own, func(a, b campaign.SentRow) int { return cmp.Compare(a.Key, b.Key) })
	}
	var all []campaign.Repeat
	store := func(least int) error {
		if len(all) < least {
			return nil
		}
		if err := l.AddRepeats(ctx, all); err != nil {
			return fmt.Errorf("store whom %s leaves out: %w", run.ID(), err)
		}
		all = all[:0]
		return ctx.Err()
	}
	for _, o := range runs {
		for row, err := range l.SentRows(ctx, o.No, campaign.SentFilter{Since: since, Queued: sends(o), Failed: true}) {
			if err != nil {
				return fmt.Errorf("read %s: %w", o.ID(), err)
			}
			key := recipients.Fold(row.Key)
			i, same := slices.BinarySearchFunc(own, key, func(a campaign.SentRow, key int64) int { return cmp.Compare(a.Key, key) })
			if same && counts(run, o) {
				all = append(all, campaign.Repeat{Run: run.No, Seq: own[i].Seq, Other: o.No, OtherSeq: row.Seq})
			}
			if same && counts(o, run) {
				all = append(all, campaign.Repeat{Run: o.No, Seq: row.Seq, Other: run.No, OtherSeq: own[i].Seq})
			}
			if err := store(repeatsAtOnce); err != nil {
				return err
			}
		}
	}
	if err := store(1); err != nil || warning == "" {
		return err
	}
	if err := l.NoteRepeats(ctx, run.No, warning); err != nil {
		return fmt.Errorf("note who got the template of %s before: %w", run.ID(), err)
	}
	return nil
}

// sentRows reads rows of a run, with folded keys.
func sentRows(ctx context.Context, l sentLedger, run campaign.Run, f campaign.SentFilter) (all []campaign.SentRow, err error) {
	for row, err := range l.SentRows(ctx, run.No, f) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", run.ID(), err)
		}
		all = append(all, campaign.SentRow{Key: recipients.Fold(row.Key), Seq: row.Seq})
	}
	return all, nil
}
