package campaign

import (
	"context"
	"time"
)

// Lease is the right to decide about one segment, until another epoch begins.
type Lease struct {
	Segment
	Epoch      int64
	Mark       int64     // seq below it may have been posted
	Connection string    // "" until the first intent
	Until      time.Time // by the local clock, counted from before the request was made
	// Recovered is true when the segment had been owned before: Recover must run first.
	Recovered bool
}

// Claim says what a pacer can take.
type Claim struct {
	Owner      string
	Connection string  // segments bound to it, or not bound yet
	Runs       []RunNo // whose segments may be taken; in order of preference
	Begun      bool    // only segments that were owned before: a dead owner's, and parked ones whose time has come
	Max        int
	Lease      time.Duration
}

// Retry is a delivery whose earlier attempt is known not to have been sent.
type Retry struct {
	Delivery
	Attempt int // of the attempt to come
	Tries   int // earlier attempts that count (Result.Counts): throttling and "never posted" do not
}

// Intent asks to post the deliveries From..To (To exclusive) of a leased segment,
// and/or retries of it. From is the current mark.
type Intent struct {
	Lease      Lease
	Owner      string
	Connection string // binds the segment when it is not bound yet
	From, To   int64
	Retries    []Retry
	// Keys are recipients.Key of From..To in seq order, and of Retries after them:
	// the ledger reads the suppressions of just these inside the transaction.
	Keys []int64
	// Defer lists seqs of From..To that one recipient's own limit holds back: the
	// mark passes them and they become "not sent, not before At, why".
	Defer []Deferral
}

// Deferral is a fact: not sent, not before At.
type Deferral struct {
	Seq int64
	At  time.Time
	Why string
}

// Granted answers an Intent.
type Granted struct {
	// Held is true when the run is not (wanted) running, or its budget is used up: nothing was
	// written, the mark stands.
	Held   bool
	Fenced bool // the lease is lost: nothing was written
	// To is the new mark; it may be below Intent.To when the budget allows only part.
	To int64
	// OverBudget is true when Budget ended at To.
	OverBudget bool
	// Skipped lists the seqs (of the group or the retries) that became skipped in this
	// transaction: they must not be posted.
	Skipped map[int64]SkipReason
}

// ResultKind is what an attempt's exchange proved.
type ResultKind uint8

// The facts and the one decision (ResultDoubt is fenced by epoch).
const (
	ResultAccepted ResultKind = iota + 1 // 200 with an id
	ResultRefused                        // refused for good: definitely not sent
	ResultDeferred                       // definitely not sent; may be tried again at NotBefore
	ResultDoubt                          // may have been sent
)

// Result is what one attempt's exchange proved.
type Result struct {
	Run        RunNo
	Seq        int64
	Key        int64 // recipients.Key
	Connection string
	Attempt    int // from 1
	Kind       ResultKind
	At         time.Time // when the answer came
	IntentAt   time.Time // when the intent was committed; for ResultDoubt
	Epoch      int64     // of the lease it was posted under; for ResultDoubt

	MessageID string    // ResultAccepted
	Warning   string    // ResultAccepted: data.warning.code
	Code      string    // refused, deferred, doubt: the service's error, the platform's code, or time_out ...
	Detail    string    // prose, at most 300 bytes
	NotBefore time.Time // ResultDeferred
	Counts    bool      // ResultDeferred: the try counts (throttling never does)
	NoResend  bool      // ResultDoubt: accepted_no_id; no policy resends it
	RequestID string
	TraceID   string
	Suppress  *Suppression // a refusal that feeds the suppression list, in the same transaction
}

// OnUncertain is what happens to a doubt when its window is over.
type OnUncertain string

// The policies of design section 4.
const (
	Hold     OnUncertain = "hold"     // ends as unknown
	Evidence OnUncertain = "evidence" // resend once the webhook pipeline is proven healthy past the doubt
	Resend   OnUncertain = "resend"   // resend; may duplicate, and is counted
)

// Parked answers Park.
type Parked struct {
	Done bool      // mark = hi and nothing deferred, retrying or in doubt: the segment is finished
	Wake time.Time // otherwise: when it will be claimable again
}

// SendLedger is the protocol of domain/reliability.md 1.3.
type SendLedger interface {
	// Claim leases up to Max segments of the named runs (in state Ready or Running, whatever is
	// wanted of them: a cancelled run's segments are claimed to be dropped) whose lease has run out
	// and whose wake time has come. Ready runs become Running.
	Claim(ctx context.Context, c Claim) ([]Lease, error)
	// Renew prolongs leases; it returns those that are still ours, with Until set.
	Renew(ctx context.Context, leases []Lease, d time.Duration) ([]Lease, error)
	// Release gives a segment back at once, with what it did not post (unposted seqs
	// whose intent was committed) written as deferred attempt 0: a fact.
	Release(ctx context.Context, l Lease, unposted []int64) error
	// Recover turns each seq below the mark without an outcome, and each retry
	// without a result, into a doubt. It returns how many.
	Recover(ctx context.Context, l Lease, at time.Time) (int, error)
	// Deliveries reads the deliveries of [from, to) of a run that have no outcome yet, by seq.
	Deliveries(ctx context.Context, no RunNo, from, to int64) ([]Delivery, error)
	// Due reads up to n deferred deliveries of the segment whose time has come, by time.
	Due(ctx context.Context, l Lease, now time.Time, n int) ([]Retry, error)
	// Intend commits a group of intents in one transaction; the answers are in the order of
	// the intents. On ErrUnknownCommit nothing may be posted and the leases must be dropped.
	Intend(ctx context.Context, in []Intent) ([]Granted, error)
	// Record merges results. A doubt whose epoch is stale is dropped: the new
	// owner's Recover has written it.
	Record(ctx context.Context, rs []Result) error
	// Resolve applies the policy to doubts of the segment that began before olderThan:
	// Hold makes them unknown, Resend (and Evidence, when the caller has it) deferred with the flag
	// maybe_duplicate. Rows with NoResend always become unknown. It returns how many.
	Resolve(ctx context.Context, l Lease, olderThan time.Time, p OnUncertain) (int, error)
	// Drop turns everything of the segment that is queued (at or above the mark, or deferred)
	// into skipped(reason).
	Drop(ctx context.Context, l Lease, reason SkipReason) (int, error)
	// Park gives the segment back until wake, or for good when it is done. A zero wake
	// lets the ledger choose the earliest due time of its deferred rows and doubts (doubtWindow after they began).
	Park(ctx context.Context, l Lease, wake time.Time, doubtWindow time.Duration) (Parked, error)
	// ReportLanes replaces what this process says about its lanes, for `why`.
	ReportLanes(ctx context.Context, owner string, lanes []LaneReport) error
}
