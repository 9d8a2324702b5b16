package campaign

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"campaignd/internal/spelling"
	"campaignd/recipients"
)

// LaunchLedger is the part of the ledger that a launch needs.
type LaunchLedger interface {
	RunLedger
	ImportLedger
	SuppressionLedger
	JobLedger
	LineLedger
	SegmentStates(ctx context.Context, no RunNo) ([]SegmentState, error)
}

// Launch describes one launch of a campaign over one list.
type Launch struct {
	Ledger  LaunchLedger
	Service Service
	// Rate is PreflightInput.Rate.
	Rate func(connection string) float64
	// Commerce is PreflightInput.Commerce.
	Commerce bool
	// File is the path of the campaign file; header files are relative to it.
	File string
	// Source is the content of the campaign file; nil reads the file.
	Source []byte
	// List is the path of the list; "" means recipients.file of the campaign.
	List string
	// New launches another run even if this list has a run that ended, another list of the campaign
	// has an unfinished run, or a run that ended had numbers of this list.
	New bool
	// NewKey names a request with New. A second request with the same NewKey, campaign and list
	// continues the run of the first, and one with another list or campaign file is ErrKeyUsed; "":
	// each request makes a run of its own.
	NewKey string
	// Command is the operator's command without --new, for messages; "" names none.
	Command string
	// Beside is called when New launches a run although another list of the campaign has an unfinished
	// run. It gets that run, and the difference of the two lists; it may be nil.
	Beside func(Run, ListDifference)
	// Again launches the list also if a run of the campaign had numbers of it, as New does. Unlike
	// New, it makes no other run of the same bytes. Watched folders may set it
	// (docs/operations.md#dropped-files).
	Again bool
	// Key is the launch key of a scheduled firing, which begins with FiringKey, or of a dropped file,
	// which begins with DropKey: one run for each. "" otherwise.
	Key string
	// By is Run.LaunchedBy.
	By string
	// Owner names this process in the lease of the import, since one process imports a list at a time.
	Owner string
	// Lease is the length of that lease; 0 means 15 s.
	Lease time.Duration
	// NoWait makes Start return ErrTaken while another process imports, instead of waiting for it.
	NoWait bool
	// Unattended means that errors go to a log, so they do not name the columns of the list.
	Unattended bool
	// Checked is called with the preflight before anything is stored; it may be nil.
	Checked func(*Preflight)
	// Rejects is PreflightInput.Rejects; it may be nil.
	Rejects func(Reject) error
	// Progress is called while rows are checked or imported; it may be nil.
	Progress func(phase string, rows int64)
}

// Launched is the run of a launch, and whether it is new.
type Launched struct {
	Run      Run
	Resumed  bool // an unfinished run of this list continues
	Ended    bool // the run had ended before: nothing is sent again
	Imported bool // this launch finished the import; otherwise another process did
	// Changed is how the campaign file differs from the one of a run that had ended (Differences).
	Changed []string
}

// Start finds or creates the run of a launch and brings it to Ready: it checks the campaign,
// freezes the list and uploads the header. The campaign and the SHA-256 of the list identify a run.
// Without New, an unfinished run is resumed, and a run that has ended is returned unchanged.
//
// A launch that is not of a firing stores nothing and returns an *UnfinishedError or a *RepeatError
// if an earlier run of the campaign has numbers of the list (sentBefore); with New, an
// *UnfinishedError if the list itself has an unfinished run. Other errors are *PreflightError,
// *ChangedError, and those of the files, the ledger and the service.
//
// Start may be interrupted anywhere and called again. With an error it returns the run, if it had
// stored one.
func (l Launch) Start(ctx context.Context) (Launched, error) {
	def, source, err := l.definition()
	if err != nil {
		return Launched{}, err
	}
	l.Source, def.unattended = source, l.Unattended
	list := cmp.Or(l.List, Beside(l.File, def.Recipients.File))
	if list == "" {
		return Launched{}, noList(l.File)
	}
	hash, key := "", l.Key
	if key == "" { // a launch key identifies the run, so the list is not read while another process imports it
		if hash, _, err = recipients.Hash(list); err != nil {
			return Launched{}, err
		}
	}
	newKey := ""
	if l.New && l.NewKey != "" {
		newKey = fmt.Sprintf("new %x", sha256.Sum256([]byte(l.NewKey)))
		repeated, err := l.Ledger.Runs(ctx, RunFilter{Campaign: def.Name, Launch: newKey, Limit: 1})
		if err != nil {
			return Launched{}, err
		}
		switch err := sameRequest(repeated, hash, source); {
		case err != nil:
			return Launched{}, err
		case len(repeated) > 0 && repeated[0].State.Ended():
			return Launched{Run: repeated[0], Ended: true}, nil
		case len(repeated) > 0:
			return l.resume(ctx, def, repeated[0], list)
		}
	}
	run, err := l.existing(ctx, def.Name, hash, key)
	switch found := err == nil; {
	case err != nil && !errors.Is(err, ErrNoRun):
		return Launched{}, err
	case found && l.New && !run.State.Ended() && run.Wanted != WantCancel:
		return Launched{}, &UnfinishedError{Run: run, Command: l.Command}
	case l.New || !found:
	case run.State.Ended():
		return Launched{Run: run, Ended: true, Changed: Differences(run.Definition, source)}, nil
	case key != "" && run.State != Importing: // another process has launched this firing
		return Launched{Run: run, Resumed: true}, nil
	default:
		if diff := Differences(run.Definition, source); len(diff) > 0 {
			return Launched{}, &ChangedError{run, diff}
		}
		return l.resume(ctx, def, run, list)
	}
	if l.New {
		key = cmp.Or(newKey, "new "+time.Now().UTC().Format(time.RFC3339Nano))
	}
	if hash == "" {
		if hash, _, err = recipients.Hash(list); err != nil {
			return Launched{}, err
		}
	}
	if strings.HasPrefix(key, FiringKey) {
		return l.create(ctx, def, list, hash, key)
	}
	return l.alone(ctx, def.Name, func(ctx context.Context) (Launched, error) {
		err := l.sentBefore(ctx, def, list, hash)
		var bad *recipients.FileError
		if errors.As(err, &bad) { // the preflight says more of a list that cannot be read
			if _, fault := l.check(ctx, def, list); fault != nil {
				err = fault
			}
		}
		if err != nil {
			return Launched{}, err
		}
		return l.create(ctx, def, list, hash, key)
	})
}

// create makes the run of a launch and imports its list.
func (l Launch) create(ctx context.Context, def *Definition, list, hash, key string) (Launched, error) {
	checked, err := l.check(ctx, def, list)
	if err != nil {
		return Launched{}, err
	}
	run, err := l.Ledger.CreateRun(ctx, Run{
		Campaign: def.Name, ListHash: hash, ListName: list, Launch: key, Definition: l.Source,
		Header: checked.Header, Delimiter: checked.delimiter,
		Template: def.Template.Name, Language: def.Template.Language, Marketing: checked.Marketing,
		Budget: def.Limits.MaxMessages, Wanted: WantRun, LaunchedBy: l.By,
	})
	if errors.Is(err, ErrRunExists) { // another process has just launched it
		return l.resume(ctx, def, run, list)
	}
	if err != nil {
		return Launched{}, fmt.Errorf("store the run: %w", err)
	}
	return l.bring(ctx, run, func(ctx context.Context, run Run) (Launched, error) {
		return l.freeze(ctx, def, run, list, checked)
	})
}

// definition is what the campaign file says.
func (l Launch) definition() (*Definition, []byte, error) {
	if l.Source == nil {
		return LoadDefinition(l.File)
	}
	d, err := ParseFile(l.File, l.Source)
	return d, l.Source, err
}

// resume continues an unfinished run.
func (l Launch) resume(ctx context.Context, def *Definition, run Run, list string) (Launched, error) {
	if run.State != Importing {
		return Launched{Run: run, Resumed: true}, nil
	}
	launched, err := l.bring(ctx, run, func(ctx context.Context, run Run) (Launched, error) {
		if _, _, err := recipients.Hash(list); err != nil { // no question to the service for a list that cannot be read
			return Launched{}, err
		}
		return l.again(ctx, def, run, list)
	})
	launched.Resumed = true
	return launched, err
}

// again continues an interrupted import. It runs the preflight once more, because the import needs
// its counts: neither the outcome of a row nor the size of segments may depend on where the first
// import stopped.
func (l Launch) again(ctx context.Context, def *Definition, run Run, list string) (Launched, error) {
	checked, err := l.check(ctx, def, list)
	if err != nil {
		return Launched{}, err
	}
	return l.freeze(ctx, def, run, list, checked)
}

// check runs the preflight. It returns a *PreflightError when the campaign cannot be sent.
func (l Launch) check(ctx context.Context, def *Definition, list string) (*Preflight, error) {
	checked, err := RunPreflight(ctx, PreflightInput{
		Definition: def, Source: l.Source, File: l.File, List: list, Service: l.Service, Suppressions: l.Ledger, Rejects: l.Rejects,
		Rate: l.Rate, Commerce: l.Commerce, Progress: func(rows int64) { l.progress("checking", rows) },
	})
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
func (l Launch) bring(ctx context.Context, run Run, do func(context.Context, Run) (Launched, error)) (launched Launched, err error) {
	job := Job{Ledger: l.Ledger, Name: fmt.Sprintf("import %d", run.No), Owner: l.Owner, Lease: l.Lease}
	under := job.await
	if l.NoWait {
		under = job.Do
	}
	err = under(ctx, func(ctx context.Context) error {
		run, err := l.Ledger.Run(ctx, run.No)
		if err != nil {
			return fmt.Errorf("read the run: %w", err)
		}
		if run.State != Importing { // another process has finished it
			launched = Launched{Run: run, Resumed: true}
			return nil
		}
		launched, err = do(ctx, run)
		l.note(ctx, run, err)
		return err
	})
	if errors.Is(err, ErrFenced) {
		if now, readErr := l.Ledger.Run(ctx, run.No); readErr == nil && now.Wanted == WantCancel {
			return Launched{Run: now, Resumed: true}, nil // its import was fenced by the cancellation
		}
	}
	if err != nil {
		launched.Run = run
	}
	return launched, err
}

// note writes into the run why its import failed. `why` and `runs` show it.
func (l Launch) note(ctx context.Context, run Run, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrFenced) || errors.Is(err, ErrListElsewhere) && run.Detail != "" {
		return
	}
	if detail := spelling.Clip(run.withoutUpload(err.Error()), MaxDetail); detail != run.Detail {
		// An error is ignored, since bring returns err itself.
		_, _ = l.Ledger.SetState(ctx, run.No, []State{Importing}, Importing, "", detail)
	}
}

// Resume continues a run whose import was interrupted, after the rows that the ledger has. The list
// is l.List, or the one that the run names. If this process cannot read the list, or the list has
// changed, Resume changes nothing and returns an error that wraps ErrListElsewhere. While another
// process imports, it neither reads the list nor asks the service.
func (l Launch) Resume(ctx context.Context, run Run) (Launched, error) {
	def, err := ParseStored(run.ID(), run.Definition)
	if err != nil {
		return Launched{}, fmt.Errorf("the stored campaign of %s: %w", run.ID(), err)
	}
	def.unattended = l.Unattended
	if file := def.Template.Header.File(); file != "" && run.Asset == "" && l.File == "" {
		return Launched{}, fmt.Errorf("%w: its header file %s is beside the campaign file", ErrListElsewhere, file)
	}
	list := cmp.Or(l.List, run.ListName)
	launched, err := l.bring(ctx, run, func(ctx context.Context, run Run) (Launched, error) {
		hash, _, err := recipients.Hash(list)
		if err != nil || hash != run.ListHash {
			return Launched{}, errors.Join(fmt.Errorf("%w: %s", ErrListElsewhere, list), err)
		}
		return l.again(ctx, def, run, list)
	})
	launched.Resumed = true
	return launched, err
}

// freeze imports the list, uploads the header and finishes the import.
func (l Launch) freeze(ctx context.Context, def *Definition, run Run, list string, checked *Preflight) (Launched, error) {
	in := ImportInput{
		Ledger: l.Ledger, Run: run, Definition: def, List: list, Senders: checked.Senders,
		Template: checked.Template, SegmentRows: SegmentFor(checked.Sendable, len(def.Connections)), Sendable: checked.Sendable,
		Progress: func(rows int64) { l.progress("importing", rows) },
	}
	counts, err := Import(ctx, in)
	if err != nil {
		return Launched{}, err
	}
	if def.Template.Header.File() != "" && run.Asset == "" {
		l.progress("uploading", counts.Rows)
		kind, _ := def.Template.Header.media()
		assets, err := uploadHeader(ctx, l.Service, kind, filepath.Dir(l.File), def.Template.Header.File(), "", connectionsOf(def, checked.known))
		if err != nil {
			return Launched{}, err
		}
		// After a crash before SetAssets the header is uploaded again, and the service keeps both assets.
		if err := l.Ledger.SetAssets(ctx, run.No, assets); err != nil {
			return Launched{}, fmt.Errorf("remember the uploaded header: %w", err)
		}
	}
	run, err = endImport(ctx, l.Ledger, run, def, counts.Rows, counts.Queued)
	return Launched{Run: run, Imported: err == nil}, err
}

func (l Launch) progress(phase string, rows int64) {
	if l.Progress != nil {
		l.Progress(phase, rows)
	}
}
