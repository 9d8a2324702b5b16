package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
	"campaignd/internal/ledger/postgres/connect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Ledger is a ledger that any number of replicas share. See the package comment.
type Ledger struct {
	portable.Ledger

	name     string // host, port and database, for messages
	log      *slog.Logger
	readOnly bool
	outage   ledger.Outage
	options  ledger.Options // as it was opened

	// Each kind of work has its own connections (docs/protocol.md#postgresql).
	sender  *connect.Pool // intents, leases, results, what the operator wants
	hooks   *connect.Pool // webhooks, sweeping, suppressions
	reports *connect.Pool // reports, imports, migrations: with the settings slow

	id              string         // see LedgerID
	key             ledger.HashKey // of message ids
	identity        atomic.Pointer[serverIdentity]
	identityChanged atomic.Bool // a connection found another server: checkIdentity before anything is sent
	ownSessions     atomic.Bool // a pooler is in between, and keeps a session for each connection
	marks           markMemory
	groups          intentGroups
	tiers           ledger.Tiers
	clock           ledger.Clock

	adoptedTo      atomic.Int64 // the recipient's key up to which the search for adoptions has come; 0: it starts anew
	searchExcessAt atomic.Int64 // Unix nanoseconds; no search for orphans over the cap before

	closing sync.Once
}

var (
	_ campaign.Ledger    = (*Ledger)(nil)
	_ ledger.Diagnosable = (*Ledger)(nil)
	_ ledger.Sendable    = (*Ledger)(nil)
)

// Open opens the ledger in the database that dsn names, in the forms of libpq, and migrates it. Its
// tables are in the first schema of the search_path. Any number of processes may have it open, also
// as senders. Close ends it.
//
// Open refuses a server whose settings can lose a committed transaction; the error names the
// remedy. It returns campaign.ErrNewer when the schema is of a later generation than this program's
// (ledger.CheckSchema). It returns ledger.ErrRestored when a sender finds the database on another
// server or timeline than before: on a restored backup, or on a standby that was promoted and may
// lack the last intents. It cannot detect a restored disk snapshot of the same server.
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
	l := &Ledger{name: fmt.Sprintf("%s:%d/%s", config.Host, config.Port, config.Database), log: o.Log, readOnly: o.ReadOnly, options: o}
	l.Ledger = portable.New(store{l}, ownStatements, o)
	l.outage.Log, l.outage.Name = o.Log, l.name
	login := connect.NewLogin(config, func() (*pgx.ConnConfig, error) {
		now, err := dsn, error(nil)
		if o.Address != nil {
			now, err = o.Address()
		}
		if err != nil {
			return nil, err
		}
		return parseAddress(now)
	}, o.Log)
	l.sender, l.hooks = l.pool(config, login, o, "sender", hot), l.pool(config, login, o, "webhooks", hot)
	l.reports = l.pool(config, login, o, "reports", slow)
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

// parseAddress reads an address. Its errors show no part that may be the password.
func parseAddress(dsn string) (*pgx.ConnConfig, error) {
	if _, rest, ok := strings.Cut(dsn, "://"); ok {
		if end := strings.IndexAny(rest, "/?#"); strings.Count(rest, "@") > 1 || end >= 0 && strings.Contains(rest[end:], "@") {
			// Otherwise a part of the password would be read as the host or the database.
			return nil, errors.New("ledger: user or password in the address hold one of @ / ? #: write them as %40, %2F, %3F, %23")
		}
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		text := connect.OneLine(err.Error())
		if i := strings.LastIndex(text, "`: "); i >= 0 { // the address comes before it
			text = text[i+len("`: "):]
		}
		return nil, fmt.Errorf("ledger %s: the address cannot be read: %s", ledger.Redact(dsn), text)
	}
	if host := fallsBack(config); host != "" {
		return nil, fmt.Errorf("ledger %s: the password and all numbers may travel to %s unencrypted: add sslmode=verify-full to the address, "+
			"or sslmode=require for a certificate that cannot be checked; sslmode=disable permits it in a network of your own",
			ledger.Redact(dsn), host)
	}
	// Other modes leave the encoding of arguments to the address; they are there for poolers that
	// checkSession refuses.
	config.DefaultQueryExecMode, config.StatementCacheCapacity = pgx.QueryExecModeCacheStatement, statements
	return config, nil
}

// statements is how many prepared statements a connection keeps; pgx keeps as many by default.
const statements = 512

// fallsBack returns a host on another machine to which the address permits both TLS and a
// connection without it, "" for none: sslmode prefer, the default, and allow. A server, or a
// stranger between, then gets the password in clear by refusing TLS
// (https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-PROTECTION).
func fallsBack(config *pgx.ConnConfig) (host string) {
	clear, encrypted := "", false
	see := func(host string, port uint16, tls bool) {
		network, _ := pgconn.NetworkAddress(host, port)
		ip := net.ParseIP(host)
		switch {
		case network == "unix" || host == "localhost" || ip != nil && ip.IsLoopback():
		case tls:
			encrypted = true
		default:
			clear = host
		}
	}
	see(config.Host, config.Port, config.TLSConfig != nil)
	for _, f := range config.Fallbacks {
		see(f.Host, f.Port, f.TLSConfig != nil)
	}
	if encrypted {
		return clear
	}
	return ""
}

// Close waits for the calls in progress and ends all connections. Later calls return
// ledger.ErrClosed.
func (l *Ledger) Close() error {
	l.closing.Do(func() {
		for _, p := range []*connect.Pool{l.sender, l.hooks, l.reports} {
			p.Close()
		}
	})
	return nil
}
