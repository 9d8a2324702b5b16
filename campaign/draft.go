package campaign

import (
	"context"
	"errors"
	"time"
)

// Draft is a campaign that somebody prepares in the console and has not launched yet.
type Draft struct {
	// ID is 256 random bits in hex. It is also the idempotency key of the draft's launch.
	ID       string
	Owner    string // who makes it, as BrowserSession.By
	Campaign string // the name of the campaign
	Source   []byte // the campaign file that it is launched with
	ListName string // the name of the list's file, as its owner has it; "": no list has come
	List     string // another list has another one, whatever its name; "": no list has come
	// Run is the id of the run that it was launched as; "": it was not. The transaction that stores
	// the run stores it too, so that a draft is never both sent and open.
	Run string
	// CreatedAt is when it began.
	CreatedAt time.Time
}

// Staged names the list of the draft among the uploads. A process that has an earlier list of the
// draft therefore does not take it for the newest.
func (d Draft) Staged() string {
	if d.List == "" {
		return d.ID
	}
	return d.ID + "." + d.List
}

// ErrNoDraft says that no draft has the given ID.
var ErrNoDraft = errors.New("no such draft")

// DraftLedger keeps drafts.
type DraftLedger interface {
	// AddDraft stores a draft. It removes those that began before the time ended, and the oldest of
	// its owner, so that the owner has at most the given number.
	AddDraft(ctx context.Context, d Draft, ended time.Time, most int) error
	Draft(ctx context.Context, id string) (Draft, error)       // ErrNoDraft
	Drafts(ctx context.Context, owner string) ([]Draft, error) // the newest first
	// ChangeDraft stores the source, the list with its name and the run of a draft: ErrNoDraft. A
	// draft that has a run keeps it.
	ChangeDraft(ctx context.Context, d Draft) error
}
