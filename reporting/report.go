package reporting

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/file"
	"campaignd/campaign/wording"
	"campaignd/internal/messaging"
)

// Report is a run in figures. Scripts rely on its JSON
// (docs/operations.md#what-scripts-may-rely-on): members may be added, never renamed.
type Report struct {
	Run RunFacts `json:"run"`
	// Rows is the number of rows of the list, or of the rows so far while it is imported.
	Rows int64 `json:"rows"`
	// Totals counts each delivery once, under its shown status; they add up to Rows.
	Totals Totals `json:"totals"`
	// Skipped counts by campaign.SkipReason.
	Skipped map[string]int64 `json:"skipped"`
	// Failed counts by the platform's code; campaign.NoCode when the event had none.
	Failed map[string]int64 `json:"failed"`
	// Refused counts by the service's error code.
	Refused map[string]int64 `json:"refused"`
	// Explanations have, by code of Refused, what was said of a row with the code, if it was found in
	// a few milliseconds.
	Explanations map[string]string `json:"explanations,omitempty"`
	Funnel       Funnel            `json:"funnel"`
	// Responses are the replies and opt-outs after its messages (docs/protocol.md#responses); nil if
	// the run began before the ledger kept them.
	Responses *campaign.Responses `json:"responses,omitempty"`
	// Conversions are the orders that the run brought; nil if its campaign counts none.
	Conversions *conversion.Conversions `json:"conversions,omitempty"`
	// Lift compares the people of the run with those it held out; nil if it held out nobody.
	Lift *conversion.Lift `json:"lift,omitempty"`
	// Moved counts the rows that moved between connections (docs/limits.md#several-numbers).
	Moved []wording.MovedRows `json:"moved,omitempty"`
	// Cost is nil if no price of a message was told. The caller sets it (CostOf).
	Cost *Cost `json:"cost,omitempty"`
	// Service compares with what the service counts, if that was asked for. The caller sets it.
	Service *Comparison `json:"service,omitempty"`
	// RefusedEvents says which events of webhooks are refused for their signature, so that the totals
	// lack statuses; "": none. The caller sets it.
	RefusedEvents string `json:"refused_events,omitempty"`
	// NoEvents says that no event has come about accepted messages, so that nobody knows whether they
	// were delivered; "": events have come.
	NoEvents string `json:"no_events,omitempty"`
	// Holds stop messages of the run now. The caller sets them: what a hold names of a connection is
	// not in the ledger.
	Holds []wording.HoldState `json:"holds"`
}

// RunFacts are the facts of a run in a report. Times are UTC; zero times are left out.
type RunFacts struct {
	ID        string               `json:"id"`
	Campaign  string               `json:"campaign"`
	State     campaign.State       `json:"state"`
	Reason    campaign.PauseReason `json:"reason,omitempty"` // of paused
	Detail    string               `json:"detail,omitempty"`
	Wanted    campaign.Wanted      `json:"wanted,omitempty"`
	List      string               `json:"list"`
	ListHash  string               `json:"list_hash"` // SHA-256, lower hex
	Launch    string               `json:"launch,omitempty"`
	FollowUp  campaign.RunNo       `json:"follow_up_of,omitempty"` // number of the earlier run
	Template  string               `json:"template"`
	Language  string               `json:"language"`
	Marketing bool                 `json:"marketing"`
	CreatedAt time.Time            `json:"created_at,omitzero"`
	StartedAt time.Time            `json:"started_at,omitzero"`
	EndedAt   time.Time            `json:"ended_at,omitzero"`
	Timezone  string               `json:"timezone,omitempty"` // of the campaign's window, else of its schedule
	Retired   campaign.Retired     `json:"retired,omitzero"`   // rows that retention deleted; the totals count them
}

// Totals counts the deliveries of each status. Every status is always a key.
type Totals map[campaign.Status]int64

// sum is the number of deliveries counted.
func (t Totals) sum() int64 {
	var sum int64
	for _, n := range t {
		sum += n
	}
	return sum
}

// MarshalJSON writes the statuses in the order of campaign.Statuses.
func (t Totals) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, s := range campaign.Statuses {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%d", string(s), t[s])
	}
	return []byte("{" + b.String() + "}"), nil
}

// Funnel counts how far deliveries ever came. It is cumulative: a delivery that was read counts as
// Accepted, Sent, Delivered and Read.
type Funnel struct {
	Sendable       int64 `json:"sendable"` // rows that are not skipped
	Accepted       int64 `json:"accepted"`
	Sent           int64 `json:"sent"`
	Delivered      int64 `json:"delivered"`
	Read           int64 `json:"read"`
	Failed         int64 `json:"failed"`          // a failed event came; delivered or read may be known, too
	Adopted        int64 `json:"adopted"`         // a webhook proved the acceptance, since the answer was lost
	MaybeDuplicate int64 `json:"maybe_duplicate"` // sent again after a doubt, by the operator's choice
	Ambiguous      int64 `json:"ambiguous"`       // webhooks that fit more than one doubt
}

// Build reads the figures of a run. It may be called at any time, also while
// the run is sending.
func Build(ctx context.Context, l campaign.ReportLedger, run campaign.Run) (*Report, error) {
	tallies, funnel, err := l.Tallies(ctx, run.No)
	if err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	r := &Report{
		Run:     factsOf(run),
		Rows:    run.Rows,
		Totals:  totalsOf(tallies),
		Skipped: map[string]int64{},
		Failed:  map[string]int64{},
		Refused: map[string]int64{},
		Holds:   []wording.HoldState{},
	}
	if run.State == campaign.Importing {
		r.Rows = r.Totals.sum() // run was read before the tallies, and rows may have been added since
	}
	for _, t := range tallies {
		switch reason := t.Reason; t.Status {
		case campaign.Skipped:
			r.Skipped[reason] += t.N
		case campaign.Failed:
			r.Failed[codeOr(reason)] += t.N
		case campaign.Refused:
			r.Refused[codeOr(reason)] += t.N
		}
	}
	if r.Explanations, err = explanations(ctx, l, run.No, r.Refused); err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	segments, err := l.SegmentStates(ctx, run.No)
	if err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	r.Moved = wording.RowsMoved(segments)
	r.Funnel = Funnel{
		Sendable: r.Totals.sum() - r.Totals[campaign.Skipped],
		Accepted: funnel.Accepted, Sent: funnel.Sent, Delivered: funnel.Delivered, Read: funnel.Read, Failed: funnel.Failed,
		Adopted: funnel.Adopted, MaybeDuplicate: funnel.MaybeDuplicate, Ambiguous: funnel.Ambiguous,
	}
	r.NoEvents = wording.Unseen(funnel.Accepted, r.Totals[campaign.Accepted], run.State.Ended())
	if r.Responses, err = l.Responses(ctx, run.No); err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	return r, r.convert(ctx, l, run, segments)
}

// mostExplained bounds the codes whose rows explanations looks for, about 8 ms each.
const mostExplained = 3

// explanations returns what was said of one row of each of the most frequent codes. The sentence of
// a code is the same for each of its causes; only the answer says which value, template or setting
// is at fault.
func explanations(ctx context.Context, l campaign.ReportLedger, no campaign.RunNo, refused map[string]int64) (map[string]string, error) {
	codes := slices.SortedFunc(maps.Keys(refused), func(a, b string) int {
		return cmp.Or(cmp.Compare(refused[b], refused[a]), cmp.Compare(a, b))
	})
	var said map[string]string
	for _, code := range codes[:min(len(codes), mostExplained)] {
		page, _, err := l.SelectLines(ctx, no, campaign.LineFilter{Status: campaign.Refused, Code: code}, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 || page[0].Note == "" || page[0].Note == messaging.Sentence(code) {
			continue
		}
		if said == nil {
			said = map[string]string{}
		}
		said[code] = page[0].Note
	}
	return said, nil
}

// Unresolved counts the rows that are unsent or uncertain: queued, sending, in_doubt and unknown.
// `run` exits with 3 if it is not 0, or if the run is paused or cancelled
// (docs/operations.md#commands-and-exit-codes).
func (r *Report) Unresolved() int64 {
	return r.Totals[campaign.Queued] + r.Totals[campaign.Sending] + r.Totals[campaign.InDoubt] + r.Totals[campaign.Unknown]
}

// JSON is the report for scripts: indented, with a newline at the end.
func (r *Report) JSON() ([]byte, error) {
	return indented(r)
}

func indented(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

func factsOf(run campaign.Run) RunFacts {
	return RunFacts{
		ID: run.ID(), Campaign: run.Campaign, State: run.State, Reason: run.Reason, Detail: run.Detail, Wanted: run.Wanted,
		List: run.List(), ListHash: run.ListHash, Launch: run.Launch, FollowUp: run.Parent,
		Template: run.Template, Language: run.Language, Marketing: run.Marketing,
		CreatedAt: run.CreatedAt.UTC(), StartedAt: run.StartedAt.UTC(), EndedAt: run.EndedAt.UTC(), Retired: run.Retired,
		Timezone: file.ZoneOf(run),
	}
}

// totalsOf sums tallies by status, with a key for every status.
func totalsOf(tallies []campaign.Tally) Totals {
	t := make(Totals, len(campaign.Statuses))
	for _, s := range campaign.Statuses {
		t[s] = 0
	}
	for _, g := range tallies {
		t[g.Status] += g.N
	}
	return t
}

func codeOr(code string) string {
	if code == "" {
		return campaign.NoCode
	}
	return code
}
