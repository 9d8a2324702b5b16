package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/campaign/sender"
	"campaignd/internal/config"
	"campaignd/internal/version"
	"campaignd/internal/webhooks"
)

// metrics returns a handler that serves the process's counters in the Prometheus text format.
// Labels are connections and values of closed lists, never recipients.
func (d *Daemon) metrics(e *sender.Engine) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if e != nil {
		reg.MustRegister(&sendCollector{e.Stats})
	}
	if d.intake != nil {
		reg.MustRegister(&intakeCollector{d.intake.Counts})
	}
	if d.commerce != nil {
		reg.MustRegister(&commerceCollector{d.commerce, d.ledger})
	}
	if d.quotas != nil && d.quotas.Any() {
		reg.MustRegister(&quotaCollector{d.quotas.Known})
	}
	if d.holds != nil {
		reg.MustRegister(&holdCollector{d.holds.counts})
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "campaignd_build_info",
		Help: "1, with the version as a label.", ConstLabels: prometheus.Labels{"version": version.String()}}, func() float64 { return 1 }))
	reg.MustRegister(&runCollector{d.ledger}, &nearCollector{d, e}, &notificationCollector{d.ledger},
		&signatureCollector{d.ledger})
	if d.cfg.Role != config.RoleIntake {
		reg.MustRegister(&firingCollector{d.schedule})
	}
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

// sendCollector reads the engine's counters at each scrape.
type sendCollector struct{ stats func() []sender.Stats }

var (
	descPosted   = desc("campaignd_posts_total", "Requests made to the service.", "connection")
	descResults  = desc("campaignd_results_total", "What requests proved: accepted, refused, deferred or doubt.", "connection", "result")
	descSkipped  = desc("campaignd_skipped_total", "Rows skipped before sending: suppressed, over a limit, expired, cancelled.", "connection")
	descRecover  = desc("campaignd_recovered_total", "Rows that an earlier sender left in doubt when it died.", "connection")
	descSlots    = desc("campaignd_slots_forfeited_total", "Slots that passed unused.", "connection")
	descThrottle = desc("campaignd_throttled_total", "Answers with which the service asked to slow down.", "connection")
	descNoSlot   = desc("campaignd_limiter_unavailable_total", "Requests for slots that the limiter did not answer.", "connection")
	descRate     = desc("campaignd_pace_messages_per_second", "Rate at which the connection is paced now.", "connection")
	descKept     = desc("campaignd_pace_kept_back_messages_per_second", "What is kept back of the limit of the connection, and for what: "+
		"inbound, jitter, outliers or rest.", "connection", "reason")
	descFlight = desc("campaignd_in_flight", "Requests without an answer.", "connection")
	descSince  = desc("campaignd_seconds_since_post",
		"Seconds since the last request over the connection, or since this process began to send over it.", "connection")
	descLatency = desc("campaignd_request_seconds", "Smoothed time of a request.", "connection")
	// limited_by is of the closed list of campaign.LaneReport.
	descLanes = desc("campaignd_lanes", "Runs that this process sends over the connection, by what limits them.", "connection", "limited_by")
)

// desc describes a metric.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c *sendCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *sendCollector) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, s := range c.stats() {
		count(descPosted, s.Posted, s.Connection)
		count(descResults, s.Accepted, s.Connection, "accepted")
		count(descResults, s.Refused, s.Connection, "refused")
		count(descResults, s.Deferred, s.Connection, "deferred")
		count(descResults, s.Doubts, s.Connection, "doubt")
		count(descSkipped, s.Skipped, s.Connection)
		count(descRecover, s.Recovered, s.Connection)
		count(descSlots, s.Forfeited, s.Connection)
		count(descThrottle, s.Throttled, s.Connection)
		count(descNoSlot, s.NoSlot, s.Connection)
		gauge(descRate, s.Rate, s.Connection)
		if s.Kept != nil {
			for what, v := range s.Kept.Parts() {
				gauge(descKept, v, s.Connection, what)
			}
		}
		gauge(descFlight, float64(s.InFlight), s.Connection)
		gauge(descSince, s.Idle.Seconds(), s.Connection)
		gauge(descLatency, s.Latency.Seconds(), s.Connection)
		lanes := map[campaign.LimitedBy]int{}
		for _, l := range s.Lanes {
			lanes[l.LimitedBy]++
		}
		for by, n := range lanes {
			gauge(descLanes, float64(n), s.Connection, string(by))
		}
	}
}

// intakeCollector reads the webhook intake's counters at each scrape.
type intakeCollector struct{ counts func() webhooks.Counts }

var (
	descTaken     = desc("campaignd_webhooks_taken_total", "Webhook requests answered 2xx.")
	descRejected  = desc("campaignd_webhooks_rejected_total", "Webhook requests not taken.", "reason")
	descEvents    = desc("campaignd_events_total", "Verified events.", "kind")
	descTemplates = desc("campaignd_template_events_total", "Template events by their effect on runs: noted, pauses, ends, resumes.", "effect")
	descCommits   = desc("campaignd_webhook_commits_total", "Commits of events.", "result")
	descStatuses  = desc("campaignd_statuses_total", "Statuses by result: matched, repeated, orphaned, adopted.", "result")
	descWaiting   = desc("campaignd_webhooks_waiting", "Events that wait for a commit.")
	descOrphans   = desc("campaignd_orphans", "Statuses whose message is not known yet.")
	descNobody    = desc("campaignd_events_without_number_total",
		"Opt-outs, preferences, unreachable numbers and moves whose person had no known phone number when they came.")
	descForeignMarks = desc("campaignd_webhook_foreign_marks_total",
		"Statuses of the Cloud API whose mark is of another ledger, or forged.")
	descSweepsFailed = desc("campaignd_sweeps_failed_total", "Searches for the messages of orphans that failed.")
	descExpired      = desc("campaignd_orphans_expired_total", "Orphans that were dropped because of their age.")
	descAmbiguous    = desc("campaignd_orphans_ambiguous", "Orphans that fit several deliveries.")
	descQuiet        = desc("campaignd_webhook_seconds_since_verified",
		"Seconds since this process took a verified event, or since it began to take them.")
	descVerified = desc("campaignd_webhook_last_verified_seconds", "Unix time of the last verified event of a connection.", "connection")
)

// Describe implements prometheus.Collector.
func (c *intakeCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *intakeCollector) Collect(ch chan<- prometheus.Metric) {
	n := c.counts()
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v int64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	count(descTaken, n.Taken)
	for why, v := range n.Rejected {
		count(descRejected, v, string(why))
	}
	for kind, v := range n.Events {
		count(descEvents, v, kind)
	}
	for effect, v := range n.Templates {
		count(descTemplates, v, effect)
	}
	count(descCommits, n.Commits-n.CommitsFailed, "ok")
	count(descCommits, n.CommitsFailed, "failed")
	count(descStatuses, n.Matched, "matched")
	count(descStatuses, n.Repeated, "repeated")
	count(descStatuses, n.Orphaned, "orphaned")
	count(descStatuses, n.Adopted, "adopted")
	count(descNobody, n.Nobody)
	count(descForeignMarks, n.ForeignMarks)
	count(descSweepsFailed, n.SweepsFailed)
	count(descExpired, n.OrphansOld)
	gauge(descWaiting, n.Waiting)
	gauge(descOrphans, n.Orphans)
	gauge(descAmbiguous, n.Ambiguous)
	last := n.LastVerified()
	if last.IsZero() {
		last = n.Since
	}
	ch <- prometheus.MustNewConstMetric(descQuiet, prometheus.GaugeValue, max(0, time.Since(last)).Seconds())
	for connection, at := range n.Verified {
		ch <- prometheus.MustNewConstMetric(descVerified, prometheus.GaugeValue, float64(at.Unix()), connection)
	}
}

// signatureCollector reads the refused events of the ledger at each scrape.
type signatureCollector struct{ ledger reception.SignatureLedger }

var descRefused = desc("campaignd_webhooks_refused",
	"Events that were refused for their signature since this began, over all processes: take the maximum; 0: none, or mended.")

// Describe implements prometheus.Collector.
func (c *signatureCollector) Describe(ch chan<- *prometheus.Desc) { ch <- descRefused }

// Collect implements prometheus.Collector. While the ledger does not answer there is no value.
func (c *signatureCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	s, err := c.ledger.Signatures(ctx)
	if err != nil {
		return
	}
	n := int64(0)
	if refused, _ := s.Refused(time.Now()); refused {
		n = s.Count
	}
	ch <- prometheus.MustNewConstMetric(descRefused, prometheus.GaugeValue, float64(n))
}

// holdCollector counts the holds at each scrape.
type holdCollector struct {
	counts func() (now, began, ended map[holdKind]int)
}

var (
	descHolds = desc("campaignd_holds", "Holds in force, and breakers that are tested.", "scope", "reason")
	descBegan = desc("campaignd_holds_began_total", "Holds that began while this process looked.", "scope", "reason")
	descEnded = desc("campaignd_holds_ended_total", "Holds that ended while this process looked.", "scope", "reason")
)

// Describe implements prometheus.Collector.
func (c *holdCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descHolds, descBegan, descEnded} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *holdCollector) Collect(ch chan<- prometheus.Metric) {
	now, began, ended := c.counts()
	put := func(d *prometheus.Desc, t prometheus.ValueType, all map[holdKind]int) {
		for k, n := range all {
			ch <- prometheus.MustNewConstMetric(d, t, float64(n), k.scope, k.reason)
		}
	}
	put(descHolds, prometheus.GaugeValue, now)
	put(descBegan, prometheus.CounterValue, began)
	put(descEnded, prometheus.CounterValue, ended)
}
