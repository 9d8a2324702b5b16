package daemon

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/config"
)

var (
	descUnserved = gauge("campaignd_runs_without_sender", "Runs with rows that may be sent now, and no process sends them.")
	descMissed   = gauge("campaignd_firing_missed_timestamp_seconds",
		"Unix time at which a firing of a schedule was last found missed or failed, by the ledger.")
	descWishes = gauge("campaignd_wishes_without_number", "Opt-outs and opt-ins that wait for the phone number of their person.")
	descFree   = gauge("campaignd_disk_free_bytes", "Bytes that may still be written in the folder of a key of the configuration.", "folder")
)

// factMetrics reads facts of the ledger for alerts. Unlike the counters of a process, they are
// right in a process that has just started. What the ledger does not answer has no value.
func factMetrics(l campaign.Ledger) collector {
	return func(put emit) {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		if at, err := l.LastMissed(ctx); err == nil && !at.IsZero() {
			put(descMissed, float64(at.Unix()))
		}
		if u, err := l.Unattributed(ctx); err == nil {
			put(descWishes, float64(u.N))
		}
		if n, err := unserved(ctx, l); err == nil {
			put(descUnserved, float64(n))
		}
	}
}

// unserved counts the runs that should be sent and that no process sends.
func unserved(ctx context.Context, l campaign.Ledger) (n int, err error) {
	runs, err := l.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		alone, err := why.Unserved(ctx, l, r, time.Now())
		if err != nil {
			return 0, err
		}
		if alone {
			n++
		}
	}
	return n, nil
}

// diskMetrics measures the free space of the folders that this process writes to.
func diskMetrics(cfg *config.Config) collector {
	return func(put emit) {
		for key, folder := range cfg.Disks() {
			if free, err := config.FreeSpace(folder); err == nil {
				put(descFree, float64(free), key)
			}
		}
	}
}
