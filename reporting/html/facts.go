package html

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/plot"
	"campaignd/internal/version"
	"campaignd/reporting"
)

// MaxSize is how many bytes a report has at most.
const MaxSize = 150_000

// Facts are what a report is made of.
type Facts struct {
	Report  *reporting.Report
	Summary campaign.Summary
	Audit   *reporting.AuditResult // nil: none was made
	// Limits are in messages a minute over all numbers, Stops are holds and pauses; both in order.
	Limits     []plot.Limit
	Stops      []plot.Band
	History    []wording.Happening // in order
	LastStatus time.Time           // zero: none came
	AsOf       time.Time
	Version    string // of campaignd
}

// AuditRows is up to how many rows a report has its audit without being asked: it reads the list.
const AuditRows = 100_000

// Read reads the facts of a run beside its report and its history. audit asks for the audit of a
// long list too.
func Read(
	ctx context.Context, l campaign.ReportLedger, run campaign.Run, r *reporting.Report, h campaign.History, audit bool,
) (*Facts, error) {
	f, err := ReadCourse(ctx, l, run, r, h)
	if err == nil && (audit || r.Rows <= AuditRows) {
		f.Audit, err = reporting.Audit(ctx, l, run)
	}
	return f, err
}

// ReadCourse is Read without an audit, so it reads no row: the facts of Course.
func ReadCourse(
	ctx context.Context, l campaign.ReportLedger, run campaign.Run, r *reporting.Report, h campaign.History,
) (*Facts, error) {
	f := &Facts{Report: r, AsOf: time.Now(), Version: version.String(), History: wording.Story(h, run)}
	f.Limits, f.Stops = course(h.Lanes)
	f.Stops = append(f.Stops, pauses(h.Entries)...)
	slices.SortStableFunc(f.Stops, func(a, b plot.Band) int { return a.From.Compare(b.From) })
	f.end(run)
	var err error
	if f.Summary, err = l.Summary(ctx, run.No); err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	if f.LastStatus, err = l.LastEventAt(ctx, run.No); err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	return f, nil
}
