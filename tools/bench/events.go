//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/recipients"
)

// eventBatches are the numbers of statuses that one transaction applies.
var eventBatches = []int{1, 64, 256}

// eventsJob applies the statuses of a run of accepted messages, one batch after another as the one
// writer of the webhook intake does.
type eventsJob struct {
	importJob
	// Period is the time for each batch size. It ends earlier when a third of the statuses is used up.
	Period   time.Duration
	Postgres int // process id of the server
}

// applied is the pace at which statuses in batches of one size became durable.
type applied struct {
	Batch       int
	Events      int64
	PerSecond   float64
	CPU         float64 // microseconds per event, of the process that applies them
	DatabaseCPU float64 // microseconds per event, of PostgreSQL
}

func runEvents(ctx context.Context, in *json.Decoder, out *json.Encoder) (err error) {
	var job eventsJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	l, err := backend.Open(ctx, job.Ledger, ledger.Options{Sender: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	ids, err := accepted(ctx, l, job.importJob)
	if err != nil {
		return err
	}
	all := statuses(ids)
	var got []applied
	for i, batch := range eventBatches {
		third := all[i*len(all)/len(eventBatches) : (i+1)*len(all)/len(eventBatches)]
		one, err := apply(ctx, l, third, batch, job.Period, job.Postgres)
		if err != nil {
			return err
		}
		got = append(got, one)
	}
	return out.Encode(got)
}

// accepted imports the list, records each of its messages as accepted, and returns their ids.
func accepted(ctx context.Context, l campaign.Ledger, job importJob) (ids []string, err error) {
	no, _, err := freeze(ctx, l, job, 0)
	if err != nil {
		return nil, err
	}
	const owner = "bench"
	leases, err := l.Claim(ctx, campaign.Claim{
		Owner: owner, Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 1000, Lease: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	for _, lease := range leases {
		for from := lease.Lo; from < lease.Hi; from += 256 {
			to := min(lease.Hi, from+256)
			rows, err := l.Deliveries(ctx, no, from, to)
			if err != nil {
				return nil, err
			}
			intent := campaign.Intent{Lease: lease, Connection: "conn_1", From: from, To: to}
			var results []campaign.Result
			now := time.Now()
			for _, d := range rows {
				id := string(appendID(nil, len(ids)))
				ids = append(ids, id)
				intent.Keys = append(intent.Keys, d.Key)
				results = append(results, campaign.Result{
					Run: no, Seq: d.Seq, Connection: "conn_1", Attempt: 1, Kind: campaign.ResultAccepted,
					At: now, IntentAt: now, Epoch: lease.Epoch, MessageID: id,
				})
			}
			granted, err := l.Intend(ctx, []campaign.Intent{intent})
			if err != nil {
				return nil, err
			}
			if granted[0].Denied || granted[0].Fenced || granted[0].To != to {
				return nil, fmt.Errorf("an intent was answered %+v, want it granted", granted[0])
			}
			lease.Mark = to
			if err := l.Record(ctx, results); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// statuses returns sent, delivered and read of each message. The statuses of a thousand neighbours
// are mixed, as a service sends them.
func statuses(ids []string) (all []campaign.StatusEvent) {
	now := time.Now()
	for from := 0; from < len(ids); from += 1000 {
		for stage, status := range []campaign.Status{campaign.Sent, campaign.Delivered, campaign.Read} {
			for n := from; n < min(len(ids), from+1000); n++ {
				all = append(all, campaign.StatusEvent{
					MessageID: ids[n], Connection: "conn_1", Recipient: recipients.Key(recipient(n).to), Status: status,
					At: now.Add(stages[stage].after), ReceivedAt: now.Add(stages[stage].after),
				})
			}
		}
	}
	return all
}

// apply applies events in batches for period at most.
func apply(
	ctx context.Context, l campaign.Ledger, all []campaign.StatusEvent, batch int, period time.Duration, postgres int,
) (a applied, err error) {
	database := serverCPU(postgres)
	p, err := timed(func() (n int64, err error) {
		for end := time.Now().Add(period); len(all) >= batch && time.Now().Before(end); all = all[batch:] {
			did, err := l.Apply(ctx, campaign.Events{Statuses: all[:batch]})
			if err != nil {
				return n, err
			}
			if did.Matched != batch {
				return n, fmt.Errorf("%d of %d statuses were applied", did.Matched, batch)
			}
			n += int64(batch)
		}
		return n, nil
	})
	if err != nil {
		return a, err
	}
	if p.Rows == 0 {
		return a, fmt.Errorf("there are not %d statuses to apply", batch)
	}
	return applied{
		Batch: batch, Events: p.Rows, PerSecond: p.perSecond(), CPU: p.perRow(),
		DatabaseCPU: float64((serverCPU(postgres) - database).Microseconds()) / float64(p.Rows),
	}, nil
}

// applying measures one repetition of all sizes.
func (c *cluster) applying() (got []applied, err error) {
	file, list, err := c.list(c.messages * 2)
	if err != nil {
		return nil, err
	}
	db, err := c.database()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.dropDatabase(db)) }()
	pid, err := c.postgres.pid()
	if err != nil {
		return nil, err
	}
	job := importJob{File: file, List: list, Ledger: c.postgres.url(db)}
	return got, c.once("events", eventsJob{importJob: job, Period: c.period / 3, Postgres: pid}, &got)
}
