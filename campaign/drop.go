package campaign

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// DropState is what has become of a dropped file. The list is closed.
type DropState string

// The states (docs/operations.md#dropped-files). Claimed and launched are open; the others are
// final.
const (
	DropClaimed  DropState = "claimed"  // it is read and launched by the process that has its job
	DropLaunched DropState = "launched" // its run exists; results beside the file follow its statuses
	DropSettled  DropState = "settled"  // the last results were written
	DropRejected DropState = "rejected" // no run: its list is at fault, or was taken before
	DropGone     DropState = "gone"     // the file was removed or replaced before it was read
)

// Open reports whether the state is not final.
func (s DropState) Open() bool { return s == DropClaimed || s == DropLaunched }

// DropKey begins the Launch of a run that a dropped file started; the rest is the number of the
// file.
const DropKey = "drop "

// DroppedFile is one version of a file in a watched bucket or folder that was taken.
type DroppedFile struct {
	No int64 // the ledger sets it
	// Bucket, Key and ETag are the version: the bucket as configured, the file's name in it, and the
	// tag that changes with its content.
	Bucket, Key, ETag string
	Size              int64
	Campaign          string // of the rule that took it
	Hash              string // SHA-256 of the content, in lower-case hex; "" before it was read
	State             DropState
	Run               RunNo  // 0: none
	Place             string // its name in done/ or rejected/; "" before it was chosen
	Detail            string // why it was rejected, or why it is not launched yet
	TakenAt           time.Time
	// NextAt is when an open file is looked at again.
	NextAt time.Time
	// Sidecar is the tag of the sidecar that the file had when it was taken; NoSidecar: it had none;
	// "": nobody has looked yet.
	Sidecar string
}

// NoSidecar is the Sidecar of a file without one. It is no tag.
const NoSidecar = "none"

// Launch returns the launch key of the file's run.
func (f DroppedFile) Launch() string { return fmt.Sprint(DropKey, f.No) }

// DropFilter selects dropped files, the newest first; with Due the longest due first.
type DropFilter struct {
	No       int64     // only this file; 0: any
	Before   int64     // only files with a lower number; 0: any
	Bucket   string    // only of this bucket; "": of any
	Campaign string    // only of this campaign; "": of any
	Hash     string    // only of this content; "": of any
	Due      time.Time // only open files whose NextAt is not later; zero: any
	Limit    int       // at most this many; 0: all
}

// DropWait is a file that is in a watched folder and is not taken, and why.
type DropWait struct {
	Bucket, Prefix string // of the rule
	Key            string // "" for the folder itself, for example one that cannot be listed
	Reason         string
	Since          time.Time
}

// ErrSameContent says that another dropped file of the campaign has the same content.
var ErrSameContent = errors.New("a file of the same content was taken before")

// DropLedger keeps which dropped files were taken. Its unique keys are the proof that a version,
// and a content of a campaign, is taken once by any number of processes.
type DropLedger interface {
	// ClaimFile stores f as claimed and reports true, unless its version (Bucket, Key, ETag) is stored
	// already: then it returns what is stored and false. A version that was gone is claimed again. It
	// uses Bucket, Key, ETag, Size, Campaign, TakenAt and NextAt.
	ClaimFile(ctx context.Context, f DroppedFile) (DroppedFile, bool, error)
	// UpdateFile writes Hash, State, Run, Place, Detail and NextAt of f. ErrSameContent means that
	// another file of the campaign, neither rejected nor gone, has the hash; then nothing is written.
	UpdateFile(ctx context.Context, f DroppedFile) error
	DroppedFiles(ctx context.Context, f DropFilter) ([]DroppedFile, error)
	// NoteWaits replaces what waits in the folder of one rule.
	NoteWaits(ctx context.Context, bucket, prefix string, waits []DropWait) error
	// DropWaits returns what waits in each folder, by bucket, prefix and key.
	DropWaits(ctx context.Context) ([]DropWait, error)
}
