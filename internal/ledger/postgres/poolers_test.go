//go:build long && unix

package postgres

import (
	"errors"
	"strings"
	"testing"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"
)

// A pooler in transaction mode gives one session to many clients. Nothing of this program may stay
// in such a session.
func TestAPoolerThatSharesSessionsIsRefused(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"transaction":            {"pool_mode = transaction"},
		"transaction, in turn":   {"pool_mode = transaction", "server_round_robin = 1", "min_pool_size = 4"},
		"transaction, one alone": {"pool_mode = transaction", "default_pool_size = 1"},
		"statement":              {"pool_mode = statement"},
	} {
		through, _ := pooled(t, settings...)
		for _, mode := range []string{"", "&default_query_exec_mode=exec",
			"&default_query_exec_mode=simple_protocol&statement_cache_capacity=0"} {
			for _, o := range []ledger.Options{{Sender: true}, {ReadOnly: true}} {
				l, err := Open(t.Context(), through+mode, o)
				if err == nil {
					l.Close()
				}
				if !errors.Is(err, connect.ErrUnsafe) || !strings.Contains(err.Error(), "set pool_mode = session for this database in PgBouncer") {
					t.Errorf("%s %s: opened with %+v: %v; want it refused with its remedy", name, mode, o, err)
				}
			}
		}
		var timeout, writes string
		c := beside(t, through+"&default_query_exec_mode=simple_protocol")
		if err := c.QueryRow(t.Context(), `SELECT current_setting('statement_timeout'), current_setting('default_transaction_read_only')`).
			Scan(&timeout, &writes); err != nil || timeout != "0" || writes != "off" {
			t.Errorf("%s: another client got statement_timeout %s and default_transaction_read_only %s, %v; want 0 and off",
				name, timeout, writes, err)
		}
	}
}

// A pooler that has no second connection to give is not taken for one in session mode.
func TestAPoolerThatCannotBeAskedIsNotTrusted(t *testing.T) {
	t.Parallel()
	through, _ := pooled(t, "pool_mode = session", "default_pool_size = 1")
	l, err := Open(t.Context(), through, ledger.Options{})
	if err == nil {
		l.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "12 by default") {
		t.Errorf("opened: %v; want an error that names the connections that are needed", err)
	}
}
