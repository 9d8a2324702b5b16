package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/internal/command"
	"campaignd/internal/sandbox"
)

func TestForecastSaysWhenACampaignWouldBeDone(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("slow.yaml", campaignFile+"limits: {rate: 0.01}\n")
	before := time.Now()
	out := d.want(0, "forecast", d.path("slow.yaml")).stdout
	wantIn(t, "forecast", out, "orders: 40 messages, done at ", "limited by: run_rate", "as if it were launched now",
		"no limits.rate: 1.1 hours sooner", "FROM ", "run_rate\n")
	var f plan.Forecast
	if err := json.Unmarshal([]byte(d.want(0, "forecast", d.path("slow.yaml"), "-o", "json").stdout), &f); err != nil {
		t.Fatal(err)
	}
	if f.Seconds < 3999 || f.Seconds > 4001 || f.Messages != 40 || !f.DeadlineHolds || f.LimitedBy != campaign.ByRunRate || len(f.Hours) < 2 {
		t.Errorf("forecast: got %+v, want 40 messages in 4,000 s limited by run_rate", f)
	}
	if took := f.Finish.Sub(before); took < 4000*time.Second || took > 4060*time.Second || f.Low.After(f.Finish) || f.High.Before(f.Finish) {
		t.Errorf("forecast: got done after %v, in %v to %v, want after 4,000 s and within the band", took, f.Low, f.High)
	}
	if r := d.want(2, "runs"); !strings.Contains(r.stderr, "there is no ledger") {
		t.Errorf("runs after a forecast: got %s, want no ledger", r.stderr)
	}
}

// The forecast of an ended run says that it has ended; that of a run before its first message has
// the whole list.
func TestForecastSaysWhenARunWillBeDone(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("c.yaml", campaignFile+"policies: {approval: true}\nlimits: {rate: 0.5}\n")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- d.runIn(ctx, "run", d.path("c.yaml")) }()
	d.eventually("the run waits for approval", func() bool {
		return strings.Contains(d.run("why", "latest").stdout, "waits for approval")
	})
	stop()
	<-ended
	wantIn(t, "forecast of a run", d.want(0, "forecast", "latest").stdout,
		"orders-1: 40 messages, done at ", "1m20s from the first message", "as if it were approved now")
	d.want(0, "cancel", "latest")
	wantIn(t, "forecast of an ended run", d.want(0, "forecast", "latest").stdout, "orders-1: nothing is left to send\nit is cancelled\n")
	d.want(0, "forecast", "latest", "-o", "json")
}

func TestForecastRefusesWhatIsNoCampaignAndNoRun(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	for _, args := range [][]string{
		{"forecast"}, {"forecast", d.path("none.yaml")}, {"forecast", "nothing"}, {"forecast", "latest", "--recipients", "x.csv"},
	} {
		if r := d.run(args...); r.code != command.ExitUsage || r.stdout != "" {
			t.Errorf("%v: exit code %d and %q, want 2 and nothing on standard output", args, r.code, r.stdout)
		}
	}
}

func TestAForecastIsWrittenForAPerson(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	f := plan.Forecast{Assumed: []string{"conn_1"}}
	f.Run, f.Messages, f.Unsent, f.Seconds, f.LimitedBy = "spring-1", 500, 20, 7200, "tier"
	f.Finish, f.Low, f.High, f.Deadline = at.Add(2*time.Hour), at.Add(time.Hour), at.Add(3*time.Hour), at
	f.RunsOut = []plan.RunsOut{{LimitedBy: campaign.ByTier, At: at, Row: 251}}
	f.Asset = &plan.AssetForecast{Until: at, Unsent: 7}
	f.Numbers = []plan.NumberShare{{Connection: "conn_1", Messages: 300}, {Connection: "conn_2", Messages: 200}}
	f.Helps = []plan.Help{{Sentence: "the next higher tier", Hours: 96}, {Sentence: "one more", Hours: 0.5}}
	never := plan.Forecast{}
	never.Run, never.Never, never.LimitedBy = "spring-1", true, "hold"
	some := never
	some.Messages = 1
	for _, tt := range []struct {
		name string
		f    plan.Forecast
		want string
	}{
		{"all of it", f, "spring-1: 500 messages, done at " + command.Clock(at.Add(2*time.Hour)) + ", in eight of ten cases between " +
			command.Clock(at.Add(time.Hour)) + " and " +
			command.Clock(at.Add(3*time.Hour)) + "\n2h from the first message to the last answer; limited by: tier\n" +
			"not sent: 20 rows, because of not_after or max_messages\ndeadline " + command.Clock(at) + " does not hold\n" +
			"tier used up at " + command.Clock(at) + ": row 251 waits\nthe service deletes the header medium at " + command.Clock(at) +
			", before 7 messages are sent\nthe service does not tell the throughput of conn_1: 80 a second (STANDARD) is assumed\n" +
			"conn_1 sends 300\nconn_2 sends 200\nthe next higher tier: 4 days sooner\none more: 30 minutes sooner\n"},
		{"nothing within a year", never, "spring-1: nothing will be sent within a year, because of: hold\n"},
		{"a part within a year", some, "spring-1: not done within a year; 1 message would be sent\n"},
	} {
		if got := printed(t, func(p *program) error { return p.writeForecast(tt.f) }); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// A curve of more than two days has a line for each day; hours without a message for one reason are
// one line.
func TestACurveFitsAScreen(t *testing.T) {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var hours []plan.Hour
	for i := range 72 {
		h := plan.Hour{Start: start.Add(time.Duration(i) * time.Hour), LimitedBy: campaign.ByWindow}
		if hour := i % 24; hour >= 9 && hour < 18 {
			h.Messages, h.LimitedBy = int64(100*(1+i/24)), "throughput"
		}
		hours = append(hours, h)
	}
	rows := curveRows(hours, 10)
	if len(rows) != 3 || strings.Join(rows[0], " ") != "Sat 2026-11-21 900 #### throughput" || rows[2][1] != "2700" {
		t.Errorf("three days: got %v, want 900, 1800 and 2700 messages in three lines", rows)
	}
	rows = curveRows(hours[:24], 0)
	if len(rows) != 11 || strings.Join(rows[10], " ") != "Sat 2026-11-21 18:00 0 window" {
		t.Errorf("one day: got %v, want 11 lines, the last one from 18:00 on", rows)
	}
}

func TestForecastKnowsWhatIsLeftOfThePlan(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.env["CAMPAIGND_PLAN_MONTHLY_MESSAGES"] = "25"
	d.write("campaignd.yaml", "numbers: {conn_1: {ramp: {start: 10, step: 5, ceiling: 100}}}\n")
	out := d.want(0, "forecast", d.path("c.yaml"), "--config", d.path("campaignd.yaml")).stdout
	wantIn(t, "forecast", out, "ramp used up at ", "row 11 waits", "allowance used up at ", "row 26 waits")
	var f plan.Forecast
	if err := json.Unmarshal([]byte(d.want(0, "forecast", d.path("c.yaml"), "-o", "json").stdout), &f); err != nil {
		t.Fatal(err)
	}
	if now := time.Now().UTC(); f.Finish.UTC().Month() == now.Month() || f.Hours[0].Messages != 25 || f.LimitedBy != campaign.ByAllowance {
		t.Errorf("forecast: got done at %v, %+v, want 25 messages this month and the rest in the next", f.Finish, f.Hours[0])
	}
}

// Without a configured plan, the service's billing says what is left. The run used 40 of 70.
func TestCheckAndForecastKnowTheBilledPlan(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) { o.Allowance = 70 })
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.write("next.csv", strings.ReplaceAll(listOf(40), "+23480312", "+23480313"))
	next := []string{d.path("c.yaml"), "--recipients", d.path("next.csv")}
	wantIn(t, "forecast", d.want(0, append([]string{"forecast"}, next...)...).stdout, "allowance used up at ", "row 31 waits")
	wantIn(t, "check", d.want(0, append([]string{"check"}, next...)...).stdout,
		"the plan has 30 messages left until ", "when the plan at the service is raised")
}

func TestWhyReadsANumberAsItsListDoes(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"))
	to, _, _ := strings.Cut(strings.Split(listOf(1), "\n")[1], ",")
	for _, written := range []string{to[:4] + " " + to[4:7] + "-" + to[7:], "tel:" + to, "'" + to, "\u202a" + to + "\u202c", to[1:]} {
		wantIn(t, "why of "+written, d.want(0, "why", "latest", "--to", written).stdout, "orders-1: row 1 is ")
	}
	national := "0" + to[4:]
	wantIn(t, "why of a number of no country", d.want(2, "why", "latest", "--to", national).stderr, "has no + and country code")
	d.write("ng.yaml", strings.Replace(strings.Replace(campaignFile, "orders", "ng", 1), "columns:", "default_region: NG, columns:", 1))
	d.write("list.csv", strings.ReplaceAll(listOf(40), "+234", "0"))
	d.want(0, "run", d.path("ng.yaml"))
	wantIn(t, "why of a national number", d.want(0, "why", "latest", "--to", national).stdout, "ng-2: row 1 is ")
	wantIn(t, "why of its spelling abroad", d.want(0, "why", "latest", "--to", "009"+to[1:]).stdout, "ng-2: row 1 is ")
}

func TestWhySaysWhatANumberAndARecipientWaitFor(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"))
	to := strings.Split(listOf(1), "\n")[1]
	to = strings.Split(to, ",")[0]
	wantIn(t, "why of a recipient", d.want(0, "why", "latest", "--to", to).stdout, "orders-1: row 1 is ")
	wantIn(t, "why of a recipient as JSON", d.want(0, "why", "latest", "--to", to, "-o", "json").stdout, `"limited_by": "none"`)
	wantIn(t, "why of a stranger", d.want(2, "why", "latest", "--to", "+4915100000000").stderr, "has no row for +4915100000000")
	wantIn(t, "why of no number", d.want(2, "why", "latest", "--to", "me").stderr, "is no phone number")
	d.want(0, "suppressions", "add", to, "--scope", "all")
	d.want(0, "run", d.path("c.yaml"), "--new")
	wantIn(t, "why of a suppressed recipient", d.want(0, "why", "latest", "--to", to).stdout,
		"for all companies (all) since ", ", source operator\n")
	d.write("campaignd.yaml", "numbers: {conn_1: {rate: 80}}\n")
	wantIn(t, "why of a connection", d.want(0, "why", "conn_1", "--config", d.path("campaignd.yaml")).stdout, "conn_1 has nothing to send")
	wantIn(t, "why of a connection as JSON",
		d.want(0, "why", "conn_1", "--config", d.path("campaignd.yaml"), "-o", "json").stdout, `"runs": []`)
	wantIn(t, "why of what is no run", d.want(2, "why", "conn_9").stderr, `"conn_9" is no run and no connection`)
}
