package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
	"campaignd/internal/faults"
	"campaignd/internal/operator"
)

// The numbers of past objects in a snapshot: the newest runs, the newest firings of each campaign,
// and the newest dropped files. If more of them change between two polls, the oldest make no event.
const (
	pastRuns    = 100
	pastFirings = 20
	pastDrops   = 200
)

// slowEvery is how often firings and drops are read. The scheduler and the watcher also work every
// 5 s.
const slowEvery = 5 * time.Second

// observer reads snapshots of the ledger.
type observer struct {
	s         *Server
	origin    func(connection string) campaign.Origin
	companies map[campaign.RunNo]string // companies of runs, kept because a run does not change its connections
	open      map[campaign.RunNo]bool   // runs that were unfinished at the last poll, or whose progress could not be read
	kept      snapshot                  // the progress of the last poll
	failing   faults.Known              // of the progress, by run
	slow      snapshot
	slowAt    time.Time
}

// poll implements feed.poll. One goroutine calls it.
func (o *observer) poll(ctx context.Context) (snapshot, error) {
	now := snapshot{}
	runs, err := o.runs(ctx)
	if err != nil {
		return nil, err
	}
	o.origin = o.s.process.Session.Origins(ctx, nil)
	for _, r := range runs {
		company := o.companyOf(r)
		if err := now.put("1 run "+r.ID(), entry{event: resource.EventRun, company: company}, resource.RunOf(r)); err != nil {
			return nil, err
		}
	}
	if err := o.progress(ctx, runs, now); err != nil {
		return nil, err
	}
	if err := o.holds(ctx, now); err != nil {
		return nil, err
	}
	if time.Since(o.slowAt) >= slowEvery {
		slow := snapshot{}
		if err := errors.Join(o.firings(ctx, slow), o.drops(ctx, slow)); err != nil {
			return nil, err
		}
		o.slow, o.slowAt = slow, time.Now()
	}
	maps.Copy(now, o.slow)
	return now, nil
}

// progress adds the progress of the unfinished runs, and of those that have ended since the last
// poll. A run whose progress cannot be read keeps the last one, and the log says so; the others go
// on.
func (o *observer) progress(ctx context.Context, runs []campaign.Run, now snapshot) error {
	open, kept := map[campaign.RunNo]bool{}, snapshot{}
	lanes, err := o.s.process.Session.Ledger.LiveLanes(ctx, campaign.LaneMissed, "")
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.State == campaign.Importing || r.State.Ended() && !o.open[r.No] {
			continue
		}
		key, failed := "2 progress "+r.ID(), false
		p, err := o.progressOf(ctx, r, lanes)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed = true
			if changed, before := o.failing.Failed(r.ID(), faults.Words(err)); changed {
				o.s.process.Log.Warn("the progress of a run cannot be read; it is tried again",
					faults.Counting(before, "run", r.ID(), "err", err)...)
			}
			if was, ok := o.kept[key]; ok {
				kept[key] = was
			}
		default:
			if times := o.failing.Succeeded(r.ID()); times > 0 {
				o.s.process.Log.Info("the progress of a run can be read again", "run", r.ID(), "failures", times)
			}
			if err := kept.put(key, entry{event: resource.EventProgress, company: o.companyOf(r)}, p); err != nil {
				return err
			}
		}
		open[r.No] = failed || !r.State.Ended()
	}
	maps.Copy(now, kept)
	o.open, o.kept = open, kept
	return nil
}

// progressOf reads the progress of one run.
func (o *observer) progressOf(ctx context.Context, r campaign.Run, lanes []campaign.LaneReport) (p resource.Progress, err error) {
	ledger := o.s.process.Session.Ledger
	groups, err := ledger.Backlog(ctx, r.No)
	if err != nil {
		return p, err
	}
	tallies, _, err := ledger.Tallies(ctx, r.No)
	if err != nil {
		return p, err
	}
	p = resource.Progress{Run: r.ID(), Rows: r.Rows, Totals: map[campaign.Status]int64{}}
	for _, n := range groups {
		p.Left += n
	}
	for _, s := range campaign.Statuses {
		p.Totals[s] = 0
	}
	for _, t := range tallies {
		p.Totals[t.Status] += t.N
	}
	for _, l := range lanes {
		if l.Run == r.No {
			p.Rate += l.Pace(time.Now())
		}
	}
	return p, nil
}

// put adds an entry with v as its data.
func (p snapshot) put(key string, e entry, v any) (err error) {
	e.data, err = json.Marshal(v)
	p[key] = e
	return err
}

// runs returns the unfinished runs, and the newest.
func (o *observer) runs(ctx context.Context) ([]campaign.Run, error) {
	all, err := o.s.process.Session.Ledger.Runs(ctx, campaign.RunFilter{Limit: pastRuns})
	if err != nil || len(all) < pastRuns {
		return all, err
	}
	unfinished, err := o.s.process.Session.Ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
	for _, r := range unfinished {
		if r.No < all[pastRuns-1].No {
			all = append(all, r)
		}
	}
	return all, err
}

// companyOf returns the company of all connections of a run, or "" if they are of several or of an
// unknown one.
func (o *observer) companyOf(r campaign.Run) string {
	if c, ok := o.companies[r.No]; ok {
		return c
	}
	def, err := file.ParseStored(r.ID(), r.Definition)
	if err != nil || len(def.Connections) == 0 {
		return ""
	}
	c := o.common(def.Connections)
	if c != "" { // "" is not kept, because the service may not have listed its connections yet
		o.companies[r.No] = c
	}
	return c
}

// common returns the company of all connections, or "" if they are of several.
func (o *observer) common(connections []string) string {
	c := o.origin(connections[0]).Company
	for _, other := range connections[1:] {
		if o.origin(other).Company != c {
			return ""
		}
	}
	return c
}

func (o *observer) holds(ctx context.Context, now snapshot) error {
	holds, err := o.s.process.Session.Ledger.Holds(ctx, false)
	if err != nil {
		return err
	}
	for _, h := range holds {
		e := entry{event: resource.EventHold, gone: resource.EventLifted}
		switch {
		case h.Scope == campaign.HoldCompany:
			e.company = h.ID
		case h.Scope == campaign.HoldConnection:
			e.company = o.origin(h.ID).Company
		case h.Scope == campaign.HoldRun && h.ID != campaign.HoldAny:
			if no, err := campaign.ParseRunID(h.ID); err == nil {
				e.company = o.companies[no]
			}
		}
		// State depends on the time that it is given. The hold's own start is given, so that only a
		// change of the hold makes an event.
		if err := now.put(fmt.Sprintf("3 hold %s %s %s", h.Scope, h.ID, h.Reason), e, wording.State(h, h.Since)); err != nil {
			return err
		}
	}
	return nil
}

func (o *observer) firings(ctx context.Context, now snapshot) error {
	files, err := o.s.process.Folder()
	if err != nil {
		return err
	}
	session := o.s.process.Session
	all, err := session.Schedule(ctx, files, "", 0, pastFirings)
	if err != nil {
		return err
	}
	companies := map[string]string{}
	for _, f := range files {
		if f.Definition != nil && len(f.Definition.Connections) > 0 {
			companies[f.Definition.Name] = o.common(f.Definition.Connections)
		}
	}
	for _, f := range all {
		e := entry{event: resource.EventFiring, company: companies[f.Campaign]}
		if err := now.put("4 firing "+f.At.UTC().Format(time.RFC3339)+" "+f.Campaign, e, f); err != nil {
			return err
		}
	}
	return nil
}

func (o *observer) drops(ctx context.Context, now snapshot) error {
	files, err := o.s.process.Session.Ledger.DroppedFiles(ctx, campaign.DropFilter{Limit: pastDrops})
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := now.put(fmt.Sprintf("5 drop %020d", f.No), entry{event: resource.EventDrop, company: o.companies[f.Run]},
			operator.DropOf(f)); err != nil {
			return err
		}
	}
	return nil
}
