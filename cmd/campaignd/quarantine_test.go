package main

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/command"
	"campaignd/internal/daemon"
	"campaignd/internal/schedule"
)

func TestAQuarantineTellsWhatComesNext(t *testing.T) {
	newest := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	run := daemon.QuarantinedRun{Run: "spring-2", State: campaign.Paused, Reason: campaign.PausedByLedger, InDoubt: 3, Queued: 4}
	full := daemon.Quarantined{
		Ledger: "sqlite:a", WentBack: true, Done: true, Newest: newest, Since: newest,
		Rate: 34.2, Connection: "conn_1", Assumed: []string{"b", "c"}, Ahead: 35, Doubts: 3,
		Runs: []daemon.QuarantinedRun{run}, Firings: []schedule.LostFiring{{Campaign: "daily", At: newest, Run: "daily-9"}},
	}
	head := "sqlite:a went back in time; its newest record is of " + command.Clock(newest) + ago(newest) + "\n"
	const table = "\nRUN       STATE            IN DOUBT  QUEUED\nspring-2  paused (ledger)  3         4\n"
	const (
		rate    = "the rate of b, c is not known and was assumed: set numbers.CONNECTION.rate, or give --ahead\n"
		retries = ", retries that were due, and what was in flight\n"
		later   = "If anything was sent later than 1s after the newest record: `campaignd ledger quarantine --force --lost TIME`.\n"
		since   = "While `campaignd serve` or `serve --role intake` runs: `campaignd webhooks replay --since 2026-11-21T09:00:00Z`.\n" +
			"     The webhooks prove what was sent, and bring back opt-outs.\n"
		erasures = "`campaignd ledger erasures` on each machine and in each pod that erased numbers in the lost time.\n" +
			"     The restored ledger has these people again.\n"
		lists  = "Runs launched in the lost time are not in this ledger: do not launch their lists again.\n"
		resume = "`campaignd resume RUN` for each paused run. Rows that no webhook proves end as unknown; `campaignd resolve RUN " +
			"--unknown resend`\n     sends to them once the replayed webhooks have come.\n"
	)
	firing := "the schedule of daily, due " + command.Clock(newest) + ", may have been launched in the lost time: "
	dry, given, nothing, importing, own := full, full, full, full, full
	own.Assumed, own.Firings = nil, nil
	own.Runs = []daemon.QuarantinedRun{run, run}
	own.Runs[0].Ahead, own.Runs[0].OwnRate, own.Runs[1].Run = 3, 0.5, "spring-1"
	dry.DryRun, dry.Done, dry.Firings = true, false, []schedule.LostFiring{{Campaign: "daily", At: newest}}
	given.Rate, given.Assumed, given.Firings = 0, nil, nil
	nothing.Ahead, nothing.Rate, nothing.Assumed, nothing.Firings, nothing.Doubts = 0, 0, nil, nil, 0
	importing.Assumed, importing.Firings = nil, nil
	importing.Runs = []daemon.QuarantinedRun{{Run: "spring-2", State: campaign.Importing}}
	for _, tt := range []struct {
		name string
		q    daemon.Quarantined
		o    daemon.QuarantineOptions
		want string
	}{
		{"all of it", full, daemon.QuarantineOptions{Lost: time.Second}, head +
			"3 deliveries are put in doubt: up to 35 of each unfinished segment (34.2 a second over conn_1 for 1s)" + retries + rate + table +
			firing + "it counts as launched (daily-9); if it was not, `campaignd run` launches it\n" +
			"\nNext:\n  1. " + later + "  2. " + erasures + "  3. " + since + "  4. " + lists + "  5. " + resume},
		{"a dry run", dry, daemon.QuarantineOptions{Lost: time.Second}, head +
			"3 deliveries would be put in doubt: up to 35 of each unfinished segment (34.2 a second over conn_1 for 1s)" + retries + rate +
			"\nRUN       STATE            IN DOUBT NOW  QUEUED NOW\nspring-2  paused (ledger)  3             4\n" +
			firing + "it would count as launched\n\nNothing was changed.\n"},
		{"as --ahead says", given, daemon.QuarantineOptions{Lost: time.Second}, head +
			"3 deliveries are put in doubt: up to 35 of each unfinished segment (as --ahead says)" + retries + table +
			"\nNext:\n  1. " + later + "  2. " + erasures + "  3. " + since + "  4. " + lists + "  5. " + resume},
		{"a run with its own rate", own, daemon.QuarantineOptions{Lost: time.Second}, head +
			"3 deliveries are put in doubt: up to 35 of each unfinished segment (34.2 a second over conn_1 for 1s)" + retries +
			"up to 3 of each segment of spring-2, whose own rate is 0.5 a second: if it was raised in the lost time, give --ahead\n" + table +
			"spring-1  paused (ledger)  3         4\n" +
			"\nNext:\n  1. " + later + "  2. " + erasures + "  3. " + since + "  4. " + lists + "  5. " + resume},
		{"nothing was sent", nothing, daemon.QuarantineOptions{}, head + "no delivery is put in doubt, as nothing was sent\n" + table +
			"\nNext:\n  1. " + resume},
		{"an import", importing, daemon.QuarantineOptions{}, head +
			"3 deliveries are put in doubt: up to 35 of each unfinished segment (34.2 a second over conn_1 for 0s)" + retries +
			"\nRUN       STATE      IN DOUBT  QUEUED\nspring-2  importing  0         0\n" +
			"\nNext:\n  1. A run was being imported. Its import ends in a pause: then run `campaignd ledger quarantine --force` again, " +
			"for the rows that are not imported yet.\n" +
			"  2. No run was paused: `campaignd run` and `serve` go on.\n"},
	} {
		got := printed(t, func(p *program) error { return p.writeQuarantined(tt.q, tt.o) })
		if i := strings.Index(got, " ago)"); i >= 0 { // the seconds may differ by now
			got = got[:strings.LastIndex(got[:i], " (")] + ago(newest) + got[i+5:]
		}
		if got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestAgesAreRoundedToSeconds(t *testing.T) {
	for _, tt := range []struct {
		at   time.Time
		want string
	}{{time.Time{}, ""}, {time.Now().Add(-90 * time.Second), " (1m30s ago)"}, {time.Now().Add(time.Hour), " (0s ago)"}} {
		if got := ago(tt.at); got != tt.want {
			t.Errorf("ago(%v) = %q, want %q", tt.at, got, tt.want)
		}
	}
}
