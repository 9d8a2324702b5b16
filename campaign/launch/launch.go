package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// Ledger is the part of the ledger that a launch needs.
type Ledger interface {
	campaign.RunLedger
	campaign.ImportLedger
	campaign.SuppressionLedger
	campaign.JobLedger
	campaign.HoldLedger
	LineLedger
	campaign.RepeatLedger
	SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error)
}

// Request describes one launch of a campaign over one list.
type Request struct {
	Ledger  Ledger
	Service messaging.Service
	// Rate, Tier, Company, OptOut and Commerce are as in PreflightInput.
	Rate     func(connection string) float64
	Tier     func(connection string) int64
	Company  func(connection string) string
	OptOut   messaging.OptOut
	Commerce bool
	// File is the path of the campaign file; header files are relative to it.
	File string
	// Source is the content of the campaign file; nil reads the file.
	Source []byte
	// List is the path of the list; "" means recipients.file of the campaign.
	List string
	// Make makes the list when the launch needs a run that the campaign does not have. It is called
	// where neither List nor recipients.file names one; nil: one of them does.
	Make func(ctx context.Context) (path string, offer *Offer, err error)
	// New launches another run even if this list has a run that ended, another list of the campaign
	// has an unfinished run, a run that ended had numbers of this list, or Scheduled refuses.
	New bool
	// NewKey names a request with New. A second request with the same NewKey, campaign and list
	// continues the run of the first, and one with another list or campaign file is ErrKeyUsed; "":
	// each request makes a run of its own.
	NewKey string
	// Command is the operator's command without --new, for messages; "" names none.
	Command string
	// Beside is called when New launches a run although another list of the campaign has an unfinished
	// run. It gets that run, and the difference of the two lists; it may be nil.
	Beside func(campaign.Run, ListDifference)
	// Again launches the list also if a run of the campaign had numbers of it, as New does. Unlike
	// New, it makes no other run of the same bytes. Watched folders may set it
	// (docs/operations.md#dropped-files).
	Again bool
	// Key is the launch key of a scheduled firing, which begins with FiringKey, or of a dropped file,
	// which begins with DropKey: one run for each. "" otherwise.
	Key string
	// LeaveOutSent leaves out who got the template before, and SendAgain sends to them too. With
	// neither, a launch by a person is refused with *SentBeforeError, and policies.sent_before decides
	// for others.
	LeaveOutSent, SendAgain bool
	// SentWithin is Repeats.Within.
	SentWithin time.Duration
	// Late refuses a firing with *SentBeforeError if a run of another campaign sent its template to
	// people of its list.
	Late bool
	// By and Draft are Run.LaunchedBy and Run.Draft.
	By, Draft string
	// Owner names this process in the lease of the import, since one process imports a list at a time.
	Owner string
	// Lease is the length of that lease; 0 means 15 s.
	Lease time.Duration
	// NoWait makes Start return ErrTaken while another process imports, instead of waiting for it.
	NoWait bool
	// Unattended means that errors go to a log, so they do not name the columns of the list.
	Unattended bool
	// Scheduled returns a *ScheduledError if the schedule of the campaign will send to the list with
	// the SHA-256 hash, which is "" for one that is made. A new run without New is then refused; it
	// may be nil.
	Scheduled func(name, hash string) error
	// Checked is called with the preflight before anything is stored; it may be nil.
	Checked func(*Preflight)
	// Rejects is PreflightInput.Rejects; it may be nil.
	Rejects func(campaign.Reject) error
	// Progress is called while rows are checked or imported; it may be nil.
	Progress func(phase string, rows int64)

	offer *Offer         // of the list that was made
	own   campaign.RunNo // the run whose import continues
}

// Outcome is the run of a launch, and whether it is new.
type Outcome struct {
	Run      campaign.Run
	Resumed  bool // an unfinished run of this list continues
	Ended    bool // the run had ended before: nothing is sent again
	Imported bool // this launch finished the import; otherwise another process did
	// Changed is how the campaign file differs from the one of a run that had ended (Differences).
	Changed []string
}

// Start finds or creates the run of a launch and brings it to Ready: it checks the campaign,
// freezes the list and uploads the header. The campaign and the SHA-256 of the list identify a run,
// the campaign alone one whose list is made (Make).
// Without New, an unfinished run is resumed, and a run that has ended is returned unchanged.
//
// A launch that is not of a firing stores nothing and returns an *UnfinishedError or a *RepeatError
// if an earlier run of the campaign has numbers of the list (sentBefore); with New, an
// *UnfinishedError if the list itself has an unfinished run. A *SentBeforeError says that people of
// the list got the template from a run of any campaign. Other errors are *PreflightError,
// *ChangedError, *ScheduledError, and those of the files, the ledger and the service.
//
// Start may be interrupted anywhere and called again. With an error it returns the run, if it had
// stored one.
func (l Request) Start(ctx context.Context) (Outcome, error) {
	def, source, err := l.Read()
	if err != nil {
		return Outcome{}, err
	}
	l.Source = source
	def.HideNames(l.Unattended)
	list := cmp.Or(l.List, file.Beside(l.File, def.Recipients.File))
	made := list == ""
	if made && l.Make == nil {
		return Outcome{}, noList(l.File)
	}
	hash, key := "", l.Key
	// A launch key identifies the run, so the list is not read while another process imports it. The
	// campaign alone identifies the run of a list that is made.
	if key == "" && !made {
		if hash, _, err = recipients.Hash(list); err != nil {
			return Outcome{}, err
		}
	}
	newKey := ""
	if l.New && l.NewKey != "" {
		newKey = fmt.Sprintf("new %x", sha256.Sum256([]byte(l.NewKey)))
		if out, found, err := l.repeated(ctx, def, newKey, hash, list); found || err != nil {
			return out, err
		}
	}
	run, err := l.existing(ctx, def.Name, hash, key)
	if made {
		list = run.ListName
	}
	switch found := err == nil; {
	case err != nil && !errors.Is(err, campaign.ErrNoRun):
		return Outcome{}, err
	case found && l.New && !run.State.Ended() && run.Wanted != campaign.WantCancel:
		return Outcome{}, &UnfinishedError{Run: run, Command: l.Command}
	case l.New || !found:
	case key != "" && !run.State.Ended() && run.State != campaign.Importing: // another process has launched this firing
		return Outcome{Run: run, Resumed: true}, nil
	default:
		return l.known(ctx, def, run, list)
	}
	if !l.New && l.Scheduled != nil {
		if err := l.Scheduled(def.Name, hash); err != nil {
			return Outcome{}, err
		}
	}
	if l.New {
		key = cmp.Or(newKey, "new "+time.Now().UTC().Format(time.RFC3339Nano))
	}
	if made {
		if list, l.offer, err = l.Make(ctx); err != nil {
			return Outcome{}, err
		}
	}
	if hash == "" {
		if hash, _, err = recipients.Hash(list); err != nil {
			return Outcome{}, err
		}
	}
	if strings.HasPrefix(key, campaign.FiringKey) {
		return l.create(ctx, def, list, hash, key)
	}
	asked, given := hash, list
	if made {
		asked, given = "", ""
	}
	which := func(campaign.Run) bool { return true }
	if byHand(key) { // refuseRepeats looks at the others, when the category of the template is known
		which = mayStillSend
	}
	return l.alone(ctx, def, func(ctx context.Context) (Outcome, error) {
		if out, found, err := l.meanwhile(ctx, def, key, asked, given); found || err != nil {
			return out, err
		}
		err := l.sentBefore(ctx, def, list, hash, which)
		var bad *recipients.FileError
		if errors.As(err, &bad) { // the preflight says more of a list that cannot be read
			if _, fault := l.check(ctx, def, list); fault != nil {
				err = fault
			}
		}
		if err != nil {
			return Outcome{}, err
		}
		return l.create(ctx, def, list, hash, key)
	})
}

// create makes the run of a launch and imports its list.
func (l Request) create(ctx context.Context, def *file.Definition, list, hash, key string) (Outcome, error) {
	checked, err := l.check(ctx, def, list)
	if err == nil {
		err = l.refuseRepeats(ctx, def, list, hash, checked)
	}
	if err != nil {
		return Outcome{}, err
	}
	run, err := l.Ledger.CreateRun(ctx, campaign.Run{
		Campaign: def.Name, ListHash: hash, ListName: list, Launch: key, Definition: l.Source,
		Header: checked.Header, Delimiter: checked.delimiter,
		Template: def.Template.Name, Language: def.Template.Language, Marketing: checked.Marketing,
		Budget: def.Limits.MaxMessages, Wanted: campaign.WantRun, LaunchedBy: l.By, Draft: l.Draft,
		LeaveOut: checked.SentBefore != nil && l.leavesOut(def),
	})
	if errors.Is(err, campaign.ErrRunExists) { // another process has just launched it
		return l.resume(ctx, def, run, list)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("store the run: %w", err)
	}
	return l.bring(ctx, run, func(ctx context.Context, run campaign.Run) (Outcome, error) {
		return l.freeze(ctx, def, run, list, checked)
	})
}

// Read returns the campaign and the bytes of its file.
func (l Request) Read() (*file.Definition, []byte, error) {
	if l.Source == nil {
		return file.Load(l.File)
	}
	d, err := file.ParseAt(l.File, l.Source)
	return d, l.Source, err
}

// resume continues an unfinished run.
func (l Request) resume(ctx context.Context, def *file.Definition, run campaign.Run, list string) (Outcome, error) {
	if run.State != campaign.Importing {
		return Outcome{Run: run, Resumed: true}, nil
	}
	launched, err := l.bring(ctx, run, func(ctx context.Context, run campaign.Run) (Outcome, error) {
		if _, _, err := recipients.Hash(list); err != nil { // no question to the service for a list that cannot be read
			return Outcome{}, lostList(def, run, list, err)
		}
		return l.again(ctx, def, run, list)
	})
	launched.Resumed = true
	return launched, err
}

// again continues an interrupted import. It runs the preflight once more, because the import needs
// its counts: neither the outcome of a row nor the size of segments may depend on where the first
// import stopped.
func (l Request) again(ctx context.Context, def *file.Definition, run campaign.Run, list string) (Outcome, error) {
	// The launch was judged when it made the run.
	l.Late, l.Key, l.own = false, run.Launch, run.No
	l.LeaveOutSent, l.SendAgain = run.LeaveOut, !run.LeaveOut && byHand(run.Launch)
	checked, err := l.check(ctx, def, list)
	if err != nil {
		return Outcome{}, err
	}
	return l.freeze(ctx, def, run, list, checked)
}

// check runs the preflight. It returns a *PreflightError when the campaign cannot be sent.
func (l Request) check(ctx context.Context, def *file.Definition, list string) (*Preflight, error) {
	in := PreflightInput{
		Definition: def, Source: l.Source, File: l.File, List: list, Service: l.Service, Suppressions: l.Ledger, Rejects: l.Rejects,
		Rate: l.Rate, Tier: l.Tier, Company: l.Company, Commerce: l.Commerce, OptOut: l.OptOut, Offer: l.offer, Repeats: l.repeats(def),
		Progress: func(rows int64) { l.progress("checking", rows) },
	}
	checked, err := RunPreflight(ctx, in)
	if err != nil {
		return nil, err
	}
	if l.Checked != nil {
		l.Checked(checked)
	}
	if !checked.OK() {
		return nil, &PreflightError{checked}
	}
	return checked, nil
}

// bring takes a run from Importing to Ready: it calls do under the lease of the import. Only do may
// read the list or ask the service, because every replica calls bring every few seconds while one
// process imports.
func (l Request) bring(
	ctx context.Context, run campaign.Run, do func(context.Context, campaign.Run) (Outcome, error),
) (launched Outcome, err error) {
	job := campaign.Job{Ledger: l.Ledger, Name: fmt.Sprintf("import %d", run.No), Owner: l.Owner, Lease: l.Lease}
	under := job.Await
	if l.NoWait {
		under = job.Do
	}
	done := false
	err = under(ctx, func(ctx context.Context) (err error) {
		defer func() { done = err == nil }()
		run, err := l.Ledger.Run(ctx, run.No)
		if err != nil {
			return fmt.Errorf("read the run: %w", err)
		}
		if run.State != campaign.Importing { // another process has finished it
			launched = Outcome{Run: run, Resumed: true}
			return nil
		}
		launched, err = do(ctx, run)
		l.note(ctx, run, err)
		return err
	})
	if done {
		return launched, nil // also if the lease was lost while the run became ready
	}
	if errors.Is(err, campaign.ErrFenced) {
		// A lease that was lost has ended ctx. The import may have been cancelled, or complete by now.
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		now, readErr := l.Ledger.Run(reading, run.No)
		if readErr == nil && (now.Wanted == campaign.WantCancel || now.State != campaign.Importing) {
			return Outcome{Run: now, Resumed: true}, nil
		}
	}
	if err != nil {
		launched.Run = run
	}
	return launched, err
}

// note writes into the run why its import failed. `why` and `runs` show it.
func (l Request) note(ctx context.Context, run campaign.Run, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, campaign.ErrFenced) || errors.Is(err, ErrListElsewhere) && run.Detail != "" {
		return
	}
	if detail := sentence.Clip(run.WithoutUpload(err.Error()), campaign.MaxDetail); detail != run.Detail {
		// An error is ignored, since bring returns err itself.
		_, _ = l.Ledger.SetState(ctx, run.No, []campaign.State{campaign.Importing}, campaign.Importing, "", detail)
	}
}

// Resume continues a run whose import was interrupted, after the rows that the ledger has. The list
// is l.List, or the one that the run names. If this process cannot read the list, or the list has
// changed, Resume changes nothing and returns an error that wraps ErrListElsewhere. While another
// process imports, it neither reads the list nor asks the service.
func (l Request) Resume(ctx context.Context, run campaign.Run) (Outcome, error) {
	def, err := file.ParseStored(run.ID(), run.Definition)
	if err != nil {
		return Outcome{}, fmt.Errorf("the stored campaign of %s: %w", run.ID(), err)
	}
	def.HideNames(l.Unattended)
	if file := def.Template.Header.File(); file != "" && run.Asset == "" && l.File == "" {
		return Outcome{}, fmt.Errorf("%w: its header file %s is beside the campaign file", ErrListElsewhere, file)
	}
	list := cmp.Or(l.List, run.ListName)
	launched, err := l.bring(ctx, run, func(ctx context.Context, run campaign.Run) (Outcome, error) {
		hash, _, err := recipients.Hash(list)
		if err = lostList(def, run, list, err); err != nil || hash != run.ListHash {
			return Outcome{}, errors.Join(fmt.Errorf("%w: %s", ErrListElsewhere, list), err)
		}
		return l.again(ctx, def, run, list)
	})
	launched.Resumed = true
	return launched, err
}
