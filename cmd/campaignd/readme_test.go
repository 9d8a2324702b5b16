package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// actAsCampaignd makes the test binary run as campaignd (see TestMain).
const actAsCampaignd = "TEST_BINARY_IS_CAMPAIGND"

// block returns the rest of the first code block of a page that begins with first.
func block(t *testing.T, page, first string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, first)
	text, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("the page has no block that begins with %q, want one", first)
	}
	return text
}

func readme(t *testing.T) string { return page(t, "README.md") }

// page returns the text of a document of the repository.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every shell block of the README is run: the first by the gate itself, the other by the test
// below.
func TestEveryShellBlockOfTheReadmeIsRun(t *testing.T) {
	t.Parallel()
	var got []string
	for _, block := range strings.Split(readme(t), "```sh\n")[1:] {
		line, _, _ := strings.Cut(block, "\n")
		command, _, _ := strings.Cut(line, " #")
		got = append(got, strings.TrimSpace(command))
	}
	if want := []string{"go run ./cmd/campaignd demo", "go build ./cmd/campaignd"}; !slices.Equal(got, want) {
		t.Errorf("the blocks begin with %q, want %q: a new block needs a test that runs it", got, want)
	}
	for _, command := range []string{"./campaignd demo", "go test -v -vet=off -timeout 30m ./..."} {
		if !strings.Contains(page(t, ".ci/run"), command) {
			t.Errorf("the gate does not run %q, want it to: the README says so", command)
		}
	}
}

// The commands of the README are run as they are printed, in an empty folder. Only the ports
// differ, and the time that a person takes to look.
func TestTheReadmesWalkWorksAsPrinted(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	public, admin, service := freePort(t), freePort(t), freePort(t)
	script := block(t, readme(t), "```sh\ngo build ./cmd/campaignd\n")
	// The walk of docs/operations.md#dropped-files goes on in the folder of the first, before its
	// sandbox ends.
	drops := "mkdir campaigns inbox" + block(t, page(t, "docs/operations.md"), "```sh\nmkdir campaigns inbox") +
		"until test -e inbox/done/new.csv.report.csv -a -e inbox/rejected/again.csv; do sleep 0.1; done\n../campaignd drops; kill %%\n"
	script = strings.Replace(script, "# The sandbox ends.\n", drops, 1) + "wait\n"
	for _, change := range [][2]string{
		{"until test", "until test"}, {"127.0.0.1:8080", public},
		{"./campaignd sandbox ", "./campaignd sandbox --addr " + service + " "},
		{"run spring.yaml", "run spring.yaml --settle 1m"},
	} {
		if !strings.Contains(script, change[0]) {
			t.Fatalf("the walk is %q, want %q in it", script, change[0])
		}
		script = strings.Replace(script, change[0], change[1], 1)
	}
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, "campaignd")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh, "-e", "-m", "-c", script)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), actAsCampaignd+"=1", "CAMPAIGND_LISTEN_PUBLIC="+public, "CAMPAIGND_LISTEN_ADMIN="+admin,
		"CAMPAIGND_SERVICE_BASE_URL=http://"+service, "CAMPAIGND_SERVICE_API_KEY=sandbox-key", "CAMPAIGND_WEBHOOKS_SECRETS=sandbox-secret")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("the walk ended with %v, want exit code 0:\n%s", err, &out)
	}
	wantIn(t, "the walk", out.String(), "12 rows, 10 can be sent", "line 12, column \"phone\"", "the sum balances: 12 rows", "spring-sale-2",
		"had numbers of this list")
	outcomes, err := os.ReadFile(filepath.Join(folder, "first", "outcomes.csv"))
	if got := bytes.Count(outcomes, []byte("\n")); err != nil || got != 13 {
		t.Errorf("outcomes.csv: got %d lines and %v, want 13", got, err)
	}
}

// pasted runs lines of a page in a folder, with env besides, and returns what they print.
func pasted(t *testing.T, sh, dir, script string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh, "-e", "-m", "-c", script)
	cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), []string{actAsCampaignd + "=1"}, env)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("the lines ended with %v, want exit code 0:\n%s", err, &out)
	}
	return out.String()
}

// The six requests of docs/commerce.md are run as they are printed, and end with a paid order.
// Only the port differs.
func TestTheShopWalkWorksAsPrinted(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	address := freePort(t)
	const begin = "go run ./cmd/campaignd sandbox 2>"
	script := begin + block(t, page(t, "docs/commerce.md"), "```sh\n"+begin)
	if got := strings.Count(script, "\ncurl "); got != 6 {
		t.Errorf("got %d lines of curl, want 6", got)
	}
	for _, change := range [][2]string{
		{"go run ./cmd/campaignd sandbox", self + " sandbox --addr " + address}, {"127.0.0.1:8090", address}, {"kill %%", "kill %%; wait"},
	} {
		if !strings.Contains(script, change[0]) {
			t.Fatalf("the script is %q, want %q in it", script, change[0])
		}
		script = strings.ReplaceAll(script, change[0], change[1])
	}
	out := pasted(t, sh, t.TempDir(), script)
	// 2 boots of 49.90 less 10 % are 89.82; the tax of 19.25 % is that of 99.80: 19.21.
	wantIn(t, "the requests", out, `"handle":"demo"`, `"title":"Scarf"`, `"code":"TEN"`, `"url":"http://`+address+`/pay/`,
		`"amount":109.03,"amount_due":0,`, `"status":"paid"`)
}

func TestTheFirstMessageWalkWorksAsPrinted(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	address := freePort(t)
	const begin = "go run ./cmd/campaignd sandbox --api cloud"
	script := begin + block(t, page(t, "docs/cloud.md"), "```sh\n"+begin)
	// Neither the sandbox nor the wait for it is of a real account.
	if lines := strings.Count(strings.TrimSuffix(block(t, page(t, "docs/cloud.md"), "```sh\n"+begin), "kill %%\n"), "\n") - 2; lines > 8 {
		t.Errorf("got %d lines from a test number to a first message, want at most 8", lines)
	}
	for _, change := range [][2]string{
		{begin, self + " sandbox --api cloud --addr " + address}, {"127.0.0.1:8090", address}, {"kill %%", "kill %%; wait"},
		{"go build -o campaignd ./cmd/campaignd && ./campaignd", self}, {"../campaignd", self},
	} {
		if !strings.Contains(script, change[0]) {
			t.Fatalf("the script is %q, want %q in it", script, change[0])
		}
		script = strings.ReplaceAll(script, change[0], change[1])
	}
	out := pasted(t, sh, t.TempDir(), script)
	wantIn(t, "the lines", out, "account 200000000000001 posts its events", "4 numbers in 1 account", "v25.0 ends on 2028-07-29",
		"accepted by the service for +15555550199: wamid.")
}

func TestTheReadmeShowsTheCampaignOfInit(t *testing.T) {
	t.Parallel()
	shown := block(t, readme(t), "```yaml\n# spring.yaml\n")
	written, err := startFiles.ReadFile("start/spring.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(string(written), "\n") // without its first comment
	if shown != want {
		t.Errorf("the README shows\n%s\nwant what init writes:\n%s", shown, want)
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	t.Parallel()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.write("list.csv", "mine")
	r := d.want(2, "init", d.dir)
	wantIn(t, "init", r.stderr, "list.csv exists already, so nothing was written")
	files, err := os.ReadDir(d.dir)
	if err != nil || len(files) != 1 {
		t.Errorf("got %d files and %v, want list.csv alone", len(files), err)
	}
	if text, _ := os.ReadFile(d.path("list.csv")); string(text) != "mine" {
		t.Errorf("list.csv has %q, want %q", text, "mine")
	}
	d.want(0, "init", d.path("first"))
	d.want(2, "init", d.path("first"))
	d.want(2, "init", "a", "b")
}
