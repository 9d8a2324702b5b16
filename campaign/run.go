package campaign

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RunNo numbers the runs of a ledger from 1. With a delivery's seq it makes the
// delivery's key in the ledger: no<<32 | seq.
type RunNo int64

// State is where a run stands.
type State string

// The run states of design section 4.
const (
	Importing       State = "importing"
	WaitingApproval State = "waiting_approval"
	Ready           State = "ready" // imported; becomes Running when a sender takes it up
	Running         State = "running"
	Paused          State = "paused"
	Finished        State = "finished" // nothing queued, sending or in doubt
	Cancelled       State = "cancelled"
	RunStateFailed  State = "failed"
)

// Ended reports whether no sender will touch the run again.
func (s State) Ended() bool { return s == Finished || s == Cancelled || s == RunStateFailed }

// Wanted is what the operator asked of a run. Any process may write it; the
// transaction of each intent reads it, so a pause holds from the next intent on.
type Wanted string

// What an operator may want.
const (
	WantRun    Wanted = "run"
	WantPause  Wanted = "pause"
	WantCancel Wanted = "cancel"
)

// PauseReason says why a run is Paused. The list is closed.
type PauseReason string

// The reasons of design section 4. Self tells whether it ends by itself.
const (
	PausedByOperator  PauseReason = "operator"
	PausedByCanary    PauseReason = "canary"
	PausedByBreaker   PauseReason = "breaker"   // the same payload fault again and again
	PausedByTemplate  PauseReason = "template"  // not approved (any more); ends when a webhook approves it, unless it was disabled or deleted
	PausedByNumber    PauseReason = "number"    // the connection may not send
	PausedByAccount   PauseReason = "account"   // key, client or business account refused
	PausedByAllowance PauseReason = "allowance" // 402 plan_limit_messages
	PausedByLedger    PauseReason = "ledger"    // the ledger went back in time
)

// Self reports whether such a pause can end without an operator: that of a template that was disabled or deleted does not.
func (r PauseReason) Self() bool { return r == PausedByTemplate }

// Remedy says what ends the pause of the run named id.
func (r PauseReason) Remedy(id string) string {
	if r.Self() {
		return "it goes on by itself when the service approves the template again and `campaignd serve` is there to hear it, unless the template was disabled or deleted; else with `campaignd resume " + id + "`"
	}
	return "`campaignd resume " + id + "` lets it go on"
}

// Run is one launch of a campaign over one frozen list.
type Run struct {
	No         RunNo
	Campaign   string
	ListHash   string // SHA-256 of the list as read, lower hex
	ListName   string // what the operator called it: a path, or bucket/key
	Launch     string // "" for the first; distinguishes --new launches and cron firings of one list
	Parent     RunNo  // of a follow-up run; 0 otherwise
	Definition []byte // the campaign file as launched, verbatim
	Header     []string
	Template   string // name of Definition's template, for template webhooks
	Language   string
	Marketing  bool      // category MARKETING or unknown: opted_out applies
	Budget     int64     // max_messages; 0: no limit
	Taken      int64     // intents counted against Budget
	Asset      string    // assetId of the header file uploaded for this run; "" if none
	AssetUntil time.Time // when the service deletes it (seed 000: 30 days after upload)
	Rows       int64     // rows imported so far; of the whole file once State is past Importing
	State      State
	Reason     PauseReason // of Paused
	Detail     string      // a sentence for the operator: what was refused, which code
	Wanted     Wanted
	CreatedAt  time.Time
	StartedAt  time.Time
	EndedAt    time.Time
}

// ID names the run to people and scripts: campaign-no.
func (r Run) ID() string { return fmt.Sprintf("%s-%d", r.Campaign, r.No) }

// RunFilter selects runs. Its zero value selects every run. A ledger keeps runs for ever, so a caller
// that asks often should ask for few.
type RunFilter struct {
	Unfinished bool   // only runs that can still change their state
	Campaign   string // only runs of this campaign; "": of any
	ListHash   string // only runs of this list, by its SHA-256; "": of any
	Launch     string // only the run with this launch key; "": any
	Fired      bool   // only runs that a schedule started: their Launch begins with FiringKey
	Limit      int    // at most this many, the newest first; 0: all
}

// FiringKey begins the Launch of a run that a schedule started; what follows names the firing. A ledger
// holds one run of a campaign and firing, whatever list it read (design section 7: N replicas fire once).
const FiringKey = "cron "

// ParseRunID accepts what ID prints or the number alone. The word "latest" is
// resolved by the caller (FindRun).
func ParseRunID(s string) (RunNo, error) {
	n, err := strconv.ParseInt(s[strings.LastIndexByte(s, '-')+1:], 10, 64)
	if err != nil || n <= 0 || n >= 1<<31 {
		return 0, fmt.Errorf("run %q: want an id as `campaignd runs` prints it (for example spring-sale-3), its number, or latest", s)
	}
	return RunNo(n), nil
}

// SegmentSize is the most deliveries a segment holds, and the size of the block
// of seq that one segment owns: segment i of a run covers seq from i*SegmentSize.
const SegmentSize = 4096

// Segment is the unit of ownership: up to SegmentSize consecutive seq of one
// run and one window group.
type Segment struct {
	Run   RunNo
	Index int64  // from 0; Lo = Index*SegmentSize
	Group string // IANA zone of its recipients when the window is theirs; "" otherwise
	Lo    int64  // first seq
	Hi    int64  // one past the last seq
	// Closed segments hold only rows that the import skipped: done from the start, never claimed.
	// They keep seq blocks of skipped rows apart, and let a resumed import go on where it stopped.
	Closed bool
}
