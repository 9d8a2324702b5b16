package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/reception"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// FollowUpLedger is the part of the ledger that a follow-up run reads and writes.
type FollowUpLedger interface {
	campaign.RunLedger
	campaign.ImportLedger
	campaign.ReportLedger
	campaign.JobLedger
	campaign.HoldLedger
	campaign.RepeatLedger
	reception.ListenLedger
}

// FollowUpInput asks for a follow-up run: a new run whose frozen list is selected rows of Parent.
type FollowUpInput struct {
	Ledger FollowUpLedger
	// Parent is the ended run whose rows are selected.
	Parent campaign.Run
	// Where selects a row when one of its elements matches.
	Where []Where
	// Early includes rows that failed with 131049 less than a day ago.
	Early bool
	// EndsComparison includes people who were held out and are still compared with the others
	// (docs/commerce.md#hold-out).
	EndsComparison bool
	// NotReplayed includes unknown rows that events of a lost time may prove (LostTime.Asked).
	NotReplayed bool
	// LeaveOutSent, SendAgain and SentWithin are those of a Request: people may have got the template
	// from a run that is neither Parent nor one of its parents.
	LeaveOutSent, SendAgain bool
	SentWithin              time.Duration
	// Repeats are those of the service; nil means ServiceRepeats.
	Repeats reception.Repeats
	// Automatic marks the run as one of policies.follow_up.
	Automatic bool
	// By is Run.LaunchedBy.
	By string
	// DryRun counts the selection and stores nothing.
	DryRun bool
	// Owner names this process in the lease of the parent's follow-ups; "" means its process id.
	Owner string
	// NoWait returns campaign.ErrTaken while another process makes a follow-up run of Parent.
	NoWait bool
}

// FollowedUp is a follow-up run, with counts of its list.
type FollowedUp struct {
	Run       campaign.Run
	Chosen    int64 // rows of its list
	Elsewhere int64 // rows left out because another follow-up run of the same parent has them
	NoID      int64 // rows left out because the service accepted them, or may have, with an answer without an id
	Released  int64 // such rows that are in its list because the selection names their reason
	// Compared is how many of its people were held out and are still compared with the others, which
	// it ends; 0 if Existed.
	Compared int64
	// SentBefore says whom of them another run sent the template; nil: that was not compared.
	SentBefore *SentBefore
	Existed    bool // the same selection was made before: that run is returned and nothing was added
	DryRun     bool // nothing was stored; Run is empty unless Existed
}

// ErrNobody says that the selection leaves no row to send to.
var ErrNobody = errors.New("no row is chosen")

// StartFollowUp creates the follow-up run of a selection and brings it to Ready, or to
// WaitingApproval. The same selection of the same parent is always the same run. No row goes into
// two follow-up runs of one parent, so asking twice sends to nobody twice. A recipient who has
// opted out or was suppressed since is skipped in the transaction of the intent, as in any run.
// StartFollowUp may be interrupted anywhere and called again; ResumeFollowUp goes on too. While
// another process makes a follow-up run of the same parent, it waits. Errors: ErrNotNow while the
// parent may still change, while events of a lost time may prove unknown rows, or when the
// follow-up run is cancelled meanwhile; ErrNobody; a *SentBeforeError.
func StartFollowUp(ctx context.Context, in FollowUpInput) (FollowedUp, error) {
	p := in.Parent
	if !p.State.Ended() {
		return FollowedUp{}, fmt.Errorf("%w: %s is %s, so its rows may still change; wait until it has ended, or `campaignd cancel %[2]s`",
			campaign.ErrNotNow, p.ID(), p.State)
	}
	def, err := file.ParseStored(p.ID(), p.Definition)
	if err != nil {
		return FollowedUp{}, fmt.Errorf("the stored campaign of %s: %w", p.ID(), err)
	}
	if gone := p.Retired.Sentence(p.Rows); gone != "" {
		return FollowedUp{}, fmt.Errorf("%w of %s: %s; launch them as a new list", ErrNobody, p.ID(), gone)
	}
	now := time.Now()
	if def.Template.Header.File() != "" && p.AssetUntil.Before(now.Add(file.LimitedWait)) {
		return FollowedUp{}, fmt.Errorf("%w: the header file uploaded for %s is kept by the service until %s only; "+
			"export the rows (`campaignd report %[2]s --format csv`) and launch them as a new list", campaign.ErrNotNow, p.ID(),
			p.AssetUntil.Format(time.RFC3339))
	}
	if in.Owner == "" {
		in.Owner = fmt.Sprint("follow-up/", os.Getpid())
	}
	job := campaign.Job{Ledger: in.Ledger, Name: fmt.Sprint("follow-up ", p.No), Owner: in.Owner}
	work := job.Await
	if in.NoWait {
		work = job.Do
	}
	var out FollowedUp
	done := false
	err = work(ctx, func(ctx context.Context) (err error) {
		defer func() { done = err == nil }()
		// The job keeps two selections of one parent apart. If a process loses the job and does not
		// notice, the ledger refuses its rows, and it reads again what the other process has.
		for again := 0; ; again++ {
			f := followUp{in: in, where: canonical(in.Where)}
			if out, err = f.start(ctx, def, now); !errors.Is(err, campaign.ErrFollowedUp) || again == 3 {
				return err
			}
		}
	})
	if done {
		return out, nil // also if the lease was lost meanwhile
	}
	return out, err
}

// followUp is a follow-up run while it is created.
type followUp struct {
	in    FollowUpInput
	where string            // canonical
	hash  string            // selectionHash
	run   campaign.Run      // No is 0 until it exists
	taken recipients.KeySet // keys that other follow-up runs of the parent have
	FollowedUp
}

// start finds the run of the selection or creates it, and brings it to its end.
func (f *followUp) start(ctx context.Context, def *file.Definition, now time.Time) (FollowedUp, error) {
	if err := f.identify(ctx); err != nil {
		return FollowedUp{}, err
	}
	if f.run.No != 0 && (f.run.State != campaign.Importing || f.in.DryRun) {
		return FollowedUp{Run: f.run, Chosen: f.run.Rows, Existed: true, DryRun: f.in.DryRun}, nil
	}
	if f.run.No == 0 {
		if err := f.create(ctx, def, now); err != nil {
			return FollowedUp{}, err
		}
	}
	if f.in.DryRun {
		f.FollowedUp.DryRun = true
		return f.FollowedUp, nil
	}
	if err := errors.Join(f.holdEdited(ctx), f.recategorize(ctx)); err != nil { // while its import keeps it from being sent
		return FollowedUp{}, err
	}
	out, err := f.freeze(ctx, def)
	if errors.Is(err, campaign.ErrFenced) {
		if run, readErr := f.in.Ledger.Run(ctx, f.run.No); readErr == nil && run.Wanted == campaign.WantCancel {
			return FollowedUp{}, fmt.Errorf("%w: %s has been cancelled", campaign.ErrNotNow, run.ID())
		}
	}
	return out, err
}

// canonical writes a selection in a fixed order and without repetitions.
func canonical(where []Where) string {
	var all []string
	for _, w := range where {
		all = append(all, w.String())
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// selectionHash identifies a canonical selection of rows of a run, in place of a list's hash.
func selectionHash(parent campaign.Run, where string) string {
	sum := sha256.Sum256([]byte("follow-up\x00" + parent.ID() + "\x00" + parent.ListHash + "\x00" + where))
	return hex.EncodeToString(sum[:])
}

// identify finds the run of this selection, if there is one, and the rows that other follow-up runs
// have taken.
func (f *followUp) identify(ctx context.Context) error {
	f.hash = selectionHash(f.in.Parent, f.where)
	runs, err := f.in.Ledger.Runs(ctx, campaign.RunFilter{})
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
			if l.Status != campaign.Skipped {
				f.taken.Add(recipients.Fold(l.Key))
			}
		}
	}
	return nil
}

// chosen yields the selected rows, in the order of the parent's list.
func (f *followUp) chosen(ctx context.Context, yield func(*campaign.Line) error) error {
	f.Elsewhere, f.NoID, f.Released = 0, 0, 0
	for l, err := range f.in.Ledger.Lines(ctx, f.in.Parent.No) {
		if err != nil {
			return fmt.Errorf("read %s: %w", f.in.Parent.ID(), err)
		}
		if l.Key <= 0 || !slices.ContainsFunc(f.in.Where, func(w Where) bool { return w.match(&l) }) {
			continue
		}
		switch {
		case isWithoutID(&l) && !slices.ContainsFunc(f.in.Where, func(w Where) bool { return w.releases(&l) }):
			f.NoID++
		case f.taken.Has(recipients.Fold(l.Key)):
			f.Elsewhere++
		default:
			if isWithoutID(&l) {
				f.Released++
			}
			if err := yield(&l); err != nil {
				return err
			}
		}
	}
	return nil
}

// create counts the selection, so that an empty or too early one leaves nothing behind, and stores
// the run.
func (f *followUp) create(ctx context.Context, def *file.Definition, now time.Time) error {
	var rows, early, doubtful, heldOut int64
	var until, doubtSince time.Time // doubtSince is the earliest
	var keys recipients.KeySet
	if err := f.chosen(ctx, func(l *campaign.Line) error {
		rows++
		if l.Status == campaign.Skipped && l.Reason == string(campaign.HeldOut) {
			heldOut++
		}
		keys.Add(recipients.Fold(l.Key))
		if l.Status == campaign.Unknown {
			if doubtful++; doubtful == 1 || l.DoubtSince.Before(doubtSince) {
				doubtSince = l.DoubtSince
			}
		}
		if again := l.FailedAt.Add(file.LimitedWait); l.Status == campaign.Failed && l.Code == file.LimitedAgain && now.Before(again) {
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
	var windowEnd time.Time // of a doubt window for which a cancelled run did not wait
	if doubtful > 0 {
		listening, err := reception.ReadListening(ctx, f.in.Ledger, f.in.Repeats, now)
		if err != nil {
			return err
		}
		if lost, found := listening.Unreplayed(doubtSince, def.Policies.DoubtWindow.Std()); found && !f.in.NotReplayed {
			return fmt.Errorf("%w: %s", campaign.ErrNotNow, lost.Sentence(def.Policies.DoubtWindow))
		}
		if p.State == campaign.Cancelled {
			windowEnd = listening.Ends(p.EndedAt, def.Policies.DoubtWindow.Std())
		}
	}
	comparedUntil := file.ComparedUntil(p)
	if now.Before(comparedUntil) {
		f.Compared = heldOut
	}
	switch {
	case rows == 0 && f.Elsewhere > 0:
		return fmt.Errorf("%w: another follow-up run already has the %s of %s that would be chosen (%s); `campaignd runs` lists it",
			ErrNobody, sentence.Count(f.Elsewhere, "row", "rows"), p.ID(), f.where)
	case rows == 0 && f.NoID > 0:
		return fmt.Errorf("%w: the service answered all %d of them with a success without an id, so none is sent again; "+
			"--where unknown=accepted_no_id and --where unknown=not_the_service send them all the same, some of them a second time",
			ErrNobody, f.NoID)
	case rows == 0:
		return fmt.Errorf("%w: %s has no row that is %s; see `campaignd report %[2]s`", ErrNobody, p.ID(), f.where)
	case now.Before(windowEnd):
		return fmt.Errorf("%w: %s in doubt when %s was cancelled, and a webhook may still prove them sent; "+
			"wait until %s, while `campaignd serve` takes webhooks",
			campaign.ErrNotNow, sentence.Count(doubtful, "row was", "rows were"), p.ID(), windowEnd.Format(time.RFC3339))
	case early > 0 && !f.in.Early:
		return fmt.Errorf("%w: %s failed with 131049 less than 24 hours ago and would fail again; wait until %s, or pass --early",
			campaign.ErrNotNow, sentence.Count(early, "row", "rows"), until.Format(time.RFC3339))
	case f.Compared > 0 && !f.in.EndsComparison:
		return fmt.Errorf("%w: until %s the purchases of %s held out by %s are compared with those of the others, and a message to them "+
			"ends that; wait, or pass --ends-comparison", campaign.ErrNotNow, comparedUntil.UTC().Format(time.RFC3339),
			sentence.Count(f.Compared, "person", "people"), p.ID())
	}
	if err := f.refuseRepeats(ctx, def, &keys); err != nil {
		return err
	}
	if f.in.DryRun {
		f.Chosen = rows
		return nil
	}
	launch := "follow-up"
	if f.in.Automatic {
		launch = AutoFollowUp
	}
	var err error
	f.run, err = f.in.Ledger.CreateRun(ctx, campaign.Run{
		Campaign: p.Campaign, ListHash: f.hash, ListName: p.SelectionName(f.where), Launch: launch, Parent: p.No,
		Definition: p.Definition, Header: p.Header, Delimiter: p.Delimiter, Template: p.Template, Language: p.Language, Marketing: p.Marketing,
		Budget: def.Limits.MaxMessages, Wanted: campaign.WantRun, LaunchedBy: f.in.By,
		LeaveOut: f.SentBefore != nil && f.leavesOut(def),
	})
	if err != nil && !errors.Is(err, campaign.ErrRunExists) { // ErrRunExists: another process has just stored the same run
		return fmt.Errorf("store the run: %w", err)
	}
	return nil
}
