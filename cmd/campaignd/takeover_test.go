package main

import (
	"context"
	"strings"
	"sync"
	"testing"
)

// sharedLog is a log that is read while it is written.
type sharedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The log of serve names the unfinished runs, the campaigns and the holds that it finds, and then
// what becomes of a run.
func TestServeSaysWhatItTookOver(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.folder("campaigns")
	d.write("campaigns/list.csv", listOf(3))
	d.write("campaigns/daily.yaml", strings.Replace(campaignFile, "orders", "daily", 1)+"schedule: {cron: \"0 9 1 1 *\"}\n")
	d.want(0, "ledger", "migrate") // makes the ledger
	d.want(0, "holds", "add", "connection", "conn_1")
	d.want(3, "run", d.path("c.yaml"), "--settle", "0s")
	d.want(0, "pause", "latest")
	log := &sharedLog{}
	ctx, stop := context.WithTimeout(t.Context(), longWait)
	defer stop()
	defer func() {
		if t.Failed() {
			t.Logf("the log of serve:\n%s", log)
		}
	}()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"serve"}, strings.NewReader(""), log, log, d.env) }()
	d.eventually("serve says what it took over", func() bool {
		return strings.Contains(log.String(), `msg="taken over"`) && strings.Contains(log.String(), `msg="hold began"`)
	})
	d.want(0, "holds", "lift", "--all", "--reason", "connection")
	d.want(0, "resume", "--all")
	d.eventually("serve says that the run ended", func() bool { return strings.Contains(log.String(), `msg="run ended"`) })
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("serve: exit code %d, want 0", code)
	}
	wantIn(t, "the log", log.String(), `msg="unfinished run" run=orders-1 state=`, "wanted=pause",
		`msg="campaign loaded" campaign=daily schedule="0 9 1 1 *" next=`,
		`msg="taken over" unfinished=1 `, "campaigns=1", `msg="hold began" scope=connection id=conn_1`, `msg="run picked up" run=orders-1 rows=`,
		`msg="run ended" run=orders-1 state=finished rows=`)
}

func TestResumeAllChoosesByReason(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "ledger", "migrate") // makes the ledger
	d.want(0, "holds", "add", "connection", "conn_1")
	d.want(3, "run", d.path("c.yaml"), "--settle", "0s")
	d.want(0, "pause", "latest")
	d.says(0, "no run is paused (breaker); `campaignd runs` lists the runs, `campaignd holds` what else may not be sent\n", "",
		"resume", "--all", "--reason", "breaker")
	d.says(0, "[]\n", "", "resume", "--all", "--reason", "breaker", "-o", "json")
	d.says(0, "[]\n", "", "resume", "--all", "--reason", "account", "-o", "json")
	d.says(0, "orders-1 goes on as soon as a sender (`campaignd serve` or `run`) has it\n", "", "resume", "--all", "--reason", "operator")
	d.says(0, "no run is paused; `campaignd holds` lists what else may not be sent\n", "", "resume", "--all")
	d.says(0, "nothing is held for the reason or in the scope account; `campaignd holds` lists what is\n", "",
		"resume", "--all", "--reason", "account")
	d.want(0, "holds", "add", "account", "conn_1", "--reason", "maintenance")
	if r := d.want(0, "resume", "--all", "--reason", "account"); !strings.Contains(r.stdout, "account conn_1 was held") {
		t.Errorf("resume of what an account held: got %q, want its hold", r.stdout)
	}
	d.says(0, "nothing is held for the reason or in the scope 131042; `campaignd holds` lists what is\n", "",
		"resume", "--all", "--reason", "131042")
	d.says(2, "", "campaignd: --reason \"acount\" pauses nothing, and is no code of a hold such as 131042; did you mean \"account\"?\n",
		"resume", "--all", "--reason", "acount")
	d.says(2, "", "campaignd: --all and the run latest: give one of them\n", "resume", "latest", "--all")
	d.says(2, "", "campaignd: --reason chooses among all paused runs: give --all too, or a RUN without --reason\n",
		"resume", "--reason", "breaker")
	d.says(0, "nothing is held for the reason or in the scope account; `campaignd holds` lists what is\n", "",
		"holds", "lift", "--all", "--reason", "account")
	d.says(2, "", "campaignd: --all needs --reason, and no SCOPE and ID: `campaignd holds` lists the reasons\n", "holds", "lift", "--all")
}
