package daemon

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"campaignd/campaign/sender"
	"campaignd/internal/webhooks"
)

// metrics serves the process's counters in the Prometheus text format. Labels are
// connections and closed lists only, never a recipient.
func (d *Daemon) metrics(e *sender.Engine) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if e != nil {
		reg.MustRegister(&sendCollector{e.Stats})
	}
	if d.intake != nil {
		reg.MustRegister(&intakeCollector{d.intake.Counts})
	}
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

// sendCollector reads the engine's counters at each scrape.
type sendCollector struct{ stats func() []sender.Stats }

var (
	byConnection = []string{"connection"}
	descPosted   = prometheus.NewDesc("campaignd_posts_total", "Requests made to the service.", byConnection, nil)
	descResults  = prometheus.NewDesc("campaignd_results_total", "What requests proved: accepted, refused, deferred or doubt.", []string{"connection", "result"}, nil)
	descSkipped  = prometheus.NewDesc("campaignd_skipped_total", "Rows skipped when they were about to be sent: opted out, suppressed, over a limit, expired, cancelled.", byConnection, nil)
	descRecover  = prometheus.NewDesc("campaignd_recovered_total", "Rows that an earlier sender left in doubt when it died.", byConnection, nil)
	descSlots    = prometheus.NewDesc("campaignd_slots_forfeited_total", "Send instants that passed unused.", byConnection, nil)
	descThrottle = prometheus.NewDesc("campaignd_throttled_total", "Answers that meant: slow down.", byConnection, nil)
	descNoSlot   = prometheus.NewDesc("campaignd_limiter_unavailable_total", "Times that the limiter could not be asked.", byConnection, nil)
	descRate     = prometheus.NewDesc("campaignd_pace_messages_per_second", "Rate at which the connection is paced now.", byConnection, nil)
	descFlight   = prometheus.NewDesc("campaignd_in_flight", "Requests without an answer.", byConnection, nil)
	descLatency  = prometheus.NewDesc("campaignd_request_seconds", "Smoothed time of a request.", byConnection, nil)
)

// Describe implements prometheus.Collector.
func (c *sendCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *sendCollector) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, label string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, label)
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
		gauge(descFlight, float64(s.InFlight), s.Connection)
		gauge(descLatency, s.Latency.Seconds(), s.Connection)
	}
}

// intakeCollector reads the webhook intake's counters at each scrape.
type intakeCollector struct{ counts func() webhooks.Counts }

var (
	descTaken     = prometheus.NewDesc("campaignd_webhooks_taken_total", "Webhook requests answered 2xx.", nil, nil)
	descRejected  = prometheus.NewDesc("campaignd_webhooks_rejected_total", "Webhook requests not taken.", []string{"reason"}, nil)
	descEvents    = prometheus.NewDesc("campaignd_events_total", "Verified events.", []string{"kind"}, nil)
	descTemplates = prometheus.NewDesc("campaignd_template_events_total", "Template events by what they do to the template's runs: noted, pauses, ends, resumes.", []string{"effect"}, nil)
	descCommits   = prometheus.NewDesc("campaignd_webhook_commits_total", "Commits of events.", []string{"result"}, nil)
	descStatuses  = prometheus.NewDesc("campaignd_statuses_total", "Statuses by what became of them.", []string{"result"}, nil)
	descWaiting   = prometheus.NewDesc("campaignd_webhooks_waiting", "Events that wait for a commit.", nil, nil)
	descOrphans   = prometheus.NewDesc("campaignd_orphans", "Statuses whose message is not known yet.", nil, nil)
	descAmbiguous = prometheus.NewDesc("campaignd_orphans_ambiguous", "Of those, statuses that fit several deliveries.", nil, nil)
	descVerified  = prometheus.NewDesc("campaignd_webhook_last_verified_seconds", "When the last verified event of a connection came, unix time.", byConnection, nil)
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
	gauge(descWaiting, n.Waiting)
	gauge(descOrphans, n.Orphans)
	gauge(descAmbiguous, n.Ambiguous)
	for connection, at := range n.Verified {
		ch <- prometheus.MustNewConstMetric(descVerified, prometheus.GaugeValue, float64(at.Unix()), connection)
	}
}
