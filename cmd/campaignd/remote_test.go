package main

import (
	"os"
	"strings"
	"testing"

	"campaignd/internal/client"
)

// A command says the same of the ledger beside it and of a campaignd elsewhere.
func TestACommandSaysTheSameOverTheNetwork(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.want(0, "suppressions", "add", "+2348031299999")
	if err := os.Mkdir(d.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	stop := d.serving()
	defer stop()
	d.eventually("every status has come", func() bool { return d.report("latest").Totals["read"] == 40 }) // nothing changes any more
	access, err := client.ReadAccess(d.path("campaignd.db.api"))
	if err != nil {
		t.Fatal(err)
	}
	far := &fixture{t: t, dir: t.TempDir(), env: map[string]string{"CAMPAIGND_SERVER": access.URL, "CAMPAIGND_KEY": access.Key}}
	for _, command := range []string{
		"runs", "runs -o json", "report latest", "report 1 -o json", "report orders-1 -o csv",
		"templates list", "templates list -o json", "templates show spring_sale", "templates show nothing -o json", "templates sync",
		"templates sync --connection conn_9", "media list", "media list --connection conn_1 -o json", "media list --connection conn_9",
		"report latest --against-service", "report orders-1 --against-service -o json", "report orders-9 --against-service",
		"why latest", "why latest -o json",
		"why latest --to +2348031200003", "why latest --to +2348031288888", "forecast latest -o json", "limits latest", "limits latest -o json",
		"pause latest", "resume latest", "cancel latest", "approve latest", "resume --all", "why orders-9", "why x9x", "limits latest --weight 4",
		"holds", "holds add connection conn_4 --reason x", "holds lift connection conn_4", "holds lift connection conn_4",
		"holds lift --all --reason x", "holds add connection conn_9",
		"holds add connection", "holds add nothing 1", "holds add template x", "suppressions add +2348031299999", "suppressions add 0803",
		"suppressions remove +2348031277777", "suppressions show +2348031299999", "suppressions show +2348031277777", "drops", "drops -o json",
		"why conn_1", "why conn_1 -o json", "why conn_1 --to +2348031200003", "why conn_9", "report latest --excel", "report orders-9 --excel",
		"schedule", "schedule --next 0 -o json",
		"runs compare latest latest", "runs compare latest", "runs compare 1 latest -o json", "actions --on orders-1 --last 0",
		"audit latest", "audit latest -o json", "audit orders-9", "notifications", "notifications -o json", "notifications list --state dead",
		"notifications list --state x", "notifications show 12", "notifications send 12", "suppressions export", "suppressions import absent.csv",
		"suppressions import - --scope all", "suppressions import - --source x/y", "suppressions import - --date 2999-01-01",
		"resolve latest", "resolve latest -o json", "resolve latest --unknown keep", "resolve latest --unknown resend", "resolve orders-9",
		"follow-up latest --where failed=131049", "follow-up latest --where skipped", "follow-up latest", "follow-up latest --where read",
		"follow-up orders-9 --where failed",
		"check " + d.path("c.yaml"), "check " + d.path("c.yaml") + " --strict", "check absent.yaml", "forecast absent.yaml",
		"preview " + d.path("c.yaml"), "preview " + d.path("c.yaml") + " --row 3 -o json", "preview " + d.path("c.yaml") + " --row 99999",
		"forecast " + d.path("c.yaml") + " --recipients absent.csv",
		"erase +2348031277777 --yes", "erase 0803 --yes", "erase +2348031277777 --yes -o json",
	} {
		near, over := d.run(strings.Fields(command)...), far.run(strings.Fields(command)...)
		if strings.HasPrefix(command, "holds add connection conn_4") { // the sentence has its time
			near.stdout, over.stdout = near.stdout[:10], over.stdout[:10]
		}
		if strings.HasPrefix(command, "holds lift connection conn_4") {
			continue // what the first lifts, the second does not find
		}
		if near != over {
			t.Errorf("campaignd %s:\ngot  %+v over the network\nwant %+v", command, over, near)
		}
	}
	away := &fixture{t: t, dir: t.TempDir(), env: map[string]string{"CAMPAIGND_SERVER": "http://" + freePort(t), "CAMPAIGND_KEY": "x"}}
	away.oneLineOf(1, []string{"check the address, and that `campaignd serve` runs there"}, "runs")
	forecast := []string{"forecast", d.path("c.yaml"), "-o", "json"}
	wantIn(t, "the forecast of a campaign over the network", far.want(0, forecast...).stdout, `"messages"`, "as if it were launched now")
	for _, name := range []string{"check", "preview"} {
		if r := far.run(name, d.path("c.yaml"), "--offline"); r.code != 2 || !strings.Contains(r.stderr, "on this machine only") {
			t.Errorf("%s --offline over the network: got %+v, want exit code 2", name, r)
		}
	}
	bad := d.write("bad.csv", listOf(2)+"0803,X,A\n")
	var rejects []string
	for name, of := range map[string]*fixture{"near.csv": d, "far.csv": far} {
		of.want(0, "check", d.path("c.yaml"), "--recipients", bad, "--new", "--rejects", d.path(name))
		text, err := os.ReadFile(d.path(name))
		if err != nil {
			t.Fatal(err)
		}
		rejects = append(rejects, string(text))
	}
	if rejects[0] != rejects[1] || strings.Count(rejects[0], "\n") != 2 {
		t.Errorf("rejects: got %q here and over the network, want the one bad row in both", rejects)
	}
	wantIn(t, "test over the network", far.want(0, "test", d.path("c.yaml"), "--to", "+2348031266001").stdout,
		"accepted by the service for +2348031266001")
	if r := far.run("test", d.path("c.yaml"), "--to", "0803"); r.code != 2 {
		t.Errorf("test to no number over the network: got %+v, want exit code 2", r)
	}
	list := d.write("stop.csv", "to\n+2348031266666\n")
	near, over := d.run("suppressions", "import", list, "--source", "near"), far.run("suppressions", "import", list, "--source", "far")
	if near.stdout != "1 row: 1 added, 0 already there, 0 not read\n" || over.stdout != "1 row: 0 added, 1 already there, 0 not read\n" {
		t.Errorf("import: got %+v, then %+v over the network; want 1 added, then none", near, over)
	}
	actions := d.want(0, "actions", "--last", "1000").stdout
	wantIn(t, "the log of actions", actions, "limits", "holds add", "suppressions add", "erase", " near", " far")
	if got := strings.Count(actions, "limits"); got != 2 {
		t.Errorf("got %d changes of limits in the log of actions, want that of the ledger and that of the network", got)
	}
	far.env["CAMPAIGND_KEY"] = "cpd_wrong"
	if r := far.run("runs"); r.code != 2 || !strings.Contains(r.stderr, "the key in CAMPAIGND_KEY is not in force there") {
		t.Errorf("a wrong key: got %+v, want exit code 2", r)
	}
	delete(far.env, "CAMPAIGND_KEY")
	if r := far.run("runs", "--server", access.URL); r.code != 2 || !strings.Contains(r.stderr, "CAMPAIGND_KEY is empty") {
		t.Errorf("no key: got %+v, want exit code 2", r)
	}
}

// A command without --server looks at this machine, and says so to a user who named another one.
func TestALocalCommandSaysThatItIsLocal(t *testing.T) {
	t.Parallel()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{"CAMPAIGND_SERVER": "http://127.0.0.1:9", "CAMPAIGND_KEY": "cpd_x"}}
	for command, local := range map[string]bool{
		"doctor": true, "commerce status": true, "init --help": false, "runs": false, "version": false} {
		r := d.run(strings.Fields(command)...)
		if got := strings.Contains(r.stderr, "campaignd: "+command+" is about this machine, not about CAMPAIGND_SERVER"); got != local {
			t.Errorf("%s: got the note: %v, want %v:\n%s", command, got, local, r.stderr)
		}
	}
}

// The ledger of this machine does not know the opt-outs of the campaignd that the user named.
func TestNothingIsSentFromBesideTheNamedServer(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.env["CAMPAIGND_SERVER"], d.env["CAMPAIGND_KEY"] = "http://127.0.0.1:9", "cpd_x"
	wantIn(t, "run", d.want(2, "run", d.path("c.yaml")).stderr, "campaignd launch", "unset CAMPAIGND_SERVER")
	d.want(1, "test", d.path("c.yaml"), "--to", "+2348031200001") // it asks the other one, which is away
	if n := d.accepted(); n != 0 {
		t.Errorf("accepted by the service of this machine: %d messages, want none", n)
	}
	if _, err := os.Stat(d.path("campaignd.db")); err == nil {
		t.Error("run made a ledger, want none")
	}
}
