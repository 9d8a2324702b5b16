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
		reg.MustRegister(sendMetrics(e.Stats), requestTimes(e.RequestTimes))
	}
	if d.intake != nil {
		reg.MustRegister(intakeMetrics(d.intake.Counts))
	}
	if d.commerce != nil {
		reg.MustRegister(commerceMetrics(d.commerce, d.ledger))
	}
	if d.quotas != nil && d.quotas.Any() {
		reg.MustRegister(quotaMetrics(d.quotas.Known))
	}
	if d.holds != nil {
		reg.MustRegister(holdMetrics(d.holds.counts))
	}
	reg.MustRegister(collector(func(put emit) { put(descBuild, 1, version.String()) }))
	reg.MustRegister(runMetrics(d.ledger), d.nearMetrics(e), notificationMetrics(d.ledger), signatureMetrics(d.ledger),
		factMetrics(d.ledger), diskMetrics(d.cfg))
	if d.cfg.Role != config.RoleIntake {
		reg.MustRegister(firingMetrics(d.schedule))
	}
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

// metric describes a metric.
type metric struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

func counter(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

// collector reads values at each scrape.
type collector func(put emit)

// emit takes one value of a metric.
type emit func(m metric, v float64, labels ...string)

// Describe implements prometheus.Collector. It names no metric, so that nothing is read at the
// registration.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	c(func(m metric, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(m.Desc, m.kind, v, labels...)
	})
}

var descBuild = gauge("campaignd_build_info", "1, with the version as a label.", "version")

var (
	descPosted  = counter("campaignd_posts_total", "Requests made to the service.", "connection")
	descResults = counter("campaignd_results_total", "What requests proved: accepted, refused, deferred or doubt.", "connection", "result")
	descSkipped = counter("campaignd_skipped_total",
		"Rows skipped before sending: suppressed, over a limit, expired, cancelled.", "connection")
	descRecover  = counter("campaignd_recovered_total", "Rows that an earlier sender left in doubt when it died.", "connection")
	descSlots    = counter("campaignd_slots_forfeited_total", "Slots that passed unused.", "connection")
	descThrottle = counter("campaignd_throttled_total", "Answers with which the service asked to slow down.", "connection")
	descNoSlot   = counter("campaignd_limiter_unavailable_total", "Requests for slots that the limiter did not answer.", "connection")
	descRate     = gauge("campaignd_pace_messages_per_second", "Rate at which the connection is paced now.", "connection")
	descKept     = gauge("campaignd_pace_kept_back_messages_per_second", "What is kept back of the limit of the connection, and for what: "+
		"inbound, jitter, outliers or rest.", "connection", "reason")
	descFlight = gauge("campaignd_in_flight", "Requests without an answer.", "connection")
	descSince  = gauge("campaignd_seconds_since_post",
		"Seconds since the last request over the connection, or since this process began to send over it.", "connection")
	// limited_by is of the closed list of campaign.LaneReport.
	descLanes = gauge("campaignd_lanes", "Runs that this process sends over the connection, by what limits them.", "connection", "limited_by")
)

// descRequests is a histogram of all connections: with one for each of 500 numbers, a scrape would
// have 6,000 lines more.
var descRequests = prometheus.NewDesc("campaignd_request_seconds", "Times of the requests that the service answered.", nil, nil)

// requestTimes reads the engine's histogram at each scrape.
type requestTimes func() sender.RequestTimes

// Describe implements prometheus.Collector.
func (requestTimes) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (r requestTimes) Collect(ch chan<- prometheus.Metric) {
	t := r()
	ch <- prometheus.MustNewConstHistogram(descRequests, t.Count, t.Seconds, t.Buckets)
}

// sendMetrics reads the engine's counters.
func sendMetrics(stats func() []sender.Stats) collector {
	return func(put emit) {
		for _, s := range stats() {
			put(descPosted, float64(s.Posted), s.Connection)
			put(descResults, float64(s.Accepted), s.Connection, "accepted")
			put(descResults, float64(s.Refused), s.Connection, "refused")
			put(descResults, float64(s.Deferred), s.Connection, "deferred")
			put(descResults, float64(s.Doubts), s.Connection, "doubt")
			put(descSkipped, float64(s.Skipped), s.Connection)
			put(descRecover, float64(s.Recovered), s.Connection)
			put(descSlots, float64(s.Forfeited), s.Connection)
			put(descThrottle, float64(s.Throttled), s.Connection)
			put(descNoSlot, float64(s.NoSlot), s.Connection)
			put(descRate, s.Rate, s.Connection)
			if s.Kept != nil {
				for what, v := range s.Kept.Parts() {
					put(descKept, v, s.Connection, what)
				}
			}
			put(descFlight, float64(s.InFlight), s.Connection)
			put(descSince, s.Idle.Seconds(), s.Connection)
			lanes := map[campaign.LimitedBy]int{}
			for _, l := range s.Lanes {
				lanes[l.LimitedBy]++
			}
			for by, n := range lanes {
				put(descLanes, float64(n), s.Connection, string(by))
			}
		}
	}
}

var (
	descTaken     = counter("campaignd_webhooks_taken_total", "Webhook requests answered 2xx.")
	descRejected  = counter("campaignd_webhooks_rejected_total", "Webhook requests not taken.", "reason")
	descEvents    = counter("campaignd_events_total", "Verified events.", "kind")
	descTemplates = counter("campaignd_template_events_total",
		"Template events by their effect on runs: noted, pauses, ends, resumes.", "effect")
	descCommits  = counter("campaignd_webhook_commits_total", "Commits of events.", "result")
	descStatuses = counter("campaignd_statuses_total", "Statuses by result: matched, repeated, orphaned, adopted.", "result")
	descWaiting  = gauge("campaignd_webhooks_waiting", "Events that wait for a commit.")
	descOrphans  = gauge("campaignd_orphans", "Statuses whose message is not known yet.")
	descNobody   = counter("campaignd_events_without_number_total",
		"Opt-outs, preferences, unreachable numbers and moves whose person had no known phone number when they came.")
	descIgnored = counter("campaignd_webhook_ignored_events_total",
		"Signed events that name an account or a number for which their secret does not vouch.")
	descForeignMarks = counter("campaignd_webhook_foreign_marks_total",
		"Statuses of the Cloud API whose mark is of another ledger, or forged.")
	descSweepsFailed = counter("campaignd_sweeps_failed_total", "Searches for the messages of orphans that failed.")
	descExpired      = counter("campaignd_orphans_expired_total", "Orphans that were dropped because of their age.")
	descAmbiguous    = gauge("campaignd_orphans_ambiguous", "Orphans that fit several deliveries.")
	descQuiet        = gauge("campaignd_webhook_seconds_since_verified",
		"Seconds since this process took a verified event, or since it began to take them.")
	descVerified = gauge("campaignd_webhook_last_verified_seconds", "Unix time of the last verified event of a connection.", "connection")
)

// intakeMetrics reads the webhook intake's counters.
func intakeMetrics(counts func() webhooks.Counts) collector {
	return func(put emit) {
		n := counts()
		put(descTaken, float64(n.Taken))
		for why, v := range n.Rejected {
			put(descRejected, float64(v), string(why))
		}
		for kind, v := range n.Events {
			put(descEvents, float64(v), kind)
		}
		for effect, v := range n.Templates {
			put(descTemplates, float64(v), effect)
		}
		put(descCommits, float64(n.Commits-n.CommitsFailed), "ok")
		put(descCommits, float64(n.CommitsFailed), "failed")
		put(descStatuses, float64(n.Matched), "matched")
		put(descStatuses, float64(n.Repeated), "repeated")
		put(descStatuses, float64(n.Orphaned), "orphaned")
		put(descStatuses, float64(n.Adopted), "adopted")
		put(descNobody, float64(n.Nobody))
		put(descForeignMarks, float64(n.ForeignMarks))
		put(descIgnored, float64(n.Ignored))
		put(descSweepsFailed, float64(n.SweepsFailed))
		put(descExpired, float64(n.OrphansOld))
		put(descWaiting, float64(n.Waiting))
		put(descOrphans, float64(n.Orphans))
		put(descAmbiguous, float64(n.Ambiguous))
		last := n.LastVerified()
		if last.IsZero() {
			last = n.Since
		}
		put(descQuiet, max(0, time.Since(last)).Seconds())
		for connection, at := range n.Verified {
			put(descVerified, float64(at.Unix()), connection)
		}
	}
}

var descRefused = gauge("campaignd_webhooks_refused",
	"Events that were refused for their signature since this began, over all processes: take the maximum; 0: none, or mended.")

// signatureMetrics reads the refused events of the ledger. While it does not answer there is no
// value.
func signatureMetrics(l reception.SignatureLedger) collector {
	return func(put emit) {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		s, err := l.Signatures(ctx)
		if err != nil {
			return
		}
		n := int64(0)
		if refused, _ := s.Refused(time.Now()); refused {
			n = s.Count
		}
		put(descRefused, float64(n))
	}
}

var (
	descHolds = gauge("campaignd_holds", "Holds in force, and breakers that are tested.", "scope", "reason")
	descBegan = counter("campaignd_holds_began_total", "Holds that began while this process looked.", "scope", "reason")
	descEnded = counter("campaignd_holds_ended_total", "Holds that ended while this process looked.", "scope", "reason")
)

// holdMetrics counts the holds.
func holdMetrics(counts func() (now, began, ended map[holdKind]int)) collector {
	return func(put emit) {
		now, began, ended := counts()
		each := func(m metric, all map[holdKind]int) {
			for k, n := range all {
				put(m, float64(n), k.scope, k.reason)
			}
		}
		each(descHolds, now)
		each(descBegan, began)
		each(descEnded, ended)
	}
}
