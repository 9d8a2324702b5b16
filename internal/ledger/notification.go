package ledger

import (
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/sentence"
)

// notify returns n for each destination that wants its kind.
func (o Options) notify(n campaign.Notification) (all []campaign.Notification) {
	if o.Notify == nil {
		return nil
	}
	n.Detail = sentence.Clip(n.Detail, MaxSentence)
	n.Since = n.At
	if n.NextAt = n.At; n.State == "" {
		n.State = campaign.NotificationPending
	}
	for _, n.Destination = range o.Notify(n.Kind) {
		all = append(all, n)
	}
	return all
}

// NotifyState returns the notifications of a run that changes to a state. started means that it is
// Running for the first time.
func (o Options) NotifyState(no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string, started bool,
	now time.Time) []campaign.Notification {
	n := campaign.Notification{Run: no, Reason: string(reason), Detail: detail, At: now}
	switch {
	case to == campaign.Running && started:
		n.Kind = campaign.NotifyRunStarted
	case to == campaign.Paused:
		n.Kind = campaign.NotifyRunPaused
	case to == campaign.WaitingApproval:
		n.Kind = campaign.NotifyApproval
	case to.Ended():
		n.Kind, n.Reason = campaign.NotifyRunFinished, string(to)
		settled := campaign.Notification{Kind: campaign.NotifyRunSettled, Run: no, At: now, State: campaign.NotificationWaiting}
		return append(o.notify(n), o.notify(settled)...)
	default:
		return nil
	}
	return o.notify(n)
}

// NotifyRepeats returns the notifications of a run that sends a template to people who got it
// before.
func (o Options) NotifyRepeats(no campaign.RunNo, detail string, now time.Time) []campaign.Notification {
	return o.notify(campaign.Notification{Kind: campaign.NotifyRunRepeats, Run: no, Detail: detail, At: now})
}

// NotifyHolds returns the notifications of holds that began. A hold that began again soon after its
// end (Hold.Count) has none: those of its first beginning stand.
func (o Options) NotifyHolds(began []campaign.Hold, now time.Time) (all []campaign.Notification) {
	for _, h := range began {
		if h.Count > 1 {
			continue
		}
		n := campaign.Notification{Kind: campaign.NotifyHold, Subject: h.Subject(), Reason: h.Reason, Detail: wording.Hold(h, now), At: now}
		end := campaign.Notification{Kind: campaign.NotifyHoldEnded, Subject: h.Subject(), Reason: h.Reason,
			Detail: n.Detail, At: now, State: campaign.NotificationWaiting}
		if h.Source == campaign.HoldByBreaker {
			n.Kind = campaign.NotifyBreaker
		}
		all = append(append(all, o.notify(n)...), o.notify(end)...)
	}
	return all
}

// TellsRejected reports whether NotifyRejected may return notifications of a file. Then the ledger
// reads the stored state for it.
func (o Options) TellsRejected(f campaign.DroppedFile) bool {
	return o.Notify != nil && f.State == campaign.DropRejected
}

// NotifyRejected returns the notifications of a rejected file; none if it was rejected before.
func (o Options) NotifyRejected(f campaign.DroppedFile, was campaign.DropState, now time.Time) []campaign.Notification {
	if was == campaign.DropRejected {
		return nil
	}
	return o.notify(campaign.Notification{Kind: campaign.NotifyDropRejected, Campaign: f.Campaign,
		Subject: strings.TrimSuffix(f.Bucket, "/") + "/" + f.Key, Detail: f.Detail, At: now})
}

// NotifyFiring returns the notifications of a firing whose outcome changed from was.
func (o Options) NotifyFiring(f campaign.Firing, was campaign.FiringOutcome, now time.Time) []campaign.Notification {
	n := campaign.Notification{Kind: campaign.NotifyScheduleMissed, Campaign: f.Campaign, Subject: f.Key, Reason: string(f.Outcome),
		Detail: f.Detail, At: now}
	switch {
	case f.Outcome == campaign.FiringMissed, f.Outcome == campaign.FiringFailed:
	case was == "" && f.Missed > 0 && f.Outcome != campaign.FiringAdded:
		n.Reason = string(campaign.FiringMissed)
		n.Detail = strconv.FormatInt(f.Missed, 10) + " firings before it were missed, the first at " +
			f.MissedSince.UTC().Format("2006-01-02 15:04 UTC")
	default:
		return nil
	}
	return o.notify(n)
}

// NotificationClause is the end of a SELECT of notifications that reads what f asks for, with its
// arguments.
func NotificationClause(f campaign.NotificationFilter) (sql string, args []any) {
	var all []string
	arg := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args))
	}
	if f.No != 0 {
		all = append(all, "no = "+arg(f.No))
	}
	if f.Destination != "" {
		all = append(all, "destination = "+arg(f.Destination))
	}
	if len(f.States) > 0 {
		var in []string
		for _, s := range f.States {
			in = append(in, arg(string(s)))
		}
		all = append(all, "state IN ("+strings.Join(in, ", ")+")")
	}
	order := "no DESC"
	if !f.Due.IsZero() { // the condition of the index notification_due
		all = append(all, "state IN ('waiting', 'pending')", "next_at <= "+arg(Millis(f.Due)))
		order = "next_at, no"
	}
	if len(all) > 0 {
		sql = " WHERE " + strings.Join(all, " AND ")
	}
	sql += " ORDER BY " + order
	if f.Limit > 0 {
		sql += " LIMIT " + arg(int64(f.Limit))
	}
	return sql, args
}

// ScanNotification reads the columns of notification in the order of the schema.
func ScanNotification(scan func(...any) error) (n campaign.Notification, err error) {
	var at, since, next int64
	err = scan(&n.No, &n.ID, &n.Destination, &n.Kind, &n.Run, &n.Campaign, &n.Subject, &n.Reason, &n.Detail, &at, &n.State,
		&n.Attempts, &since, &next, &n.Error, &n.Body)
	n.At, n.Since, n.NextAt = TimeOf(at), TimeOf(since), TimeOf(next)
	return n, err
}

// ScanNotificationBacklog reads destination, state, their number and the earliest time.
func ScanNotificationBacklog(scan func(...any) error) (b campaign.NotificationBacklog, err error) {
	var oldest int64
	err = scan(&b.Destination, &b.State, &b.N, &oldest)
	b.Oldest = TimeOf(oldest)
	return b, err
}
