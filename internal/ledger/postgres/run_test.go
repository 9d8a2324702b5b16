//go:build unix

package postgres

import (
	"errors"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Two replicas create the run of one list at the same time. The second waits for the first, and
// gets its run.
func TestARunThatAnotherMakesMeanwhileIsReturned(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	for name, r := range map[string]campaign.Run{
		"List":   {Campaign: "spring", ListHash: "h", Launch: "1"},
		"Firing": {Campaign: "spring", ListHash: "later", Launch: campaign.FiringKey + "2026-11-22"},
	} {
		l := openAt(t, url, ledger.Options{Sender: true})
		other := beside(t, url)
		tx, err := other.Begin(t.Context())
		if err != nil {
			t.Fatalf("%s: beginning: %v; want no error", name, err)
		}
		var no campaign.RunNo
		if err := tx.QueryRow(t.Context(), `WITH r AS (INSERT INTO run (state, wanted, marketing, budget, template, language,
				created_at, parent, campaign, list_hash, launch, list_name, asset, asset_until, header, definition)
			VALUES ('importing', 'run', false, 0, 'theirs', 'en', 1, 0, $1, CASE WHEN $2 LIKE 'cron %' THEN 'now' ELSE 'h' END, $2,
				'', '', 0, '[]', '') RETURNING no),
			c AS (INSERT INTO run_count (no) SELECT no FROM r),
			e AS (INSERT INTO run_event (no) SELECT no FROM r) SELECT no FROM r`, r.Campaign, r.Launch).Scan(&no); err != nil {
			t.Fatalf("%s: their run: %v; want no error", name, err)
		}
		type answer struct {
			run campaign.Run
			err error
		}
		made := make(chan answer, 1)
		go func() {
			run, err := l.CreateRun(t.Context(), r)
			made <- answer{run, err}
		}()
		awaitWaiting(t, l, 1)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatalf("%s: committing: %v; want no error", name, err)
		}
		if got := <-made; !errors.Is(got.err, campaign.ErrRunExists) || got.run.No != no || got.run.Template != "theirs" {
			t.Errorf("%s: run %d of template %q, %v; want run %d of template %q and ErrRunExists",
				name, got.run.No, got.run.Template, got.err, no, "theirs")
		}
		if runs, err := l.Runs(t.Context(), campaign.RunFilter{Campaign: r.Campaign}); err != nil || runs[0].No != no {
			t.Errorf("%s: runs %+v, %v; want run %d as the newest", name, runs, err, no)
		}
	}
}
