//go:build long

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The lines of docs/templates.md push a template, see it rejected, correct it, have it approved,
// send it and compare it. They are run as they are printed; only the ports differ.
func TestTheTemplatesWalkWorksAsPrinted(t *testing.T) {
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
	public, service := freePort(t), freePort(t)
	lines := "mkdir templates" + block(t, page(t, "docs/templates.md"), "```sh\nmkdir templates")
	if _, after, _ := strings.Cut(lines, "\nEOF\n"); strings.Count(after, "\n") != 6 {
		t.Errorf("got %q, want six lines after the file", after)
	}
	for _, change := range [][2]string{{"127.0.0.1:8090", service}, {"run autumn.yaml", "run autumn.yaml --settle 15s"}} {
		if !strings.Contains(lines, change[0]) {
			t.Fatalf("the lines are %q, want %q in them", lines, change[0])
		}
		lines = strings.Replace(lines, change[0], change[1], 1)
	}
	script := "./campaignd sandbox --addr " + service + " --webhook http://" + public + "/webhooks/messaging 2> sandbox.log &\n" +
		"until curl -s -o up http://" + service + "/sandbox/stats; do sleep 0.1; done\n" +
		"./campaignd init first && cd first\n" + lines + "kill %1; wait\n"
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, "campaignd")); err != nil {
		t.Fatal(err)
	}
	out := pasted(t, sh, folder, script, "CAMPAIGND_LISTEN_PUBLIC="+public, "CAMPAIGND_LISTEN_ADMIN="+freePort(t),
		"CAMPAIGND_SERVICE_BASE_URL=http://"+service, "CAMPAIGND_SERVICE_API_KEY=sandbox-key", "CAMPAIGND_WEBHOOKS_SECRETS=sandbox-secret")
	wantIn(t, "the lines", out, "autumn_sale.en_US.yaml  created  PENDING",
		"autumn_sale in en_US is REJECTED (MARKETING): INVALID_FORMAT",
		"autumn_sale.en_US.yaml  edited  PENDING", "autumn_sale in en_US is APPROVED (MARKETING)", "12 rows",
		"1 of 1 template file is as at the service", "template autumn_sale en_US by day (UTC), as counted here and at the service")
}
