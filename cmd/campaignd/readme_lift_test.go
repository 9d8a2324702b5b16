//go:build long

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The lines of docs/commerce.md lead from the sandbox to a report with lift. They are run as
// printed; only the ports differ, and the time that a person takes to look.
func TestTheLiftWalkWorksAsPrinted(t *testing.T) {
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
	scenario, err := filepath.Abs("../../testdata/scenarios/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	public, service := freePort(t), freePort(t)
	const begin = "./campaignd sandbox --scenario "
	script := begin + block(t, page(t, "docs/commerce.md"), "```sh\n"+begin)
	for _, change := range [][2]string{
		{begin + "testdata/scenarios/shop.yaml", begin + scenario + " --addr " + service},
		{"127.0.0.1:8080", public}, {"127.0.0.1:8090", service},
		{"sleep 1\n", "until curl -s -o up http://" + service + "/sandbox/stats; do sleep 0.1; done\n"},
		{"launch winback.yaml && sleep 5",
			"launch winback.yaml && until test $(../campaignd report latest --format csv | grep -c wamid) -ge 60; do sleep 0.2; done"},
		{"sleep 2 ", "until ../campaignd launch winback.yaml 2> up; do sleep 0.2; done"},
		{"sleep 15", "until ../campaignd report latest | grep -q 'orders *60'; do sleep 0.5; done"}, {"kill %1 %2", "kill %2 %1; wait"},
	} {
		if !strings.Contains(script, change[0]) {
			t.Fatalf("the lines are %q, want %q in them", script, change[0])
		}
		script = strings.ReplaceAll(script, change[0], change[1])
	}
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, "campaignd")); err != nil {
		t.Fatal(err)
	}
	out := pasted(t, sh, folder, script, "CAMPAIGND_LISTEN_PUBLIC="+public, "CAMPAIGND_LISTEN_ADMIN="+freePort(t),
		"CAMPAIGND_SERVICE_BASE_URL=http://"+service, "CAMPAIGND_SERVICE_API_KEY=sandbox-key", "CAMPAIGND_WEBHOOKS_SECRETS=sandbox-secret")
	wantIn(t, "the lines", out, "2000 rows", "winback-1", "no_consent", "holdout", "\nconversions\n", "\nlift")
	if !regexp.MustCompile(`orders +60 .*\n +people +60 `).MatchString(out) {
		t.Errorf("got %s, want 60 orders of 60 people", out)
	}
}
