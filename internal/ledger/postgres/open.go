package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// Ledger is a ledger that any number of replicas share. See the package comment.
type Ledger struct {
	name     string // host, port and database, for messages
	log      *slog.Logger
	readOnly bool

	// Each kind of work has its own connections (reliability.md 2.2).
	sender  *pool // intents, leases, results, what the operator wants
	hooks   *pool // webhooks, sweeping, suppressions
	reports *pool // reports, imports, migrations: not under the hot ones' limits

	key             ledger.HashKey // of message ids
	identity        atomic.Pointer[serverIdentity]
	identityChanged atomic.Bool // a connection found another server: look again before anything is sent
	marks           markMemory
	groups          intentGroups

	adoptedTo      atomic.Int64 // the recipient's key up to which this round of adoptions has come; 0: a new round begins
	countOrphansAt atomic.Int64 // Unix nanoseconds: not counted exactly before

	closing sync.Once
}

var _ campaign.Ledger = (*Ledger)(nil)

// Open opens the ledger in the database that dsn names (the forms of libpq; the
// newest schema is made in the first schema of its search_path). Any number of processes
// may hold it open, also as senders. Close ends it.
//
// It refuses a server whose settings can lose a committed transaction, with the remedy.
// Other errors: campaign.ErrNewer when a newer campaignd migrated it; ErrRestored when a
// sender finds that the database stands on another server or timeline than before: a
// restored backup, or a standby that was promoted and may lack the last intents. A
// restored disk snapshot of the same server cannot be told apart.
func Open(ctx context.Context, dsn string, o ledger.Options) (*Ledger, error) {
	dir, err := migrations()
	if err != nil {
		return nil, err
	}
	return openMigrated(ctx, dsn, o, dir)
}

// openMigrated is Open with the schema of dir.
func openMigrated(ctx context.Context, dsn string, o ledger.Options, dir fs.FS) (_ *Ledger, err error) {
	if o, err = o.Check(); err != nil {
		return nil, err
	}
	config, err := parseAddress(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, 5*time.Second)
	l := &Ledger{name: fmt.Sprintf("%s:%d/%s", config.Host, config.Port, config.Database), log: o.Log, readOnly: o.ReadOnly}
	l.sender, l.hooks, l.reports = l.pool(config, o, "sender", hot), l.pool(config, o, "webhooks", hot), l.pool(config, o, "reports", slow)
	defer func() {
		if err != nil {
			_ = l.Close()
			err = l.explain(err)
		}
	}()
	if err := l.migrate(ctx, dir); err != nil {
		return nil, err
	}
	return l, l.identify(ctx, o)
}

// parseAddress reads an address. No error shows what may be its password.
func parseAddress(dsn string) (*pgx.ConnConfig, error) {
	if _, rest, ok := strings.Cut(dsn, "://"); ok {
		if end := strings.IndexAny(rest, "/?#"); strings.Count(rest, "@") > 1 || end >= 0 && strings.Contains(rest[end:], "@") {
			// Read as it stands, a piece of the password would be the host or the database.
			return nil, errors.New("ledger: user or password in the address hold one of @ / ? #: write them as %40, %2F, %3F, %23")
		}
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		text := oneLine(err.Error())
		if i := strings.LastIndex(text, "`: "); i >= 0 { // before it stands the address
			text = text[i+len("`: "):]
		}
		return nil, fmt.Errorf("ledger %s: the address cannot be read: %s", ledger.Redact(dsn), text)
	}
	return config, nil
}

// Close ends all connections; what is being written is finished first. Calls that come
// later fail.
func (l *Ledger) Close() error {
	l.closing.Do(func() {
		for _, p := range []*pool{l.sender, l.hooks, l.reports} {
			p.close()
		}
	})
	return nil
}
