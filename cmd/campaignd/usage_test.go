package main

import (
	"net"
	"regexp"
	"strings"
	"testing"
)

// stackTrace matches what a panic prints.
var stackTrace = regexp.MustCompile(`goroutine \d+ \[|panic:|\.go:\d+`)

func TestWrongUseIsOneLineWithTheRemedy(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("campaigns.yaml", "nme: x\n")
	d.write("tab.yaml", "name: x\n\tlimits: {}\n")
	d.write("ledger.cfg", "ledger: sqlite:"+d.path("none.db")+"\n")
	d.write("empty.csv", "")
	d.write("header.csv", "phone,first_name,order\n")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, tt := range []struct {
		env  string
		args []string
		code int
		want string
	}{
		{"", []string{"bogus"}, 2, `unknown command "bogus"`},
		{"", []string{"rnu"}, 2, "did you mean `campaignd run`?"},
		{"", []string{"config", "bogus"}, 2, `unknown command "bogus"`},
		{"", []string{"run"}, 2, "want one campaign file"},
		{"", []string{"run", "absent.yaml"}, 2, "absent.yaml does not exist"},
		{"", []string{"run", d.path("c.yaml"), "l.csv"}, 2, "for example `campaignd run spring.yaml --recipients list.csv`"},
		{"", []string{"run", d.path("c.yaml"), "--bogus"}, 2, "unknown flag: --bogus; `campaignd run --help` lists the flags"},
		{"", []string{"run", d.path("c.yaml"), "--recipient", "x"}, 2, "unknown flag: --recipient; did you mean --recipients?"},
		{"", []string{"schedule", "--next", "010"}, 2, `--next "010": want a whole number`},
		{"", []string{"preview", d.path("c.yaml"), "--row", "0x2"}, 2, `--row "0x2": want a whole number`},
		{"", []string{"report", "latest", "-f", "csv"}, 2, "`campaignd report --help` lists the flags"},
		{"", []string{"check", d.dir}, 2, "is a folder; name a campaign file in it"},
		{"", []string{"runs", "latest"}, 2, "`campaignd runs` takes no argument"},
		{"", []string{"config", "schema", "bogus"}, 2, "want config or campaign"},
		{"", []string{"completion", "nosh"}, 2, `unknown command "nosh"`},
		{"", []string{"suppressions", "add"}, 2, "want one NUMBER or more"},
		{"", []string{"suppressions", "import"}, 2, "want one FILE"},
		{"", []string{"suppressions", "import", d.path("absent.csv")}, 2, "absent.csv: there is no such file; check the path"},
		{"", []string{"suppressions", "export", d.path("a"), d.path("b")}, 2, "want one FILE or none"},
		{"", []string{"suppressions", "export", d.path("no/such/folder.csv")}, 2, "there is no ledger"},
		{"", []string{"sandbox", "--webhook", "foo", "--addr", "127.0.0.1:0"}, 2, `--webhook: "foo" is not a URL`},
		{"", []string{"run", d.path("tab.yaml")}, 2, "tab.yaml:2:1: a tab stands where YAML wants spaces; indent with spaces"},
		{"", []string{"run", d.path("c.yaml"), "--recipients", d.path("absent.csv")}, 2, "absent.csv"},
		{"", []string{"run", d.path("c.yaml"), "--recipients", d.path("empty.csv")}, 2, "empty.csv"},
		{"", []string{"run", d.path("c.yaml"), "--recipients", d.path("header.csv")}, 2, "header.csv"},
		{"", []string{"run", d.path("campaigns.yaml")}, 2, `unknown key "nme"`},
		{"", []string{"run", d.path("c.yaml"), "--settle", "soon"}, 2, `--settle "soon": want a duration such as 30s or 2h`},
		{"", []string{"runs", "-o", "xml"}, 2, `--output "xml": want table or json`},
		{"", []string{"why"}, 2, "want one RUN or CONNECTION"},
		{"", []string{"report"}, 2, "want one RUN"},
		{"", []string{"report", "latest", "--format", "xml"}, 2, "--format"},
		{"CAMPAIGND_LEDGER=sqlite:" + d.path("none.db"), []string{"report", "latest"}, 2, "there is no ledger"},
		{"", []string{"report", "orders-7"}, 2, "there is no ledger"},
		{"", []string{"audit", "latest", "-o", "yaml"}, 2, "want table or json"},
		{"", []string{"report", "latest", "--config", "absent.yaml"}, 2, "absent.yaml does not exist"},
		{"", []string{"follow-up", "latest"}, 2, "--where is missing"},
		{"", []string{"follow-up", "latest", "--where", "read"}, 2, "chooses no rows that may be sent again"},
		{"", []string{"resolve", "latest", "--unknown", "maybe"}, 2, `--unknown "maybe" is neither resend nor keep`},
		{"", []string{"suppressions", "add", "0803"}, 2, `"0803" has no + and country code`},
		{"", []string{"suppressions", "add", "+234x"}, 2, `not a phone number: "+234x"`},
		{"", []string{"test", d.path("c.yaml"), "--to", "0803"}, 2, `"0803" has no + and country code`},
		{"", []string{"suppressions", "add", "+2348031234567", "--scope", "some"}, 2, `scope "some" is unknown`},
		{"", []string{"sandbox", "--fault", "lost=1"}, 2, "--fault"},
		{"", []string{"sandbox", "--addr", busy.Addr().String()}, 1, "--addr"},
		{"", []string{"version", "--log-level"}, 2, "log-level"},
		{"", []string{"serve", "--log-level", "loud"}, 2, "--log-level"},
		{"CAMPAIGND_LISTEN_PUBLIC=" + busy.Addr().String(), []string{"run", d.path("c.yaml")}, 1, "listen.public"},
		{"CAMPAIGND_SERVICE_API_KEY=wrong", []string{"run", d.path("c.yaml")}, 1, "401"},
		{"CAMPAIGND_SERVICE_BASE_URL=http://" + freePort(t), []string{"check", d.path("c.yaml")}, 1, "not_connected"},
		{"CAMPAIGND_SERVICE_BASE_URL=http://" + freePort(t), []string{"check", d.path("c.yaml"), "--recipients", d.path("absent.csv")}, 2,
			"absent.csv: there is no such file"},
		{"CAMPAIGND_SERVICE_BASE_URL=http://" + freePort(t), []string{"run", d.path("c.yaml"), "--recipients", d.path("absent.csv")}, 2,
			"absent.csv: there is no such file"},
		{"CAMPAIGND_LEDGER=sqlite:" + d.path("no/such/folder.db"), []string{"run", d.path("c.yaml")}, 1, "does not exist: create it"},
		{"CAMPAIGND_LEDGER=mysql://x", []string{"runs"}, 2, "is not a ledger"},
	} {
		key, value, _ := strings.Cut(tt.env, "=")
		before, had := d.env[key]
		if key != "" {
			d.env[key] = value
		}
		r := d.run(tt.args...)
		if key != "" {
			delete(d.env, key)
			if had {
				d.env[key] = before
			}
		}
		command := strings.TrimSpace(tt.env + " campaignd " + strings.Join(tt.args, " "))
		if r.code != tt.code || !strings.Contains(r.stderr, tt.want) {
			t.Errorf("%s: got exit code %d with %s, want %d with %q", command, r.code, r.stderr, tt.code, tt.want)
		}
		lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "campaignd: ") || stackTrace.MatchString(r.stderr) {
			t.Errorf("%s: got\n%s\nwant one plain line", command, r.stderr)
		}
		if !remedies.MatchString(r.stderr) {
			t.Errorf("%s: got\n%s\nwant what to do instead", command, r.stderr)
		}
		if r.stdout != "" {
			t.Errorf("%s: got %q on standard output, want nothing", command, r.stdout)
		}
	}
}

// A known command is proposed for a name that differs from it by two letters at most.
func TestAnUnknownCommandIsCorrectedWithinTwoLetters(t *testing.T) {
	t.Parallel()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	for _, tt := range []struct{ given, want string }{
		{"servex", "did you mean `campaignd serve`?"},
		{"servexy", "did you mean `campaignd serve`?"},
		{"servexyz", "`campaignd --help` lists the commands"},
		{"ser", "did you mean `campaignd serve`?"}, // the beginning of a name
	} {
		d.says(2, "", "campaignd: unknown command \""+tt.given+"\"; "+tt.want+"\n", tt.given)
	}
}

func TestNegativeRowsAndTimesAreExitTwo(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	c := d.path("c.yaml")
	d.says(2, "", "campaignd: --settle -1ns is negative\n", "run", c, "--settle", "-1ns")
	d.says(2, "", "campaignd: --settle -1s is negative\n", "demo", "--settle", "-1s")
	for _, list := range []string{"drops", "notifications"} {
		d.says(2, "", "campaignd: --last 0: want 1 to 1000\n", list, "--last", "0")
		d.says(2, "", "campaignd: --last 1001: want 1 to 1000\n", list, "--last", "1001")
	}
	d.says(2, "", "campaignd: --next -1: want 0 to 1000\n", "schedule", "--next", "-1")
	d.says(2, "", "campaignd: --last 1001: want 0 to 1000\n", "schedule", "--last", "1001")
	d.says(2, "", "campaignd: --last 10001: want 1 to 10000\n", "actions", "--last", "10001")
	for _, args := range [][]string{{"preview", c}, {"test", c, "--to", "+2348031234567"}} {
		d.says(2, "", "campaignd: --row 0: rows are counted from 1\n", append(args, "--row", "0")...)
		d.says(2, "", "campaignd: --row -1: rows are counted from 1\n", append(args, "--row", "-1")...)
	}
	d.says(2, "", "campaignd: --lost -1ns is negative\n", "ledger", "quarantine", "--lost", "-1ns")
	d.says(2, "", "campaignd: --ahead -1 is negative\n", "ledger", "quarantine", "--ahead", "-1")
	d.says(2, "", "campaignd: --to is missing: give a number of yours, such as +2348031234567\n", "test", c)
	d.says(2, "", "campaignd: --role: \"none\" is unknown; give all, intake, sender\n", "serve", "--role", "none")
	d.says(2, "", "campaignd: --retry-schedule: \"0s\" is not a duration such as 30s\n", "sandbox", "--retry-schedule", "1s,0s")
	d.says(2, "", "campaignd: `campaignd runs` takes no argument, and \"x\" is one\n", "runs", "x")
	d.env["CAMPAIGND_WEBHOOKS_SECRETS"], d.env["CAMPAIGND_SERVICE_BASE_URL"] = "", "https://api.example.com"
	d.says(2, "", "campaignd: webhooks.secrets is empty, so no event of the service could be verified: "+
		"set CAMPAIGND_WEBHOOKS_SECRETS, or CAMPAIGND_WEBHOOKS_SECRETS_FILE to the file that holds them\n", "serve", "--role", "intake")
	d.env["CAMPAIGND_SERVICE_API_KEY"] = ""
	for _, args := range [][]string{{"run", c}, {"serve"}, {"check", c}, {"preview", c}, {"test", c, "--to", "+2348031234567"}} {
		d.says(2, "", "campaignd: service.api_key is empty: "+
			"set CAMPAIGND_SERVICE_API_KEY, or CAMPAIGND_SERVICE_API_KEY_FILE to the file that holds it; or give cloud.accounts\n", args...)
	}
}
