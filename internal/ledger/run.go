package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
)

// RunClause is the end of a SELECT of run r that reads what f asks for, newest first, with its
// arguments.
func RunClause(f campaign.RunFilter) (sql string, args []any) {
	var all []string
	is := func(column, value string) {
		if value != "" {
			args = append(args, value)
			all = append(all, column+" = $"+strconv.Itoa(len(args)))
		}
	}
	is("r.campaign", f.Campaign)
	is("r.list_hash", f.ListHash)
	is("r.launch", f.Launch)
	is("r.template", f.Template)
	if f.Fired { // the condition of the index run_firing
		all = append(all, "substr(r.launch, 1, 5) = 'cron '")
	}
	if f.Unfinished { // by the index run_state: few of many
		all = append(all, "r.state IN ('importing', 'waiting_approval', 'ready', 'running', 'paused')")
	}
	if !f.EndedAfter.IsZero() {
		args = append(args, Millis(f.EndedAfter))
		all = append(all, "(r.ended_at = 0 OR r.ended_at > $"+strconv.Itoa(len(args))+")")
	}
	if len(all) > 0 {
		sql = "WHERE " + strings.Join(all, " AND ") + " "
	}
	sql += "ORDER BY r.no DESC"
	return limited(sql, args, f.Limit)
}

// limited adds to a SELECT how many rows are wanted; 0: all. SQLite plans a statement anew at each
// execution when its limit is a bare parameter, and not when it is an expression.
func limited(sql string, args []any, limit int) (string, []any) {
	if limit <= 0 {
		return sql, args
	}
	args = append(args, int64(limit))
	return sql + " LIMIT $" + strconv.Itoa(len(args)) + " + 0", args
}

// ScanRun reads the columns of a run in the order of its scan call, times in milliseconds.
func ScanRun(scan func(...any) error) (r campaign.Run, err error) {
	var header, limits string
	var assetUntil, created, started, ended, retired int64
	if err := scan(&r.No, &r.Campaign, &r.ListHash, &r.ListName, &r.Launch, &r.Parent, &r.Definition, &header, &r.Delimiter,
		&r.Template, &r.Language, &r.Marketing, &r.Budget, &r.Taken, &r.Asset, &assetUntil, &r.Rows, &r.State, &r.Reason, &r.Detail,
		&r.Wanted, &limits, &created, &started, &ended, &r.Retired.Rows, &retired, &r.LaunchedBy, &r.LeaveOut); err != nil {
		return r, err
	}
	r.AssetUntil, r.CreatedAt, r.StartedAt, r.EndedAt = TimeOf(assetUntil), TimeOf(created), TimeOf(started), TimeOf(ended)
	r.Retired.At = TimeOf(retired)
	if limits != "" {
		if err := json.Unmarshal([]byte(limits), &r.Changed); err != nil {
			return r, err
		}
	}
	return r, json.Unmarshal([]byte(header), &r.Header)
}

// ScanAsset reads the columns of an asset in the order of its scan call.
func ScanAsset(scan func(...any) error) (a campaign.Asset, err error) {
	var until int64
	err = scan(&a.Connection, &a.ID, &until, &a.File, &a.SHA256)
	a.Until = TimeOf(until)
	return a, err
}

// NewRun returns r as CreateRun stores it: it is to run unless r says otherwise. fired reports
// whether a schedule started it. Then its campaign and its Launch identify it, whatever list it
// reads; otherwise its list does so with them.
func NewRun(r campaign.Run) (_ campaign.Run, fired bool) {
	if r.Wanted == "" {
		r.Wanted = campaign.WantRun
	}
	return r, strings.HasPrefix(r.Launch, campaign.FiringKey)
}

// CheckWanted refuses a wish that no run knows.
func CheckWanted(w campaign.Wanted) error {
	switch w {
	case campaign.WantRun, campaign.WantPause, campaign.WantCancel:
		return nil
	}
	return fmt.Errorf("wanted %q: want run, pause or cancel", w)
}

// Want says what the wish w of an operator changes of a run: whether it is written, and whether the
// run becomes Ready, to go on, or to be claimed, so that a sender skips what is queued. An ended
// run does not change, and no wish takes a cancellation back.
func Want(r *campaign.Run, w campaign.Wanted) (write, ready bool, err error) {
	switch {
	case r.State.Ended():
		return false, false, nil
	case w == campaign.WantCancel:
		return true, r.State == campaign.Paused || r.State == campaign.WaitingApproval || r.State == campaign.Importing, nil
	case r.Wanted == campaign.WantCancel:
		return false, false, campaign.ErrCancelled
	}
	return true, w == campaign.WantRun && r.State == campaign.Paused, nil
}

// MayMove says whether a run in state s may move to the state to for a reason, when only the states
// from may. A pause of the operator is made late, by a sender: by then the operator may want
// otherwise.
func MayMove(s campaign.State, wanted campaign.Wanted, from []campaign.State, to campaign.State, reason campaign.PauseReason) bool {
	switch {
	case !slices.Contains(from, s):
		return false
	case to != campaign.Paused:
		return true
	case reason == campaign.PausedByOperator:
		return wanted == campaign.WantPause
	}
	return wanted != campaign.WantCancel
}

// SentRun is a run whose segments are all done.
type SentRun struct {
	No     campaign.RunNo
	wanted campaign.Wanted
}

// ScanSentRun reads no and wanted of a run.
func ScanSentRun(scan func(...any) error) (r SentRun, err error) {
	err = scan(&r.No, &r.wanted)
	return r, err
}

// End is the state that the run ends in.
func (r SentRun) End() campaign.State {
	if r.wanted == campaign.WantCancel {
		return campaign.Cancelled
	}
	return campaign.Finished
}

// FailedStep is how many segments of failed runs one query finds.
const FailedStep = 64

// StateTimes are the times that go with a new state, in milliseconds: when the run started, unless
// it had before, and when it ended; 0 for neither.
func StateTimes(to campaign.State, now time.Time) (started, ended int64) {
	if to == campaign.Running {
		started = Millis(now)
	}
	if to.Ended() {
		ended = Millis(now)
	}
	return started, ended
}

// Limits is how a ledger stores what an operator changed of a run's limits: its column limits with
// the change c of them.
func Limits(was campaign.LimitChange, c campaign.LimitChange) (string, error) {
	if err := c.Check(); err != nil {
		return "", err
	}
	text, err := json.Marshal(was.Over(c))
	return string(text), err
}
