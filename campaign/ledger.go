package campaign

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Errors that a Ledger returns and callers test for.
var (
	ErrNoRun     = errors.New("no such run")
	ErrRunExists = errors.New("run exists")
	// ErrFenced: a newer epoch owns the segment, or another importer the run.
	// Whoever gets it stops touching that segment at once.
	ErrFenced = errors.New("fenced: another owner has taken over")
	// ErrUnknownCommit: the connection broke while committing; the caller cannot
	// know. Ledger.Intend resolves it by read-back before returning it.
	ErrUnknownCommit = errors.New("commit outcome unknown")
	// ErrLocked: another process holds the sender's lock of this ledger.
	ErrLocked = errors.New("ledger is in use by another campaignd")
	// ErrNewer: the ledger's schema is newer than this program.
	ErrNewer = errors.New("ledger was written by a newer campaignd")
)

// Ledger is the durable record. Every backend passes the suite in
// internal/ledger/ledgertest. When a method that writes returns nil, what it wrote
// survives a crash of the process, and with synchronous FULL of the machine.
// Methods are safe for concurrent use. Times are UTC with a millisecond's precision.
//
// Facts merge, decisions are fenced: Record, Apply and Sweep take facts from
// anybody at any time; Intend, Recover, Resolve, Drop and Park only from the
// holder of a segment's current epoch.
type Ledger interface {
	RunLedger
	ImportLedger
	SendLedger
	EventLedger
	SuppressionLedger
	ReportLedger
	JobLedger
	Close() error
}

// RunLedger keeps the runs and what the operator wants of them.
type RunLedger interface {
	// CreateRun stores r (No, CreatedAt, State are set by the ledger: Importing) and
	// returns it. If a run with the same (Campaign, ListHash, Launch) exists it is
	// returned with ErrRunExists; of a firing (Launch begins with FiringKey) the list does not matter.
	CreateRun(ctx context.Context, r Run) (Run, error)
	Run(ctx context.Context, no RunNo) (Run, error)       // ErrNoRun
	Runs(ctx context.Context, f RunFilter) ([]Run, error) // newest first
	// SetWanted writes what the operator wants. WantRun on a Paused run also makes it
	// Ready. It returns the run after the change; ErrNoRun. On an ended run nothing changes.
	SetWanted(ctx context.Context, no RunNo, w Wanted) (Run, error)
	// SetState moves a run from one of the states from to state, with the reason and
	// detail of a pause ("" otherwise). It reports false when the run was in none of from.
	SetState(ctx context.Context, no RunNo, from []State, to State, reason PauseReason, detail string) (bool, error)
	// SetAsset remembers the header media uploaded for this run.
	SetAsset(ctx context.Context, no RunNo, assetID string, until time.Time) error
	// FinishRuns moves every Running or Ready run whose segments are all done to Finished, or to
	// Cancelled when that is wanted, and returns those it moved.
	FinishRuns(ctx context.Context) ([]Run, error)
}

// ImportLedger freezes a list.
type ImportLedger interface {
	// AppendRows adds one chunk in one transaction. after is the number of rows the
	// caller believes the run has; if it differs, another importer is at work: ErrFenced.
	// Deliveries with Skip set get their outcome in the same transaction. Segments
	// are inserted, or their Hi raised. Not claimable before FinishImport.
	AppendRows(ctx context.Context, no RunNo, after int64, rows []Delivery, segments []Segment) error
	// FinishImport moves the run from Importing to state (Ready or WaitingApproval).
	// It verifies that the run has rows rows. A second call is a no-op.
	FinishImport(ctx context.Context, no RunNo, rows int64, state State) error
}

// LaneReport is what a sender says of one (run, connection): what binds it now.
type LaneReport struct {
	Run        RunNo
	Connection string
	Owner      string  // whose lane it is; ReportLanes fills it from its own argument
	LimitedBy  string  // closed list of lane: throughput, cap, window, throttled, unreachable, in_flight, doubt, ledger, limiter, none, stopped
	Detail     string  // a sentence
	Rate       float64 // messages per second now: the number's pace, or the run's own limit when that is less; 0 while the number is held
	At         time.Time
}

// StatusEvent is one status of one message, from a verified webhook.
type StatusEvent struct {
	MessageID  string
	Connection string    // "" when the event names none
	Recipient  int64     // recipients.Key of the event's recipient, or of the digits in the id; 0 unknown
	Status     Status    // Sent, Delivered, Read or Failed
	Code       string    // of Failed
	At         time.Time // the event's own time
	ReceivedAt time.Time
}

// Events is one batch of what webhooks told, applied in one transaction.
type Events struct {
	Statuses     []StatusEvent
	Suppressions []Suppression // STOP, buttons, user_preferences
	Lifted       []Suppression // user_preferences: resume (marketing scope only)
	Templates    []TemplateEvent
}

// Applied counts what a batch did.
type Applied struct {
	Matched, Repeated, Orphaned int
}

// Swept counts what a sweep did.
type Swept struct {
	Matched   int // orphans whose receipt had been written meanwhile
	Adopted   int // doubts and unknowns that a webhook proved accepted
	Ambiguous int // orphans that fit several candidates
	Expired   int // orphans older than their keeping time, dropped
	Left      int
}

// EventLedger takes what webhooks tell.
type EventLedger interface {
	// Apply stores one batch durably. A status whose message is unknown is kept as an orphan.
	Apply(ctx context.Context, e Events) (Applied, error)
	// Sweep matches orphans: by message id, else by adoption (reliability.md 1.8), in steps: with an error it
	// says what was committed before.
	Sweep(ctx context.Context, now time.Time) (Swept, error)
}

// JobLease is the right to do a job that one replica is to do at a time, until another epoch begins.
type JobLease struct {
	Name  string
	Owner string
	Epoch int64
	Until time.Time // by the local clock, counted from before the request was made
}

// JobLedger shares out what is not sending: firing a schedule, importing a list, sweeping. A lease keeps
// replicas from doing the same work at once; it is no proof, because whoever stalls past it does not know. What
// a job writes is therefore safe by itself: CreateRun knows a firing, AppendRows its row, Sweep repeats harmlessly.
type JobLedger interface {
	// AcquireJob leases the job for d on the database's clock. It reports false while a lease of it runs, whoever
	// has it. A new lease has a new epoch.
	AcquireJob(ctx context.Context, name, owner string, d time.Duration) (JobLease, bool, error)
	// RenewJob prolongs a lease, also one that ran out and that nobody took since; ErrFenced when somebody did, or
	// when it was released.
	RenewJob(ctx context.Context, l JobLease, d time.Duration) (JobLease, error)
	// ReleaseJob ends a lease, so that the job can be acquired at once. A lease that is lost is left alone.
	ReleaseJob(ctx context.Context, l JobLease) error
}

// Scope is what a suppression keeps from being sent.
type Scope string

// The scopes.
const (
	ScopeMarketing   Scope = "marketing"   // templates of category MARKETING or unknown: skipped(opted_out)
	ScopeAll         Scope = "all"         // everything: skipped(suppressed)
	ScopeUnreachable Scope = "unreachable" // everything, until Until: skipped(unreachable)
)

// Suppression is a number that must not be sent to.
type Suppression struct {
	Key    int64  // recipients.Key
	To     string // E.164, for exports
	Scope  Scope
	Source string // import, operator, stop, button, user_preferences, refused:CODE, failed:CODE
	At     time.Time
	Until  time.Time // zero: for ever
}

// SuppressionLedger keeps who must not be sent to.
type SuppressionLedger interface {
	Suppress(ctx context.Context, s []Suppression) (added int, err error) // idempotent on (Key, Scope)
	Unsuppress(ctx context.Context, s []Suppression) (removed int, err error)
	Suppressions(ctx context.Context) iter.Seq2[Suppression, error] // by number
	// SuppressedKeys says which of keys are suppressed for a run of this kind, for preflight counts.
	SuppressedKeys(ctx context.Context, keys []int64, marketing bool, now time.Time) (map[int64]SkipReason, error)
}

// Tally is one group of a run's deliveries.
type Tally struct {
	Status Status
	Reason string // SkipReason, or the code of refused and failed
	N      int64
}

// Funnel counts how far deliveries ever came (cumulative).
type Funnel struct {
	Accepted, Sent, Delivered, Read, Failed int64
	Adopted, MaybeDuplicate, Ambiguous      int64
}

// Problem is one thing that audit found wrong.
type Problem struct {
	Row  int64 // 0 when it is not about one row
	Seq  int64
	What string
}

// ReportLedger reads.
type ReportLedger interface {
	Tallies(ctx context.Context, no RunNo) ([]Tally, Funnel, error)
	// Lines yields every delivery of the run in the order of its rows. It reads in
	// short pages, so a long report does not hold the ledger.
	Lines(ctx context.Context, no RunNo) iter.Seq2[Line, error]
	// Audit checks what SQL can: each row once, each outcome with its delivery, marks
	// within bounds, nothing accepted above a mark, no phone key queued twice. At most limit problems.
	Audit(ctx context.Context, no RunNo, limit int) ([]Problem, error)
	// Lanes reads what senders said last, for `why`.
	Lanes(ctx context.Context, no RunNo) ([]LaneReport, error)
	// SegmentStates reads the segments of a run, for `why`.
	SegmentStates(ctx context.Context, no RunNo) ([]SegmentState, error)
	// LastEventAt is when the last status of the run was applied; zero if none.
	LastEventAt(ctx context.Context, no RunNo) (time.Time, error)
}

// SegmentState is a segment as it stands.
type SegmentState struct {
	Segment
	Mark       int64
	Epoch      int64
	Owner      string
	LeaseUntil time.Time
	WakeAt     time.Time
	Connection string
	Done       bool
}
