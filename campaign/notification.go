package campaign

import (
	"context"
	"time"
)

// NotificationKind is what a notification is about. The list is closed
// (docs/operations.md#notifications).
type NotificationKind string

// The kinds.
const (
	NotifyRunStarted     NotificationKind = "run.started"
	NotifyRunPaused      NotificationKind = "run.paused"
	NotifyRunFinished    NotificationKind = "run.finished" // also cancelled and failed
	NotifyRunSettled     NotificationKind = "run.settled"  // its statuses do not change any more
	NotifyRunRepeats     NotificationKind = "run.repeats"  // it sends a template to people who got it before
	NotifyApproval       NotificationKind = "approval.needed"
	NotifyHold           NotificationKind = "hold.raised"
	NotifyHoldEnded      NotificationKind = "hold.ended" // also when a breaker ended
	NotifyBreaker        NotificationKind = "breaker.tripped"
	NotifyDropRejected   NotificationKind = "drop.rejected"
	NotifyScheduleMissed NotificationKind = "schedule.missed"
)

// NotificationKinds lists every kind.
var NotificationKinds = []NotificationKind{NotifyRunStarted, NotifyRunPaused, NotifyRunFinished, NotifyRunSettled, NotifyRunRepeats,
	NotifyApproval, NotifyHold, NotifyHoldEnded, NotifyBreaker, NotifyDropRejected, NotifyScheduleMissed}

// NotificationState is how far a notification has come.
type NotificationState string

// The states. Waiting becomes pending, pending becomes sent or dead; an operator may make any of
// these pending again.
const (
	NotificationWaiting NotificationState = "waiting" // for the last statuses of its run, or for the end of its hold
	NotificationPending NotificationState = "pending" // to be sent at NextAt
	NotificationSent    NotificationState = "sent"    // the destination answered 2xx
	NotificationDead    NotificationState = "dead"    // given up
)

// Notification is one message to one destination about one event. The ledger writes it in the
// transaction of the event itself.
type Notification struct {
	No int64
	// ID is the same for all tries; a receiver knows a repetition by it.
	ID          string
	Destination string // a name in the configuration
	Kind        NotificationKind
	Run         RunNo  // 0: of no run
	Campaign    string // "": of no campaign
	Subject     string // a hold's scope and id, a file's folder and name, a firing's key
	Reason      string // a code from a closed list, or ""
	Detail      string // a sentence for people
	At          time.Time
	State       NotificationState
	Attempts    int
	Since       time.Time // when its tries began; they end three days later
	NextAt      time.Time
	Error       string // of the last try
	Body        string // as it is sent; "" before the first try
}

// NotificationFilter selects notifications, the newest first.
type NotificationFilter struct {
	No          int64               // only this one; 0: any
	Destination string              // only of this one; "": any
	States      []NotificationState // only in one of these; nil: any
	// Due selects by NextAt, the earliest first: only those that are not later; zero: any.
	Due   time.Time
	Limit int // at most this many; 0: all
}

// NotificationBacklog counts the notifications of a destination in a state.
type NotificationBacklog struct {
	Destination string
	State       NotificationState
	N           int64
	Oldest      time.Time // the earliest At
}

// NotificationLedger is the outbox. Notifications are added by the changes that they tell of.
type NotificationLedger interface {
	Notifications(ctx context.Context, f NotificationFilter) ([]Notification, error)
	// UpdateNotification stores State, Attempts, Since, NextAt, Error and Body of is, if State,
	// Attempts and NextAt are still those of was. It reports whether they were: one of many processes
	// takes a try.
	UpdateNotification(ctx context.Context, was, is Notification) (bool, error)
	// TidyNotifications removes those that were sent or given up whose tries began before a time.
	TidyNotifications(ctx context.Context, before time.Time) (removed int64, err error)
	// NotificationBacklogs counts what is in the outbox.
	NotificationBacklogs(ctx context.Context) ([]NotificationBacklog, error)
}
