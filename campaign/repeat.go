package campaign

import (
	"context"
	"iter"
	"time"
)

// SentRow is a delivery whose recipient got the message of its run, may have got it, or is to get
// it.
type SentRow struct {
	Key int64 // recipients.Key
	Seq int64
}

// SentFilter selects the rows of SentRows. Its zero value selects those that were sent, or may have
// been, at any time.
type SentFilter struct {
	Since  time.Time // only rows that were accepted, or whose doubt began, since then; zero: any
	Queued bool      // also rows that are still to be sent
	Failed bool      // also rows that failed: a later status may say that they were delivered
}

// Repeat is a delivery of a run that leaves out who got its template before (Run.LeaveOut), and a
// delivery of another run that sends the same template to the same person.
type Repeat struct {
	Run      RunNo
	Seq      int64
	Other    RunNo
	OtherSeq int64
}

// RepeatLedger finds the people who get one template from several runs
// (docs/lists.md#people-who-got-the-template-before).
type RepeatLedger interface {
	// SentRows yields rows of a run with a number: those that are sending, in doubt, unknown,
	// accepted, sent, delivered or read, and those that the filter adds. It reads a segment at a time.
	SentRows(ctx context.Context, no RunNo, f SentFilter) iter.Seq2[SentRow, error]
	// AddRepeats stores repeats; it may be repeated. An intent with LeaveOut skips a delivery as
	// SentBefore while the other delivery of one of its repeats was sent or may have been, or, in an
	// unfinished run that was launched earlier, is still to be sent.
	AddRepeats(ctx context.Context, all []Repeat) error
	// RepeatsOf returns the repeats of a delivery.
	RepeatsOf(ctx context.Context, no RunNo, seq int64) ([]Repeat, error)
	// NoteRepeats writes once into the history and the notifications of a run that it sends a template
	// to people who got it before. detail is a sentence.
	NoteRepeats(ctx context.Context, no RunNo, detail string) error
}
