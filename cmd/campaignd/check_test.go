package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"campaignd/campaign"
)

func TestShellsCompleteRunsAndTheValuesOfFlags(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	if r := d.want(0, "__complete", "report", ""); strings.HasPrefix(r.stdout, "latest") {
		t.Errorf("there is no ledger, and yet: %s", r.stdout)
	}
	if _, err := os.Stat(d.path("campaignd.db")); err == nil {
		t.Error("completion made a ledger")
	}
	d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"report", ""}, "latest\norders-1\n"},
		{[]string{"report", "latest", "--format", ""}, "table\njson\ncsv\n"},
		{[]string{"why", "latest", "-o", ""}, "table\njson\n"},
		{[]string{"suppressions", "add", "--scope", ""}, "marketing\nall\nunreachable\n"},
		{[]string{"run", ""}, "yaml\nyml\n"},
	} {
		if r := d.want(0, append([]string{"__complete"}, tt.args...)...); !strings.HasPrefix(r.stdout, tt.want+":") {
			t.Errorf("%q: %q, want %q", tt.args, r.stdout, tt.want)
		}
	}
}

func TestVersionIsAFlagToo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	if flag, command := d.want(0, "--version").stdout, d.want(0, "version").stdout; flag != command {
		t.Errorf("--version prints %q, version %q", flag, command)
	}
}

// The linker's version comes first, then that of the build information, then the word for neither.
func TestTheVersionNamesBuildAndPlatform(t *testing.T) {
	defer func(before string) { version = before }(version)
	version = "v1.2.3"
	d := &desk{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.says(0, "campaignd v1.2.3 ("+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH+")\n", "", "version")
	d.says(0, fmt.Sprintf("{\n  \"version\": \"v1.2.3\",\n  \"go\": %q,\n  \"os\": %q,\n  \"arch\": %q\n}\n", runtime.Version(), runtime.GOOS, runtime.GOARCH), "", "version", "-o", "json")
	version = ""
	want := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		want = info.Main.Version
	}
	if got := versionNow().Version; got != want {
		t.Errorf("without the linker's version: got %q, want %q", got, want)
	}
}

func TestRejectsNeverOverwriteWhatIsRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	list := listOf(3) + "0803,X,A\n"
	d.write("list.csv", list)
	if err := os.Symlink(d.path("list.csv"), d.path("link.csv")); err != nil {
		t.Fatal(err)
	}
	for _, over := range []string{"list.csv", "link.csv", "c.yaml"} {
		r := d.want(2, "check", d.path("c.yaml"), "--rejects", d.path(over))
		if !strings.Contains(r.stderr, "name another file") {
			t.Errorf("--rejects %s: %s", over, r.stderr)
		}
	}
	for name, want := range map[string]string{"list.csv": list, "c.yaml": campaignFile} {
		if text, err := os.ReadFile(d.path(name)); err != nil || string(text) != want {
			t.Errorf("%s was changed: %q %v", name, text, err)
		}
	}
}

func TestRejectsThatCannotBeWrittenFailTheCheck(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		return // a disk that is always full is Linux's own
	}
	d := newDesk(t, nil)
	d.write("list.csv", listOf(3)+"0803,X,A\n") // one bad row: it stays in the buffer until the end
	if r := d.want(1, "check", d.path("c.yaml"), "--rejects", "/dev/full"); !strings.Contains(r.stderr, "no space left") {
		t.Errorf("check: %s", r.stderr)
	}
}

func TestCheckListsEveryBadRowWithItsLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	bad := strings.Builder{}
	for i := range 60 {
		fmt.Fprintf(&bad, "080312%05d,X,A\n", i)
	}
	d.write("list.csv", listOf(3)+bad.String())
	r := d.want(0, "check", d.path("c.yaml"))
	for i := range 60 {
		if !strings.Contains(r.stdout, fmt.Sprintf("line %d,", 5+i)) {
			t.Errorf("line %d is not listed", 5+i)
		}
	}
	if strings.Contains(r.stdout, "more:") {
		t.Errorf("some rows are left out: %s", r.stdout)
	}
	var p campaign.Preflight
	if err := json.Unmarshal([]byte(d.want(0, "check", d.path("c.yaml"), "-o", "json").stdout), &p); err != nil || len(p.Examples) != 60 {
		t.Errorf("%d rows in the JSON, %v", len(p.Examples), err)
	}
}

func TestCheckNamesEachFaultInALineOfItsOwn(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("c.yaml", `name: orders
connections: [conn_1]
template: {name: spring_sale, language: en_US, body: ["{{ .first_name }}"]}
recipients: {file: list.csv, columns: {to: phone}}
`)
	r := d.want(2, "check", d.path("c.yaml"))
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "the body of the template has 2 variables, and 1 is filled") || !strings.Contains(lines[1], "the template has 1 button of type url with a variable, and 0 are filled") {
		t.Errorf("check: %s", r.stderr)
	}
	if strings.Contains(r.stderr, "more; see") {
		t.Errorf("check refers to itself: %s", r.stderr)
	}
}

func TestWhoeverAsksTheServiceSaysWhatToDoWhenItRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("list.csv", listOf(2))
	commands := [][]string{
		{"check", d.path("c.yaml")},
		{"preview", d.path("c.yaml")},
		{"test", d.path("c.yaml"), "--to", "+2348031299999"},
	}
	d.env["CAMPAIGND_SERVICE_API_KEY"] = "wrong"
	for _, args := range commands {
		if r := d.want(1, args...); !strings.Contains(r.stderr, "check service.api_key") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s with a wrong key: got %q, want one line that names service.api_key", args[0], r.stderr)
		}
	}
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = "http://" + freePort(t)
	for _, args := range commands {
		if r := d.want(1, args...); !strings.Contains(r.stderr, d.env["CAMPAIGND_SERVICE_BASE_URL"]) || !strings.Contains(r.stderr, "campaignd sandbox") {
			t.Errorf("%s without a service: got %q, want its address and the sandbox", args[0], r.stderr)
		}
	}
}
