package postgres

import (
	"context"
	"maps"
	"slices"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"

	"github.com/jackc/pgx/v5"
)

// hot are the settings of the connections that sending waits for (docs/protocol.md#postgresql). The
// statistics of a young table say that it is empty, and a plan made for that reads all of it at
// every batch. Measured, that is 23,000 statuses a second instead of 167,000. All these statements
// find their rows by keys, so the planner gets no other choice and plans once. Timeouts are in
// milliseconds.
var hot = map[string]string{
	"enable_hashjoin":                     "off",
	"enable_mergejoin":                    "off",
	"enable_seqscan":                      "off",
	"enable_bitmapscan":                   "off",
	"jit":                                 "off",
	"plan_cache_mode":                     "force_generic_plan",
	"statement_timeout":                   "5000",
	"lock_timeout":                        "1000",
	"idle_in_transaction_session_timeout": "5000",
}

// slow are the settings for reports and imports. A chunk of an import may wait longer for a lock
// than an intent.
var slow = map[string]string{
	"statement_timeout":                   "300000",
	"lock_timeout":                        "5000",
	"idle_in_transaction_session_timeout": "60000",
}

// pool makes a pool whose connections have these settings. A statement sets them, because a proxy
// refuses settings in the address.
func (l *Ledger) pool(base *pgx.ConnConfig, login *connect.Login, o ledger.Options, name string, settings map[string]string) *connect.Pool {
	config := base.Copy()
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "campaignd " + name
	}
	settings = maps.Clone(settings)
	settings["campaignd.changed"] = "on" // this program tells which segments it changes (tx.recount)
	if o.ReadOnly {
		settings["default_transaction_read_only"] = "on"
	}
	within := callTime // longer than statement_timeout
	if settings["statement_timeout"] == slow["statement_timeout"] {
		within = slowTime
	}
	return connect.New(name, config, login, o.Connections/3, within, func(ctx context.Context, c *pgx.Conn) error {
		if err := connect.CheckSession(ctx, c, config, login, &l.ownSessions); err != nil {
			return err
		}
		if err := set(ctx, c, settings); err != nil {
			return err
		}
		return l.checkServer(ctx, c)
	})
}

const sqlSet = `SELECT set_config(n, v, false) FROM unnest($1::text[], $2::text[]) s (n, v)`

// set applies settings to a session.
func set(ctx context.Context, c *pgx.Conn, settings map[string]string) error {
	var names, values []string
	for _, n := range slices.Sorted(maps.Keys(settings)) {
		names, values = append(names, n), append(values, settings[n])
	}
	return send(ctx, &connect.Conn{Conn: c}, stmt(nil, sqlSet, names, values))
}
