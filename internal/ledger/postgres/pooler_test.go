//go:build unix

package postgres

import (
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

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
