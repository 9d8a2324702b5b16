//go:build unix

package postgres

import (
	"errors"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/postgres/connect"

	"github.com/jackc/pgx/v5"
)

// pooled returns the address of a migrated ledger through PgBouncer.
func pooled(t *testing.T, settings ...string) (through, direct string) {
	t.Helper()
	direct = migrated(t)
	config, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	return server(t).Pooler(t, config.Database, settings...), direct
}

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

func TestAPoolerThatKeepsSessionsIsUsed(t *testing.T) {
	t.Parallel()
	through, direct := pooled(t, "pool_mode = session")
	for _, url := range []string{through, through + "&default_query_exec_mode=exec",
		direct + "&default_query_exec_mode=simple_protocol&statement_cache_capacity=0"} {
		l := openAt(t, url, ledger.Options{Sender: true})
		var seqscan string
		if err := l.read(t.Context(), l.sender, row(&seqscan, `SELECT current_setting('enable_seqscan')`)); err != nil || seqscan != "off" {
			t.Errorf("%s: enable_seqscan is %s, %v; want off", url, seqscan, err)
		}
		r := ledgertest.Load(t, l, 10)
		c := campaign.Claim{Owner: url, Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: 1}
		if leases, err := l.Claim(t.Context(), c); err != nil || len(leases) != 1 {
			t.Errorf("%s: claimed %v, %v; want one segment", url, leases, err)
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
	if err == nil || !strings.Contains(err.Error(), "12 a replica") {
		t.Errorf("opened: %v; want an error that names the connections that are needed", err)
	}
}
