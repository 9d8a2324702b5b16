package campaign

import (
	"context"
	"time"

	"campaignd/campaign/reception"
)

// Lease is the right to decide about one segment, until another epoch begins
// (docs/protocol.md#leases).
type Lease struct {
	Segment
	Epoch      int64
	Mark       int64     // deliveries with a lower seq may have been posted
	Connection string    // "" until the first intent
	Until      time.Time // by the local clock, counted from before the request was made
	// Recovered means that the segment had an owner before: Recover must run first.
	Recovered bool
	Moved     bool // earlier deliveries may be of other connections
}

// Claim describes the segments that a sender can take.
type Claim struct {
	Owner      string
	Connection string  // takes segments of this connection and segments without one
	Runs       []RunNo // takes segments of these runs, in order of preference
	Begun      bool    // takes only segments that had an owner: of a dead owner, or parked and due
	// SameConnection takes no segment without a connection.
	SameConnection bool
	// Cancelled takes only segments of runs that are to be cancelled: of any connection, and also
	// before their wake time.
	Cancelled bool
	// Seize also takes segments whose lease still runs. It is used with Cancelled only: their owner
	// may be dead, and if it is not, its results still merge.
	Seize bool
	Max   int
	Lease time.Duration
}

// FreeSegment says that a segment of the run is free. A Claim takes it over this connection, or
// over any if Connection is "". A Claim with Begun takes it only if Begun is set: it had an owner.
type FreeSegment struct {
	Run        RunNo
	Connection string
	Begun      bool
}

// Retry is a delivery whose earlier attempt is known not to have been sent.
type Retry struct {
	Delivery
	Attempt int // number of the next attempt
	Tries   int // earlier attempts that count (Result.Counts); throttling and "never posted" do not
}

// Intent asks to post the deliveries From..To (To exclusive) of a leased segment, retries of it, or
// both (docs/protocol.md#intents). From is the current mark.
type Intent struct {
	Lease      Lease
	Connection string // becomes the segment's connection when it has none yet
	// Origin is what the holds in force are compared with, in the same transaction.
	Origin   Origin
	From, To int64
	Retries  []Retry
	// Keys are the recipients.Key of From..To in the order of seq, then the keys of Retries. The
	// ledger reads the suppressions of exactly these inside the transaction.
	Keys []int64
	// Until is when the window of these recipients closes, or the run expires. A transaction that
	// begins then or later grants nothing. Zero: never.
	Until time.Time
	// Tier is the tier of the connection's portfolio. Each recipient that the portfolio has not
	// reached in 24 hours takes a place of it in the same transaction.
	Tier Tier
	// Cap is the run's policies.frequency_cap; nil: it has none.
	Cap *FrequencyLimit
	// Pair asks for PairSpace between this message and the last one to its recipient over the
	// connection. It is set when another run may send to the same recipient.
	Pair bool
	// LeaveOut is that of the run.
	LeaveOut bool
}

// Granted answers an Intent.
type Granted struct {
	// Denied means that nothing was granted now: the run is not running, should not run, or has used
	// up its budget, a hold stops the origin (HeldBy), or the window has closed or the tier is full
	// (Limit). Nothing was written, and the mark is unchanged.
	Denied bool
	// HeldBy is the hold that stops the origin; its Scope is "" when none does.
	HeldBy Hold
	// Fenced means that the lease is lost. Nothing was written.
	Fenced bool
	// To is the new mark. It is below Intent.To when the budget allowed only a part.
	To int64
	// OverBudget means that the budget ended at To.
	OverBudget bool
	// Skipped lists the seqs, of the group or of the retries, that this transaction skipped. They
	// must not be posted.
	Skipped map[int64]SkipReason
	// Limit is what ended the grant at To, other than the budget: the deliveries from To on, and
	// retries that are in Skipped, were not granted because of it. With Denied nothing was.
	Limit Limit
	// Deferred lists the seqs, of the group or of the retries, that this transaction queued for a
	// later time because of their recipient, each with that time. They must not be posted.
	Deferred map[int64]time.Time
}

// ResultKind is what the exchange of an attempt proved (docs/protocol.md#what-an-answer-proves).
type ResultKind uint8

// The first three are facts. ResultDoubt is a decision, fenced by the epoch, except with NoResend.
const (
	ResultAccepted ResultKind = iota + 1 // 200 with an id
	ResultRefused                        // refused for good: definitely not sent
	ResultDeferred                       // definitely not sent; may be tried again at NotBefore
	ResultDoubt                          // may have been sent
)

// Result is what the exchange of one attempt proved.
type Result struct {
	Run        RunNo
	Seq        int64
	Connection string
	Attempt    int // from 1
	Kind       ResultKind
	At         time.Time // when the answer came
	IntentAt   time.Time // for ResultDoubt: before the intent's transaction began
	Epoch      int64     // for ResultDoubt and ResultDeferred: the epoch of the lease under which it was posted

	MessageID string    // ResultAccepted
	Warning   string    // ResultAccepted: data.warning.code
	Code      string    // refused, deferred, doubt: the service's error, the platform's code, or time_out and the like
	Detail    string    // prose, at most MaxDetail bytes
	NotBefore time.Time // ResultDeferred
	Counts    bool      // ResultDeferred: the attempt counts as a try; throttling never does
	NoResend  bool      // ResultDoubt, a fact: accepted_no_id or not_the_service; no policy resends it
	RequestID string
	TraceID   string
	Suppress  *Suppression // what a refusal adds to the suppression list, in the same transaction
}

// MaxDetail is the most bytes of a detail that the ledger keeps.
const MaxDetail = 300

// OnUncertain is what happens to a doubt when its window is over (docs/protocol.md#doubts).
type OnUncertain string

// The policies.
const (
	UncertainHold     OnUncertain = "hold"     // the row ends as unknown
	UncertainEvidence OnUncertain = "evidence" // resend if a webhook of a later message has come by then, else unknown
	UncertainResend   OnUncertain = "resend"   // the row is sent again; this may duplicate, and is counted
)

// Parked answers Park.
type Parked struct {
	Done bool      // the mark is at Hi and nothing is deferred or in doubt: the segment is finished
	Wake time.Time // otherwise: when the segment can be claimed again
}

// SendLedger is the ledger's part of the send protocol (docs/protocol.md).
type SendLedger interface {
	// Claim leases up to Max segments of the given runs whose lease has run out and whose wake time
	// has come. The runs are Ready or Running, whatever the operator wants: the segments of a run that
	// is to be cancelled are claimed too, so that a sender skips what is queued. Ready runs become
	// Running.
	Claim(ctx context.Context, c Claim) ([]Lease, error)
	// FreeSegments returns once each kind of segment of these runs that a Claim could take now,
	// whatever the states of the runs.
	FreeSegments(ctx context.Context, runs []RunNo) ([]FreeSegment, error)
	// Renew prolongs leases. It returns those that the owner still has, with Until set.
	Renew(ctx context.Context, leases []Lease, d time.Duration) ([]Lease, error)
	// Release gives a segment back at once, if the lease has its epoch. unposted are seqs whose intent
	// was committed and that were not posted: a first attempt is written as deferred, attempt 0, and a
	// retry returns to the attempt before it.
	Release(ctx context.Context, l Lease, unposted []int64) error
	// Recover turns each seq below the mark without an outcome, and each retry without a result,
	// into a doubt. It returns how many.
	Recover(ctx context.Context, l Lease, at time.Time) (int, error)
	// Deliveries reads the deliveries of [from, to) of a run that have no outcome yet, by seq.
	Deliveries(ctx context.Context, no RunNo, from, to int64) ([]Delivery, error)
	// Due reads up to n deferred deliveries of the segment whose time has come, the earliest first.
	Due(ctx context.Context, l Lease, now time.Time, n int) ([]Retry, error)
	// Intend commits a group of intents in one transaction. The answers are in the order of the
	// intents. On ErrUnknownCommit nothing may be posted, and the caller must give its leases up.
	Intend(ctx context.Context, in []Intent) ([]Granted, error)
	// Record merges results. It ignores a doubt with a stale epoch, unless it has NoResend, because
	// the new owner's Recover has written it.
	Record(ctx context.Context, rs []Result) error
	// Resolve applies the policy to doubts of the segment that began within the span: UncertainHold
	// makes them unknown, UncertainResend deferred with the flag maybe_duplicate. Rows with NoResend
	// always become unknown. It returns how many. The command `campaignd resolve` is something else:
	// it sends unknown rows again.
	Resolve(ctx context.Context, l Lease, began reception.Span, p OnUncertain) (int, error)
	// Heard reports whether a status has come of a message that the connection sent and that was
	// accepted at since or later. It looks at the 64 newest segments of the connection.
	Heard(ctx context.Context, connection string, since time.Time) (bool, error)
	// SkipQueued turns everything of the segment that is queued (at or above the mark, or deferred)
	// into skipped(reason). For OverLimit it leaves what the budget has counted: deferred deliveries
	// that were granted and not given back. It returns how many.
	SkipQueued(ctx context.Context, l Lease, reason SkipReason) (int, error)
	// Park gives the segment back until wake, or for good when it is done. With a zero wake the
	// ledger chooses the earliest due time of its deferred rows and doubts; a doubt that began at
	// since is due at ends(since).
	Park(ctx context.Context, l Lease, wake time.Time, ends func(since time.Time) time.Time) (Parked, error)
	// Move gives the segment back. Then only the connection to can claim it, or any if to is "". Rows
	// below the mark stay with the connection that posted them. It reports false, and nothing changes,
	// while the result of an attempt is not recorded, and always for a segment that the import bound
	// (Segment.Bound).
	Move(ctx context.Context, l Lease, to string) (bool, error)
	// Backlog counts the deliveries of a run at or above the marks of its segments, by Segment.Group.
	Backlog(ctx context.Context, no RunNo) (map[string]int64, error)
	// LiveLanes returns the lanes of all runs that were reported within d, by the database's clock,
	// but not those that the owner but reported.
	LiveLanes(ctx context.Context, d time.Duration, but string) ([]LaneReport, error)
	// ReportLanes replaces what this owner reported of its lanes, for `why`.
	ReportLanes(ctx context.Context, owner string, lanes []LaneReport) error
}
