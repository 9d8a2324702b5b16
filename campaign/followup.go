package campaign

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/recipients"
)

// LimitedAgain is the platform's code for the marketing limit of one recipient, and limitedWait how
// long it is to be left alone: a try within a day fails again (platform.md 3).
const (
	LimitedAgain = "131049"
	limitedWait  = 24 * time.Hour
)

// acceptedNoID is the reason of a doubt whose message the service did accept (messaging.DoubtNoID).
const acceptedNoID = "accepted_no_id"

// resendable are the reasons for skipping that say nothing against the recipient.
var resendable = []SkipReason{FrequencyCap, OverLimit, HeldOut, Expired, RunFailed, RunCancelled}

// Where chooses rows of an ended run by status and, when Detail is not empty, by code or reason.
type Where struct {
	Status Status
	Detail string
}

// ParseWhere reads failed, failed=CODE, refused, refused=CODE, unknown, skipped or skipped=REASON. Other
// rows cannot be chosen: accepted, sent, delivered and read ones were sent, and most skipped ones must not be.
func ParseWhere(s string) (Where, error) {
	status, detail, given := strings.Cut(s, "=")
	w := Where{Status(status), detail}
	fault := func(what string) (Where, error) {
		return Where{}, fmt.Errorf("%q %s; give failed, failed=131049, refused, refused=send_media, unknown, skipped or skipped=cancelled", s, what)
	}
	switch w.Status {
	case Failed, Refused:
		if given && detail == "" {
			return fault("names no code")
		}
	case Unknown:
		if given {
			return fault("has no codes")
		}
	case Skipped:
		if given && !slices.Contains(resendable, SkipReason(detail)) {
			return fault(fmt.Sprintf("cannot be sent: of the skipped rows only those may be that were skipped for %s", joined(resendable)))
		}
	default:
		return fault("chooses no rows that may be sent again")
	}
	return w, nil
}

// String is what ParseWhere reads.
func (w Where) String() string {
	if w.Detail == "" {
		return string(w.Status)
	}
	return string(w.Status) + "=" + w.Detail
}

func (w Where) match(l *Line) bool {
	if l.Status != w.Status {
		return false
	}
	switch w.Status {
	case Failed, Refused:
		return w.Detail == "" || l.Code == w.Detail
	case Skipped:
		return slices.Contains(resendable, SkipReason(l.Reason)) && (w.Detail == "" || l.Reason == w.Detail)
	}
	return true
}

// FollowUpLedger is what a follow-up run reads and writes.
type FollowUpLedger interface {
	RunLedger
	ImportLedger
	ReportLedger
}

// FollowUpInput asks for a follow-up run: a new run whose frozen list is chosen rows of Parent.
type FollowUpInput struct {
	Ledger   FollowUpLedger
	Parent   Run
	Where    []Where // a row is chosen when one matches
	Early    bool    // also rows that failed with 131049 less than a day ago
	Progress func(rows int64)
}

// FollowedUp is a follow-up run and how its list came about.
type FollowedUp struct {
	Run       Run
	Chosen    int64 // rows of its list
	Elsewhere int64 // rows left out: another follow-up run of the same parent has them
	NoID      int64 // rows left out: the service accepted them, its answer just bore no id
	Existed   bool  // the same choice was made before: that run is returned, nothing was added
}

// ErrNobody: the choice leaves no row to send to.
var ErrNobody = errors.New("no row is chosen")

// StartFollowUp creates the follow-up run of a choice and brings it to Ready (or WaitingApproval). The same
// choice of the same parent is one run, however often it is asked for, and no row goes into two follow-ups of
// one parent: nobody is sent to twice by asking twice. Who opted out or was suppressed meanwhile is skipped by the
// intent's transaction as in any run. It may be interrupted anywhere and called again.
// Errors: ErrNotNow while the parent may still change, ErrNobody.
func StartFollowUp(ctx context.Context, in FollowUpInput) (FollowedUp, error) {
	p := in.Parent
	if !p.State.Ended() {
		return FollowedUp{}, fmt.Errorf("%w: %s is %s, so its rows may still change; wait until it has ended, or `campaignd cancel %[2]s`", ErrNotNow, p.ID(), p.State)
	}
	def, err := ParseDefinition(p.ID(), p.Definition)
	if err != nil {
		return FollowedUp{}, fmt.Errorf("the stored campaign of %s: %w", p.ID(), err)
	}
	now := time.Now()
	if def.Template.Header.File() != "" && p.AssetUntil.Before(now.Add(limitedWait)) {
		return FollowedUp{}, fmt.Errorf("the header file uploaded for %s is kept by the service until %s only; export the rows (`campaignd report %[1]s --format csv`) and launch them as a list of their own", p.ID(), p.AssetUntil.Format(time.RFC3339))
	}
	f := followUp{in: in, where: canonical(in.Where)}
	if err := f.identify(ctx); err != nil {
		return FollowedUp{}, err
	}
	if f.run.No != 0 && f.run.State != Importing {
		return FollowedUp{Run: f.run, Chosen: f.run.Rows, Existed: true}, nil
	}
	if f.run.No == 0 {
		if err := f.create(ctx, def, now); err != nil {
			return FollowedUp{}, err
		}
	}
	return f.freeze(ctx, def)
}

// followUp is a follow-up run coming into being.
type followUp struct {
	in    FollowUpInput
	where string // canonical
	hash  string // identity of the choice, in place of a list's
	run   Run    // No is 0 until it exists
	taken recipients.KeySet
	FollowedUp
}

// canonical writes a choice so that its order does not matter.
func canonical(where []Where) string {
	var all []string
	for _, w := range where {
		all = append(all, w.String())
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// identify finds the run of this choice if there is one, and the rows that other follow-ups have taken.
func (f *followUp) identify(ctx context.Context) error {
	sum := sha256.Sum256([]byte("follow-up\x00" + f.in.Parent.ID() + "\x00" + f.in.Parent.ListHash + "\x00" + f.where))
	f.hash = hex.EncodeToString(sum[:])
	runs, err := f.in.Ledger.Runs(ctx, RunFilter{})
	if err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	for _, r := range runs {
		if r.Parent != f.in.Parent.No {
			continue
		}
		if r.ListHash == f.hash {
			f.run = r
			continue
		}
		for l, err := range f.in.Ledger.Lines(ctx, r.No) {
			if err != nil {
				return fmt.Errorf("read %s: %w", r.ID(), err)
			}
			if l.Status != Skipped {
				f.taken.Add(l.Key)
			}
		}
	}
	return nil
}

// chosen yields the rows of the choice, in the order of the parent's list.
func (f *followUp) chosen(ctx context.Context, yield func(*Line) error) error {
	f.Elsewhere, f.NoID = 0, 0
	for l, err := range f.in.Ledger.Lines(ctx, f.in.Parent.No) {
		if err != nil {
			return fmt.Errorf("read %s: %w", f.in.Parent.ID(), err)
		}
		if l.Key == 0 || !slices.ContainsFunc(f.in.Where, func(w Where) bool { return w.match(&l) }) {
			continue
		}
		switch {
		case l.Status == Unknown && (l.Code == acceptedNoID || l.Reason == acceptedNoID):
			f.NoID++
		case f.taken.Has(l.Key):
			f.Elsewhere++
		default:
			if err := yield(&l); err != nil {
				return err
			}
		}
	}
	return nil
}

// create counts the choice once, so that an empty or too early one leaves nothing behind, and stores the run.
func (f *followUp) create(ctx context.Context, def *Definition, now time.Time) error {
	var rows, early int64
	var until time.Time
	if err := f.chosen(ctx, func(l *Line) error {
		rows++
		if again := l.FailedAt.Add(limitedWait); l.Status == Failed && l.Code == LimitedAgain && now.Before(again) {
			early++
			if again.After(until) {
				until = again
			}
		}
		return nil
	}); err != nil {
		return err
	}
	p := f.in.Parent
	switch {
	case rows == 0 && f.Elsewhere > 0:
		return fmt.Errorf("%w: the %d rows of %s that are %s are in another follow-up run already; `campaignd runs` lists it", ErrNobody, f.Elsewhere, p.ID(), f.where)
	case rows == 0 && f.NoID > 0:
		return fmt.Errorf("%w: the service accepted all %d of them (accepted_no_id), so none is sent again", ErrNobody, f.NoID)
	case rows == 0:
		return fmt.Errorf("%w: %s has no row that is %s; see `campaignd report %[2]s`", ErrNobody, p.ID(), f.where)
	case early > 0 && !f.in.Early:
		return fmt.Errorf("%w: %d rows failed with 131049 less than 24 hours ago and would fail again; wait until %s, or pass --early", ErrNotNow, early, until.Format(time.RFC3339))
	}
	var err error
	f.run, err = f.in.Ledger.CreateRun(ctx, Run{
		Campaign: p.Campaign, ListHash: f.hash, ListName: fmt.Sprintf("%s of %s", f.where, p.ID()), Launch: "follow-up", Parent: p.No,
		Definition: p.Definition, Header: p.Header, Template: p.Template, Language: p.Language, Marketing: p.Marketing,
		Budget: def.Limits.MaxMessages, Wanted: WantRun,
	})
	if err != nil && !errors.Is(err, ErrRunExists) { // if it exists: another process was asked the same a moment ago
		return fmt.Errorf("store the run: %w", err)
	}
	return nil
}

// freeze copies the chosen rows into the run. The choice may have shrunk since an interrupted
// freeze (a webhook resolved a doubt), so what the run already holds is known by its keys, not counted.
func (f *followUp) freeze(ctx context.Context, def *Definition) (FollowedUp, error) {
	l, no := f.in.Ledger, f.run.No
	var have recipients.KeySet
	for line, err := range l.Lines(ctx, no) {
		if err != nil {
			return FollowedUp{}, fmt.Errorf("read %s: %w", f.run.ID(), err)
		}
		have.Add(line.Key)
	}
	groups, err := f.groups(ctx)
	if err != nil {
		return FollowedUp{}, err
	}
	segments, err := l.SegmentStates(ctx, no)
	if err != nil {
		return FollowedUp{}, fmt.Errorf("read the segments of %s: %w", f.run.ID(), err)
	}
	at, place := f.run.Rows, newBlocks(no, 0, segments)
	rows := make([]Delivery, 0, importChunk)
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		if err := l.AppendRows(ctx, no, at, rows, place.take()); err != nil {
			return fmt.Errorf("import %s after row %d: %w", f.run.ID(), at, err)
		}
		at += int64(len(rows))
		rows = rows[:0]
		if f.in.Progress != nil {
			f.in.Progress(at)
		}
		return ctx.Err()
	}
	if err := f.chosen(ctx, func(line *Line) error {
		if !have.Add(line.Key) {
			return nil
		}
		rows = append(rows, Delivery{
			Run: no, Seq: place.place(groups[line.Seq/SegmentSize], false), Row: at + int64(len(rows)) + 1,
			To: line.To, Key: line.Key, Cells: slices.Clone(line.Cells),
		})
		if len(rows) < importChunk {
			return nil
		}
		return flush()
	}); err != nil {
		return FollowedUp{}, err
	}
	if err := flush(); err != nil {
		return FollowedUp{}, err
	}
	return f.finish(ctx, def, at)
}

// groups are the window groups of the parent's segments by index: a recipient's zone does not change.
func (f *followUp) groups(ctx context.Context) (map[int64]string, error) {
	states, err := f.in.Ledger.SegmentStates(ctx, f.in.Parent.No)
	if err != nil {
		return nil, fmt.Errorf("read the segments of %s: %w", f.in.Parent.ID(), err)
	}
	groups := map[int64]string{}
	for _, s := range states {
		groups[s.Index] = s.Group
	}
	return groups, nil
}

func (f *followUp) finish(ctx context.Context, def *Definition, rows int64) (FollowedUp, error) {
	l := f.in.Ledger
	if p := f.in.Parent; p.Asset != "" {
		if err := l.SetAsset(ctx, f.run.No, p.Asset, p.AssetUntil); err != nil {
			return FollowedUp{}, fmt.Errorf("header of %s: %w", f.run.ID(), err)
		}
	}
	state := Ready
	if def.Policies.Approval {
		state = WaitingApproval
	}
	if err := l.FinishImport(ctx, f.run.No, rows, state); err != nil {
		return FollowedUp{}, fmt.Errorf("finish the import of %s: %w", f.run.ID(), err)
	}
	run, err := l.Run(ctx, f.run.No)
	if err != nil {
		return FollowedUp{}, fmt.Errorf("read the run: %w", err)
	}
	f.FollowedUp.Run, f.Chosen = run, rows
	return f.FollowedUp, nil
}

func joined(reasons []SkipReason) string {
	var all []string
	for _, r := range reasons {
		all = append(all, string(r))
	}
	slices.SortFunc(all, cmp.Compare)
	return strings.Join(all, ", ")
}
