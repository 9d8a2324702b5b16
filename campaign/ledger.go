package campaign

import (
	"context"
	"errors"
	"iter"
	"time"

	"campaignd/campaign/conversion"
	"campaignd/campaign/reception"
)

// The errors of a Ledger that callers test for.
var (
	ErrNoRun     = errors.New("no such run")
	ErrRunExists = errors.New("run exists")
	// ErrFenced says that another owner has the segment, with a newer epoch, or that another process
	// imports the run. The caller must write nothing more to either.
	ErrFenced = errors.New("fenced: another owner has taken over")
	// ErrCancelled says that the operator cancelled the run. A cancellation is final.
	ErrCancelled = errors.New("cancelled, which cannot be taken back")
	// ErrNotNow says that a request does not fit the state of the run.
	ErrNotNow = errors.New("not possible now")
	// ErrFollowedUp says that another follow-up run of the same parent has one of the recipients.
	ErrFollowedUp = errors.New("a recipient is in another follow-up run of the same run")
	// ErrUnknownCommit says that the connection broke during the commit, so its result is not known.
	// Intend reads back what was written before it returns this error.
	ErrUnknownCommit = errors.New("commit outcome unknown")
	// ErrUnwritable says that the ledger takes no writes now: its disk is full or its server is away.
	// The ledger logs when that begins and ends. Callers try again and log nothing.
	ErrUnwritable = errors.New("the ledger takes no writes")
	// ErrFull says that the disk of the ledger is full.
	ErrFull = errors.New("the disk is full")
	// ErrLocked says that another process has the sender's lock of this ledger.
	ErrLocked = errors.New("ledger is in use by another campaignd")
	// ErrNewer says that the ledger's schema is newer than this program can use.
	ErrNewer = errors.New("ledger was written by a newer campaignd")
)

// Ledger is the durable record. Every backend passes the suite in internal/ledger/ledgertest. When
// a method that writes returns nil, the data survives a crash of the process; with synchronous FULL
// it also survives a crash of the machine. Methods are safe for concurrent use. Times are UTC, in
// milliseconds.
//
// Facts merge, decisions are fenced: Record, Apply and Sweep take facts from any process at any
// time. Intend, Recover, Resolve, SkipQueued, Park and Move take decisions only from the holder of
// the segment's current epoch (docs/protocol.md#invariants).
type Ledger interface {
	RunLedger
	ImportLedger
	SendLedger
	WireLedger
	EventLedger
	SuppressionLedger
	RepeatLedger
	ReportLedger
	PersonLedger
	RetentionLedger
	ErasureLedger
	PurchaseLedger
	PaymentLinkLedger
	PriceLedger
	JobLedger
	FiringLedger
	AccessLedger
	DraftLedger
	AuditLedger
	DropLedger
	NotificationLedger
	HoldLedger
	LimitLedger
	ListingLedger
	Close() error
}

// RunLedger keeps the runs and what the operator wants of them. The history names who wants it.
type RunLedger interface {
	// CreateRun stores r and returns it. The ledger sets No, CreatedAt and State (Importing). A run
	// with the same Campaign, ListHash and Launch is returned with ErrRunExists. For the run of a
	// firing (Launch begins with FiringKey) ListHash is not compared.
	CreateRun(ctx context.Context, r Run) (Run, error)
	Run(ctx context.Context, no RunNo) (Run, error)       // ErrNoRun
	Runs(ctx context.Context, f RunFilter) ([]Run, error) // newest first
	// SetWanted writes what the operator wants and returns the run after the change, or ErrNoRun.
	// WantRun also makes a Paused run Ready. WantCancel is final: any later call with another w
	// returns the run and ErrCancelled. WantCancel makes a Paused, WaitingApproval or Importing run
	// Ready, so that a sender skips its queued rows. An import of it can write nothing more. An ended
	// run does not change.
	SetWanted(ctx context.Context, no RunNo, w Wanted, who string) (Run, error)
	Approve(ctx context.Context, no RunNo, who string) (bool, error) // WaitingApproval becomes Ready; else false, or ErrNoRun
	// SetLimits changes limits of a run: each field of c that is not nil replaces the stored one. It
	// returns the run after the change, or ErrNoRun. An ended run does not change.
	SetLimits(ctx context.Context, no RunNo, c LimitChange, who string) (Run, error)
	// SetState moves a run to the state to if it is in one of the states from. reason and detail are
	// those of a pause, "" otherwise. It reports whether it changed the state. A run to be cancelled
	// is never paused, and PausedByOperator pauses a run only while its Wanted is WantPause.
	SetState(ctx context.Context, no RunNo, from []State, to State, reason PauseReason, detail string) (bool, error)
	// MakeMarketing makes the run one of a marketing template: each later intent leaves out who has
	// opted out of marketing. It may be repeated. Nothing takes it back.
	MakeMarketing(ctx context.Context, no RunNo) error
	// SetAssets stores the header media uploaded for this run. Each replaces the one of its
	// connection. Run.Asset becomes the first of them, and Run.AssetUntil the earliest Until of all
	// assets of the run.
	SetAssets(ctx context.Context, no RunNo, assets []Asset) error
	// Assets returns the header media of a run, by connection.
	Assets(ctx context.Context, no RunNo) ([]Asset, error)
	// ReleaseCanary lets senders claim the segments that wait for the canary of the run. The history
	// has who, the operator who asked for it, or seen, what the verdict saw. It may be repeated.
	ReleaseCanary(ctx context.Context, no RunNo, who, seen string) error
	// FinishRuns ends every Running or Ready run whose segments are all done: it becomes Finished, or
	// Cancelled when the operator wants that. It returns the runs that it ended. A parked segment
	// whose last doubt has been proven is done, although its wake time has not come.
	FinishRuns(ctx context.Context) ([]Run, error)
}

// ImportLedger freezes a list.
type ImportLedger interface {
	// AppendRows adds one chunk in one transaction. after is the number of rows that the caller
	// believes the run has; if it differs, another process imports the run: ErrFenced. Deliveries with
	// Skip set get their outcome in the same transaction. Segments are inserted, or their Hi is
	// raised; they cannot be claimed before FinishImport. A recipient of a run with a Parent may not
	// be in another run of that parent, unless it was skipped there: ErrFollowedUp, and nothing is
	// added.
	AppendRows(ctx context.Context, no RunNo, after int64, rows []Delivery, segments []Segment) error
	// FoldSenders updates the table that LastSenders reads. It reads the messages of a done segment
	// once, and those of a segment that is being sent at each call. It commits in steps. On a ledger
	// that is open for reading only it does nothing.
	FoldSenders(ctx context.Context) error
	// LastSenders returns, for each recipients.Key, the one of the connections that sent the last
	// message to it that was accepted and did not fail. A key without such a message is not in the
	// map.
	LastSenders(ctx context.Context, keys []int64, connections []string) (map[int64]string, error)
	// FinishImport moves the run from Importing to state (Ready or WaitingApproval). It checks that
	// the run has the given number of rows. A second call has no effect.
	FinishImport(ctx context.Context, no RunNo, rows int64, state State) error
}

// LaneReport is what a sender reports of one lane: the segments of one run on one connection.
type LaneReport struct {
	Run        RunNo
	Connection string
	// Owner is the process that reports; ReportLanes sets it from its own argument.
	Owner string
	// LimitedBy is what the lane waits for.
	LimitedBy LimitedBy
	// Detail is a sentence for people.
	Detail string
	// Wants means that the lane has something to send now: the run takes part in sharing the number.
	Wants bool
	// Rate is in messages per second: the number's pace now, or the run's own limit when that is
	// lower; 0 while the number is held.
	Rate float64
	At   time.Time
	// Until is when the lane may go on: a place of the tier frees, the next month or day of an
	// allowance or a ramp begins, or the window opens. Zero: that is not known, or the lane does not
	// wait.
	Until time.Time
	// Dead means that the ledger knows that no process sends from it: the one that reported was
	// killed.
	Dead bool
}

// Applied counts the statuses of a batch: those that told something new of a delivery (Matched),
// those that told nothing new (Repeated), and those that were kept as orphans (Orphaned).
// Unattributed are the wishes of persons who are not known yet, and the changes of number of such.
type Applied struct {
	Matched, Repeated, Orphaned int
	Unattributed                int
}

// Swept counts what a sweep did.
type Swept struct {
	Matched   int // orphans whose receipt had been written since
	Adopted   int // doubtful and unknown deliveries that a webhook proved accepted
	Ambiguous int // orphans that fit several deliveries
	Expired   int // orphans that were deleted: too old, or too many
	Left      int // orphans that are kept

	Unattributed int // wishes that wait for the number of their person
}

// EventLedger stores what webhooks report, and when they were taken.
type EventLedger interface {
	reception.ListenLedger
	reception.SignatureLedger
	// Apply stores one batch durably. A status whose message is unknown is kept as an orphan.
	Apply(ctx context.Context, e Events) (Applied, error)
	// Sweep matches orphans: by message id, else by adoption (docs/protocol.md#adoption). It commits
	// in steps; with an error it returns the counts of the steps before.
	Sweep(ctx context.Context, now time.Time) (Swept, error)
}

// Scope is the kind of messages that a suppression stops.
type Scope string

// The scopes.
const (
	ScopeMarketing   Scope = "marketing"   // templates of category MARKETING or unknown: skipped(opted_out)
	ScopeAll         Scope = "all"         // all templates: skipped(suppressed)
	ScopeUnreachable Scope = "unreachable" // all templates, until Until: skipped(unreachable)
)

// Suppression is a number that must not be sent to.
type Suppression struct {
	Key   int64  // recipients.Key
	To    string // E.164, for exports
	Scope Scope
	// Company is the only company whose messages it stops (Origin.Company); "": the messages of all.
	Company string
	Source  string // import, operator, stop, button, user_preferences, service_block, refused:CODE, failed:CODE
	At      time.Time
	Until   time.Time // zero: for ever
	// Newest means that the opt-out of an event counts as newer than every lift that the ledger has,
	// because its own time is missing or ahead of the ledger's clock. Only the ledger sets it.
	Newest bool
	// ReceivedAt is when the event came that lifts the suppression, by the ledger's clock; zero: now.
	// The ledger counts it from LiftTime.
	ReceivedAt time.Time
	// Proof shows how it came about. A repeated suppression keeps the first that is not empty.
	Proof Proof
}

// SuppressionLedger keeps the numbers that must not be sent to.
type SuppressionLedger interface {
	Suppress(ctx context.Context, s []Suppression) (added int, err error) // idempotent on (Key, Scope, Company)
	// Unsuppress removes suppressions. One without a company also removes those of every company. An
	// opt-out from marketing that it removed does not come back when its event is applied again.
	Unsuppress(ctx context.Context, s []Suppression) (removed int, err error)
	Suppressions(ctx context.Context) iter.Seq2[Suppression, error] // by number
	// SuppressionsOf returns those of one number, by scope, also those that have ended.
	SuppressionsOf(ctx context.Context, key int64) ([]Suppression, error)
	// Unattributed counts the opt-outs and opt-ins of persons whose number is not known yet.
	Unattributed(ctx context.Context) (Unattributed, error)
	// SuppressedKeys returns which of keys are suppressed for a run, and why; a preflight counts them.
	// marketing is that of its template, companies are those of its connections. If there is none, or
	// one is "", the suppressions of every company count.
	SuppressedKeys(ctx context.Context, keys []int64, marketing bool, companies []string, now time.Time) (map[int64]SkipReason, error)
	// CappedKeys returns which of keys have got as many messages as the frequency cap allows at now,
	// over all campaigns that have a cap.
	CappedKeys(ctx context.Context, keys []int64, limit FrequencyLimit, now time.Time) (map[int64]bool, error)
	// OptOuts counts the opt-outs from marketing since an instant that recipients or the service sent,
	// not those that were imported or that an operator added. Those of a run are of recipients that it
	// did not skip. Run 0 counts all, which is far cheaper.
	OptOuts(ctx context.Context, no RunNo, since time.Time) (int64, error)
}

// Tally counts the deliveries of a run with one status and reason.
type Tally struct {
	Status Status
	Reason string // SkipReason, or the code of refused, of failed, and of queued for another attempt
	N      int64
}

// Funnel counts the deliveries that ever reached each step: a read message counts as accepted too.
type Funnel struct {
	Accepted, Sent, Delivered, Read, Failed int64
	Adopted, MaybeDuplicate, Ambiguous      int64
}

// ReportLedger reads a run for reports, audits and `why`.
type ReportLedger interface {
	Runs(ctx context.Context, f RunFilter) ([]Run, error) // as RunLedger has it
	Tallies(ctx context.Context, no RunNo) ([]Tally, Funnel, error)
	// Summary counts the rows of the run by connection, country and time. Its tallies are those of
	// Tallies.
	Summary(ctx context.Context, no RunNo) (Summary, error)
	// History returns what happened to a run: changes of its state, limits and holds, and what limited
	// each of its lanes. If the lanes have many thousand points, it returns those that are some
	// minutes or hours apart, and the last point of each lane.
	History(ctx context.Context, no RunNo) (History, error)
	// FoldSummaries counts up to most segments whose rows first changed at least quiet ago, or 5
	// times as long ago while the segment has rows to send. It keeps their summaries, so that Tallies
	// and Summary need not read the rows, and returns how many it kept: not those that changed
	// meanwhile. On a ledger that is open for reading only it does nothing.
	FoldSummaries(ctx context.Context, quiet time.Duration, most int) (kept int, err error)
	// Lines yields every delivery of the run in the order of its rows. It reads in short pages, so a
	// long report does not block the ledger.
	Lines(ctx context.Context, no RunNo) iter.Seq2[Line, error]
	// SelectLines returns at most n deliveries of the run that the filter selects, from the seq from
	// on, in the order of their seqs. It ends after about 8 ms, also with fewer than n. next is the
	// seq at which to go on; 0: there are no more.
	SelectLines(ctx context.Context, no RunNo, f LineFilter, from int64, n int) (page []Line, next int64, err error)
	// Audit reads each delivery of the run with its outcome and its segment, and finds those that
	// contradict each other, rows of the list that are missing or there twice, phone keys that are
	// queued twice, and summaries that differ from the rows. It names at most limit problems and
	// counts all. With a limit of 0 it reads nothing.
	Audit(ctx context.Context, no RunNo, limit int) ([]Problem, AuditCounts, error)
	// Lanes returns the last report of each lane, for `why`.
	Lanes(ctx context.Context, no RunNo) ([]LaneReport, error)
	// SegmentStates returns the segments of a run.
	SegmentStates(ctx context.Context, no RunNo) ([]SegmentState, error)
	// LastEventAt is when the last status of the run was applied; zero if none was.
	LastEventAt(ctx context.Context, no RunNo) (time.Time, error)
	// Responses counts the recipients of the run who replied to its message or opted out after it. It
	// is nil if the run was created before the ledger kept that.
	Responses(ctx context.Context, no RunNo) (*Responses, error)
	// AttributeResponses finds the messages that up to most replies and opt-outs follow, in the order
	// in which they came. It returns how many it judged, and how many are left because KeepNumbers has
	// not kept all numbers yet. On a ledger that is open for reading only it does nothing.
	AttributeResponses(ctx context.Context, most int) (judged, left int, err error)
	// CountPurchases returns the tally, which is empty, with the orders of the people of its run.
	CountPurchases(ctx context.Context, t conversion.Tally) (conversion.Tally, error)
}

// BriefPark is how long a sender parks a segment of which it has sent nothing, while a hold or a
// limit stops its connection. After that, another connection of the run may claim the segment.
const BriefPark = 5 * time.Second

// ParkedBriefly is the longest time until the WakeAt of a segment that is parked for BriefPark: the
// clocks of the sender and of the reader may differ by seconds. A later WakeAt is the opening of a
// window.
const ParkedBriefly = 2 * BriefPark

// SegmentState is a segment with its mark, lease and times.
type SegmentState struct {
	Segment
	Mark       int64
	Epoch      int64
	Owner      string
	LeaseUntil time.Time
	WakeAt     time.Time
	Connection string
	Done       bool
	Moved      int64 // how often it was moved to another connection
	Moves      []SegmentMove
}

// SegmentMove is one move of a segment to another connection (docs/protocol.md#moves).
type SegmentMove struct {
	From string // the connection that gave the rows away
	Rows int64  // the rows that were not sent then: above the mark, or waiting for a retry
}
