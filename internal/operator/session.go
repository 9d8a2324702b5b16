package operator

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/price"
	"campaignd/campaign/reception"
	"campaignd/internal/client/resource"
	"campaignd/internal/clock"
)

// Session is the access of one operator to a ledger, with a method for each request.
type Session struct {
	Ledger campaign.Ledger
	// By names the operator in the log of actions.
	By string
	// ByKey means that By is a key of the API. A user of this machine has no key.
	ByKey bool
	// Trail collects the lines of one request in the log of actions; nil: they get no result.
	Trail *Trail
	// Company limits the session to what belongs to one company; "": it sees every company.
	Company string
	// Origins returns what holds can name of each connection.
	Origins func(ctx context.Context, holds []campaign.Hold) func(connection string) campaign.Origin
	// Repeats says how long after a failed try the service posts an event again; nil: as it documents.
	Repeats reception.Repeats
	// SentWithin is how far back messages count for people who got a template before; 0:
	// launch.SentWithin.
	SentWithin time.Duration
	// Known returns the origin of each connection that is configured or that the service lists. Whole
	// reports whether the service gave its list: without it there may be others. Nil: none is known.
	Known func(ctx context.Context) (all []campaign.Origin, whole bool)
	// Rates price the messages of reports; nil: there are none.
	Rates *price.Rates
	// Allowances returns what the plans allow the companies of connections; nil: none is known.
	Allowances func(ctx context.Context, connections []string) ([]resource.Allowance, error)
	// Service is the messaging service, for what the ledger cannot tell; nil: none is configured.
	Service Service
	// Expiry is the time by which drafts and sessions are too old; nil: this machine's clock. While it
	// is not known, none is deleted.
	Expiry clock.Source
	// Lists are the lists of audiences, which may have a number that is erased; nil: there are none.
	Lists Lists
	// UploadsIn is the folder of the lists that are uploaded to this process; "": there are none.
	UploadsIn string
	// ErasuresIn is the file that has the erasures outside the ledger; "": none has.
	ErasuresIn string
	// Configured reports whether the configuration names a connection; nil: it names none.
	Configured func(connection string) bool
}

// Lists are files with numbers that no run needs, or that are being imported.
type Lists interface {
	// Sweep deletes those that no run needs and returns how many stay.
	Sweep(ctx context.Context) (kept int64, err error)
	// Kept counts all of them and deletes none.
	Kept() (int64, error)
}

// ErrInvalid says that a request is at fault and that the same one fails again.
var ErrInvalid = errors.New("invalid request")

// ErrForbidden says that the operator may not do this.
var ErrForbidden = errors.New("not allowed")

// ErrSamePerson says that a second person has to do this: the operator's own key began it.
var ErrSamePerson = errors.New("the same person")

// ErrRepeated says that a request with the same Idempotency-Key has been answered, and that its
// answer cannot be given again.
var ErrRepeated = errors.New("repeated")

// invalid returns an error that is ErrInvalid and reads as the sentence alone.
func invalid(format string, a ...any) error { return &fault{fmt.Sprintf(format, a...), ErrInvalid} }

// fault reads as its sentence alone.
type fault struct {
	sentence string
	is       error
}

func (f *fault) Error() string { return f.sentence }

func (f *fault) Is(err error) bool { return err == f.is }

// LocalUser names the user of this process as the log of actions has it.
func LocalUser() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

// note writes an action into the log before it is done. An action that cannot be logged is not
// done.
func (d *Session) note(ctx context.Context, what, on, detail string) error {
	a := campaign.Action{ID: random(8), At: time.Now().UTC(), By: d.By, What: what, On: on, Detail: joined(detail, d.Trail.from())}
	if err := d.Ledger.NoteAction(ctx, a); err != nil {
		return fmt.Errorf("the log of actions takes no line, so nothing was done: %w", err)
	}
	if d.Trail != nil {
		d.Trail.mu.Lock()
		d.Trail.noted = append(d.Trail.noted, a)
		d.Trail.mu.Unlock()
	}
	return nil
}

// Note writes an action of the operator by into the log. A launch is noted after it was done,
// because its run has no number before.
func (d *Session) Note(ctx context.Context, by, what, on, detail string) error {
	other := *d
	other.By = by
	return other.note(ctx, what, on, detail)
}

// random returns n random bytes in hex.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}
