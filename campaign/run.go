package campaign

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RunNo numbers the runs of a ledger from 1. The id of a delivery in the ledger is made of it and
// of the delivery's seq: no<<32 | seq.
type RunNo int64

// State is the state of a run.
type State string

// The states of docs/states.md#a-run.
const (
	Importing       State = "importing"
	WaitingApproval State = "waiting_approval"
	Ready           State = "ready" // imported; becomes Running when a sender claims a segment
	Running         State = "running"
	Paused          State = "paused"
	Finished        State = "finished" // nothing queued, sending or in doubt
	Cancelled       State = "cancelled"
	RunStateFailed  State = "failed"
)

// Sends reports whether senders may claim segments of the run. They send while its operator wants
// it to run.
func (s State) Sends() bool { return s == Ready || s == Running }

// Ended reports whether no sender will work on the run again.
func (s State) Ended() bool { return s == Finished || s == Cancelled || s == RunStateFailed }

// Wanted is what the operator wants of a run. Any process may write it. The transaction of each
// intent reads it, so no intent is granted after a pause.
type Wanted string

// The operator's wishes.
const (
	WantRun    Wanted = "run"
	WantPause  Wanted = "pause"
	WantCancel Wanted = "cancel"
)

// PauseReason is why a run is Paused. The list is closed. Only an operator ends a pause; a stop
// that may end by itself is a Hold.
type PauseReason string

// The reasons of docs/states.md#a-run.
const (
	PausedByOperator PauseReason = "operator"
	PausedByCanary   PauseReason = "canary"
	PausedByBreaker  PauseReason = "breaker" // messages that have the same fault, or too many opt-outs
	PausedByLedger   PauseReason = "ledger"  // the ledger went back in time
)

// PauseReasons lists every PauseReason.
func PauseReasons() []PauseReason {
	return []PauseReason{PausedByOperator, PausedByCanary, PausedByBreaker, PausedByLedger}
}

// Run is one launch of a campaign over one frozen list.
type Run struct {
	No       RunNo
	Campaign string
	// ListHash is the SHA-256 of the list as read, in lower-case hex.
	ListHash string
	// ListName is the path of the list: as the operator named it, or the path of an upload.
	ListName string
	// Launch is the launch key. It tells several runs of one list apart: runs of --new, of a schedule
	// and of dropped files. "" for the first run of a list.
	Launch string
	// Parent is the run that a follow-up run selected its rows from; 0 otherwise.
	Parent RunNo
	// LeaveOut skips who got the template of the run from another one (SentBefore).
	LeaveOut bool
	// Definition is the campaign file as launched, verbatim.
	Definition []byte
	// Header names the columns of the list, and Delimiter is the character between its cells; "" in
	// runs of versions that did not store it.
	Header    []string
	Delimiter string
	// Template and Language are copied from Definition. Template events are matched with them.
	Template string
	Language string
	// Marketing means category MARKETING or unknown: opt-outs apply. The category may become MARKETING
	// after the launch (RunLedger.MakeMarketing).
	Marketing bool
	// Budget is max_messages; 0: no limit. Taken counts the intents against it.
	Budget int64
	Taken  int64
	// Asset is one of the Assets uploaded for this run; "" if there is none. The service deletes the
	// first of them at AssetUntil, 30 days after the upload (docs/service.md#media).
	Asset      string
	AssetUntil time.Time
	// Rows is the number of rows imported so far; of the whole list when State is past Importing.
	Rows   int64
	State  State
	Reason PauseReason // of Paused
	// Detail is a sentence for the operator: what was refused, with which code.
	Detail string
	Wanted Wanted
	// Changed is what the operator changed of the limits since the launch; see
	// file.Definition.LimitsOf.
	Changed LimitChange
	// LaunchedBy is the operator who launched it, as the log of actions names them; "" for a schedule,
	// a dropped file, an automatic follow-up, and runs of versions that did not store it.
	LaunchedBy string
	// Draft is the Draft that the run is launched from. CreateRun stores the run in it; "": there is
	// none, and in every run that is read.
	Draft     string
	CreatedAt time.Time
	StartedAt time.Time
	EndedAt   time.Time
	// Retired is what retention deleted of its deliveries.
	Retired Retired
}

// ID names the run for people and scripts: campaign-no.
func (r Run) ID() string { return fmt.Sprintf("%s-%d", r.Campaign, r.No) }

// LaunchedBefore reports whether the run was launched before at, by the clock of the service. In
// doubt it was.
func (r Run) LaunchedBefore(at time.Time) bool { return r.CreatedAt.Before(at.Add(holdSkew)) }

// ParentID is the id of the run whose rows a follow-up has.
func (r Run) ParentID() string { return Run{No: r.Parent, Campaign: r.Campaign}.ID() }

// SelectionName is the ListName of a follow-up run of r that selects rows by the choices of where,
// such as failed=131049,unknown.
func (r Run) SelectionName(where string) string { return where + " of " + r.ID() }

// Selects reports whether a follow-up run selected its rows also by this choice, such as
// skipped=holdout.
func (r Run) Selects(choice string) bool {
	where, ok := strings.CutSuffix(r.ListName, " of "+r.ParentID())
	return ok && r.Parent != 0 && slices.Contains(strings.Split(where, ","), choice)
}

// RunFilter selects runs. Its zero value selects every run. A ledger keeps runs for ever, so a
// caller that asks often should ask for few.
type RunFilter struct {
	Unfinished bool   // only runs that can still change their state
	Campaign   string // only runs of this campaign; "": of any
	ListHash   string // only runs of this list, by its SHA-256; "": of any
	Template   string // only runs of this template, in any language; "": of any
	Launch     string // only the run with this launch key; "": any
	Fired      bool   // only runs that a schedule started: their Launch begins with FiringKey
	// EndedAfter selects the runs that have not ended, or ended after it; zero: all.
	EndedAfter time.Time
	Limit      int // at most this many, the newest first; 0: all
}

// FiringKey begins the Launch of a run that a schedule started; the rest names the firing. A ledger
// has one run for each campaign and firing, whatever the list, so that only one of several replicas
// launches it.
const FiringKey = "cron "

// BySchedule is who cancels a run for the next firing of its campaign, in the history.
const BySchedule = "its schedule"

// ByFolder is who cancels a run whose dropped list is lost or rejected, in the history.
const ByFolder = "its watched folder"

// ParseRunID reads an id as ID prints it, or the number alone. control.Find also resolves the word
// "latest".
func ParseRunID(s string) (RunNo, error) {
	n, err := strconv.ParseInt(s[strings.LastIndexByte(s, '-')+1:], 10, 64)
	if err != nil || n <= 0 || n >= 1<<31 {
		return 0, fmt.Errorf("run %q: want an id as `campaignd runs` prints it (for example spring-sale-3), its number, or latest", s)
	}
	return RunNo(n), nil
}

// List names the list for people. The name of an uploaded or dropped list, and of an audience's,
// has no folder, because its file is deleted.
func (r Run) List() string {
	dir, file := filepath.Split(r.ListName)
	if strings.HasPrefix(r.Launch, DropKey) {
		return file
	}
	dir = filepath.Clean(dir)
	if strings.HasPrefix(filepath.Base(dir), "audience-") && strings.HasSuffix(filepath.Dir(dir), ".audiences") {
		return file
	}
	name, ok := strings.CutPrefix(file, "list-")
	if ok && strings.HasPrefix(filepath.Base(dir), "upload-") && strings.HasSuffix(filepath.Dir(dir), ".uploads") {
		return name
	}
	return r.ListName
}

// WithoutUpload removes the folder of the upload or the audience of r, if it has one, from a
// message: people know the files by their own names.
func (r Run) WithoutUpload(text string) string {
	if r.List() == r.ListName {
		return text
	}
	dir := filepath.Dir(r.ListName)
	return strings.NewReplacer(dir+"/campaign-", "", dir+"/list-", "", dir+"/", "").Replace(text)
}

// SegmentSize is the most deliveries of a segment, and the size of the block of seqs that a segment
// owns: segment i of a run has the seqs from i*SegmentSize.
const SegmentSize = 4096

// SegmentFor is how many deliveries a segment should hold, so that a list of this many rows spreads
// over its connections: about four segments for each connection, and at least 64 deliveries in
// each.
func SegmentFor(rows int64, connections int) int64 {
	return min(max(rows/int64(4*max(connections, 1)), 64), SegmentSize)
}

// CanarySegment is the most deliveries in a segment of a canary of count messages; other segments
// have at most full.
func CanarySegment(count int64, connections int, full int64) int64 {
	n := int64(max(connections, 1))
	return max(min((count+n-1)/n, full), 1)
}

// Segment is the unit of ownership: up to SegmentSize consecutive seqs of one run and one window
// group (docs/protocol.md#segments-and-marks).
type Segment struct {
	Run   RunNo
	Index int64  // from 0; Lo = Index*SegmentSize
	Group string // window group: IANA zones, separated by commas, if the window is in the recipients' zones; else ""
	Lo    int64  // first seq
	Hi    int64  // one past the last seq
	// Closed means that the import skipped all rows of the segment: it is done from the start and is
	// never claimed. Closed segments keep the seqs of skipped rows apart, and an interrupted import
	// continues after them.
	Closed bool
	// AfterCanary means that the segment cannot be claimed before ReleaseCanary.
	AfterCanary bool
	// Bound is the only connection that may send the segment (NumbersSticky); "": every connection of
	// the run may.
	Bound string
}
