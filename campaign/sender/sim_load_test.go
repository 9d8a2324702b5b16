package sender_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/sandbox"
	"campaignd/recipients"
	"campaignd/throttle/throughput"
)

// workload is what a seed asks of the send path, apart from faults and deaths.
type workload struct {
	begins      time.Duration // after newYear, when the world begins
	connections []sandbox.Connection
	templates   []sandbox.Template
	allowance   int64 // messages a month; 0: no limit
	tick, sweep time.Duration
	late        int // percent of the poster's wake-ups that are late
	inFlight    int // posts at once; 0: as many as the sender's default
	trial       trial
	stalls      []stall
	runs        []*campaignRun
	acts        []act // by instant
}

// campaignRun is one campaign and what happened to it.
type campaignRun struct {
	no       campaign.RunNo
	name     string
	template string // of this run alone: so the truth knows whose message it is
	category string
	from, to int // which numbers it has
	limits   file.Limits
	policy   campaign.OnUncertain
	doubt    time.Duration
	closes   time.Duration // after newYear, when its window closes; 0: it has none
	opens    time.Duration // when it opens again

	connections []string

	created   time.Time
	phones    []string  // by seq
	stopped   time.Time // an operator's pause or cancel is written; zero: no
	paused    time.Time // since when watch sees it paused by itself
	cancelled bool
	granted   int64      // the mark of its segment
	lastPost  time.Time  // of any process
	shares    [2]float64 // the least that its lanes told between its last two posts, and since the last; 0: none
	held      time.Time  // an answer named it in this process; zero: no
	heldBy    string
	resumed   time.Time // by the operator
	approved  time.Time // its template, again

	disapproved bool                          // its template, until it is approved again
	named       map[campaign.PauseReason]bool // for what it may be paused
}

func (r *campaignRun) marketing() bool { return r.category == "MARKETING" }

// moves reports whether some run allows moves.
func (l *workload) moves() bool {
	return slices.ContainsFunc(l.runs, func(r *campaignRun) bool { return r.limits.Move })
}

// act is one thing that people do during the run.
type act struct {
	at   time.Duration
	what string
	run  int
	to   string
}

// phone is the number of a person.
func phone(i int) string { return fmt.Sprintf("+4915112%06d", 100_000+i) }

// drawWorkload chooses what the seed varies. Most seeds vary one to three things.
func (w *world) drawWorkload() workload {
	l := workload{
		tick:  []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second}[w.draw("tick", 3)],
		sweep: []time.Duration{time.Second, 2 * time.Second}[w.draw("sweep", 2)],
	}
	for i := range 1 + w.draw("connections", 2) {
		c := sandbox.Connection{ID: fmt.Sprintf("conn_%d", i+1), Phone: fmt.Sprintf("+1555555010%d", i)}
		switch k := w.draw("level", 10, uint64(i)); {
		case k == 0:
			c.Coexistence = true
		case k <= 3:
			c.Throughput = "HIGH"
		}
		l.connections = append(l.connections, c)
	}
	runs, two := 1, 25
	switch w.trialKind() {
	case "number", "account", "payload": // what stops several runs, or one of them
		two = 75
	}
	if w.chance("two runs", two) {
		runs = 2
	}
	for i := range runs {
		k := uint64(i)
		r := &campaignRun{name: fmt.Sprintf("sim%d", i), template: fmt.Sprintf("template_%d", i), category: "UTILITY",
			policy: campaign.UncertainHold}
		r.from = i * w.draw("overlap", 80)
		r.to = r.from + 40 + w.draw("rows", 120, k)
		r.doubt = []time.Duration{20 * time.Second, time.Minute, 3 * time.Minute}[w.draw("doubt window", 3, k)]
		if w.draw("marketing", 2, k) == 0 {
			r.category = "MARKETING"
		}
		if runs == 1 && w.chance("resend", 20) {
			r.policy = campaign.UncertainResend
		}
		if w.draw("rate", 100, k) < 15 {
			r.limits.Rate = float64(3 + w.draw("which rate", 20, k))
		}
		if w.draw("budget", 100, k) < 12 {
			r.limits.MaxMessages = int64(10 + w.draw("which budget", 60, k))
		}
		if w.draw("not after", 100, k) < 10 {
			r.limits.NotAfter = campaign.Duration(time.Duration(2+w.draw("when not after", 20, k)) * time.Second)
		}
		if len(l.connections) > 1 && w.draw("move", 100, k) < 40 {
			r.limits.Move = true
		}
		l.templates = append(l.templates, sandbox.Template{
			Name: r.template, Language: "en_US", Category: r.category,
			Components: []sandbox.Component{{Type: "BODY", Text: "Hello {{1}}, your order {{2}} is on its way."}},
		})
		l.runs = append(l.runs, r)
	}
	if w.chance("allowance", 10) { // the month ends a while after the allowance is used up
		l.begins = 31*24*time.Hour - time.Duration(20+w.draw("month ends", 60))*time.Second
		most := 0
		for _, r := range l.runs {
			most += r.to - r.from
			if r.policy == campaign.UncertainResend { // some get the message twice
				most += (r.to - r.from) / 4
			}
		}
		l.allowance = int64(most * (55 + w.draw("which allowance", 40)) / 100) // two months suffice
	}
	if l.begins == 0 && w.chance("window", 12) {
		l.begins = 10 * time.Hour
		// Hours are whole minutes: it closes at the first full one that comes, or at launch, for one or
		// two minutes.
		r := l.runs[0]
		end := l.begins.Truncate(time.Minute) + time.Minute
		l.begins = end - time.Duration(w.draw("window closes", 6)-1)*time.Second
		r.closes, r.opens = end, end+time.Duration(1+w.draw("window shut", 2))*time.Minute
	}
	if w.chance("late wake-ups", 20) {
		l.late = 20
	}
	if w.chance("few in flight", 8) {
		l.inFlight = 2 + w.draw("how few", 8)
	}
	w.drawTrial(&l)
	apart := runs == 2 && len(l.connections) == 2 && w.draw("apart", 2) == 0
	for i, r := range l.runs {
		r.named = map[campaign.PauseReason]bool{}
		for k, c := range l.connections {
			if !apart || k == i {
				r.connections = append(r.connections, c.ID)
			}
		}
	}
	w.drawActs(&l)
	return l
}

// drawActs chooses the acts of people during the run.
func (w *world) drawActs(l *workload) {
	soon := func(what string, k uint64, below time.Duration) time.Duration {
		return time.Duration(1 + w.draw("when "+what, int(below), k))
	}
	for i := range l.runs {
		k := uint64(i)
		inTime := l.allowance == 0 // else a month may pass before anything is sent, and the next one is too short
		if inTime && w.draw("pause", 100, k) < 20 {
			at := soon("pause", k, 6*time.Second)
			l.acts = append(l.acts, act{at: at, what: "pause", run: i}, act{at: at + soon("resume", k, 30*time.Second), what: "resume", run: i})
		}
		if w.draw("cancel", 100, k) < 12 {
			l.acts = append(l.acts, act{at: soon("cancel", k, 8*time.Second), what: "cancel", run: i})
		}
		if inTime && w.draw("template", 100, k) < 12 {
			at := soon("template paused", k, 6*time.Second)
			l.acts = append(l.acts, act{at: at, what: "template paused", run: i}, act{at: at + soon("template approved", k, 40*time.Second),
				what: "template approved", run: i})
		}
		for n := range w.draw("stops", 6, k) {
			r := l.runs[i]
			l.acts = append(l.acts, act{at: soon("stop", k<<8|uint64(n), 5*time.Second), what: "STOP", run: i,
				to: phone(r.from + w.draw("who stops", r.to-r.from, k, uint64(n)))})
		}
		if w.draw("suppress", 100, k) < 15 {
			r := l.runs[i]
			l.acts = append(l.acts, act{at: soon("suppress", k, 4*time.Second), what: "suppress", run: i,
				to: phone(r.from + w.draw("who is suppressed", r.to-r.from, k))})
		}
	}
	slices.SortStableFunc(l.acts, func(a, b act) int { return int(a.at - b.at) })
}

// pace is what a daemon would send at over a connection.
func (l *workload) pace(connection string) float64 {
	for _, c := range l.connections {
		if c.ID == connection {
			return throughput.Number{Level: c.Throughput, Coexistence: c.Coexistence}.Pace().Rate
		}
	}
	return 0
}

// source is the campaign file of a run.
func (l *workload) source(r *campaignRun) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nconnections: [%s]\n", r.name, strings.Join(r.connections, ", "))
	fmt.Fprintf(&b, "template: {name: %s, language: en_US, category: %s, body: [\"{{ .name }}\", \"{{ .order }}\"]}\n", r.template, r.category)
	fmt.Fprintf(&b, "policies: {doubt_window: %s, on_uncertain: %s}\n", r.doubt, r.policy)
	if r.limits != (file.Limits{}) {
		b.WriteString("limits:\n")
		if r.limits.Rate > 0 {
			fmt.Fprintf(&b, "  rate: %g\n", r.limits.Rate)
		}
		if r.limits.MaxMessages > 0 {
			fmt.Fprintf(&b, "  max_messages: %d\n", r.limits.MaxMessages)
		}
		if r.limits.NotAfter > 0 {
			fmt.Fprintf(&b, "  not_after: %s\n", time.Duration(r.limits.NotAfter))
		}
	}
	if r.limits.Move {
		b.WriteString("  move: true\n")
	}
	if r.closes > 0 {
		hour := func(d time.Duration) string { return time.Time{}.Add(d).Format("15:04") }
		fmt.Fprintf(&b, "window: {hours: \"%s-%s\"}\n", hour(r.opens), hour(r.closes))
	}
	return []byte(b.String())
}

// launch imports the list of a run and makes it ready.
func (w *world) launch(ctx context.Context, t *testing.T, r *campaignRun) {
	t.Helper()
	var list strings.Builder
	list.WriteString("to,name,order\n")
	for i := r.from; i < r.to; i++ {
		fmt.Fprintf(&list, "%s,Name %d,A-%d\n", phone(i), i, i)
	}
	path := filepath.Join(w.dir, r.name+".csv")
	if err := os.WriteFile(path, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	source := w.load.source(r)
	def, err := file.Parse(r.name+".yaml", source)
	if err != nil {
		t.Fatal(err)
	}
	hash, _, err := recipients.Hash(path)
	if err != nil {
		t.Fatal(err)
	}
	run, err := w.desk.CreateRun(ctx, campaign.Run{
		Campaign: def.Name, ListHash: hash, ListName: path, Definition: source, Header: []string{"to", "name", "order"},
		Template: def.Template.Name, Language: def.Template.Language, Marketing: r.marketing(), Budget: def.Limits.MaxMessages,
		Wanted: campaign.WantRun,
	})
	if err != nil {
		t.Fatal(err)
	}
	counts, err := launch.Import(ctx, launch.ImportInput{Ledger: w.desk, Run: run, Definition: def, List: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.desk.FinishImport(ctx, run.No, counts.Rows, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	r.no, r.created = run.No, run.CreatedAt
	for line, err := range w.desk.Lines(ctx, run.No) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Seq != int64(len(r.phones)) {
			t.Fatalf("row %d has seq %d", line.Row, line.Seq)
		}
		r.phones = append(r.phones, line.To)
	}
}
