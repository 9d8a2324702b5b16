package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"campaignd/internal/messaging/service"
	"campaignd/internal/sandbox"
)

// files lists the ids of the files that a command prints as JSON.
func (d *fixture) files(args ...string) (ids []string) {
	d.t.Helper()
	var all []service.File
	text := []byte(d.want(0, append(args, "-o", "json")...).stdout)
	if args[1] == "prune" {
		var found pruned
		if err := json.Unmarshal(text, &found); err != nil {
			d.t.Fatal(err)
		}
		all = found.Files
	} else if err := json.Unmarshal(text, &all); err != nil {
		d.t.Fatal(err)
	}
	for _, f := range all {
		ids = append(ids, f.ID)
	}
	return ids
}

// A run that is not finished keeps its file, whoever uploaded it.
func TestAPruneKeepsTheFilesOfUnfinishedRuns(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) {
		o.Timeline = []sandbox.Step{{AfterMessages: 5, Template: "spring_sale_banner", Status: "paused"}}
	})
	d.oneLineOf(2, []string{"there is no ledger"}, "media", "prune")
	banner := d.write("banner.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 1000))
	d.oneLineOf(2, []string{"--connection"}, "media", "upload", banner)
	d.want(2, "media", "upload", d.write("banner.pdf", "no document"), "--connection", "conn_1")
	asset := strings.TrimSpace(d.want(0, "media", "upload", banner, "--connection", "conn_1").stdout)
	left := strings.TrimSpace(d.want(0, "media", "upload", banner, "--connection", "conn_1").stdout)
	file := d.write("banner.yaml", `name: banner
connections: [conn_1]
template:
  name: spring_sale_banner
  language: en_US
  header: {image: {assetId: `+asset+`}}
  body: ["{{ .first_name }}", "{{ .order }}"]
  buttons: [{type: url, text: "{{ .order }}"}]
recipients: {file: list.csv, columns: {to: phone}}
`)
	d.want(3, "run", file, "--settle", "0s") // the template is paused
	all := d.files("media", "list")
	if got := d.files("media", "prune"); slices.Contains(got, asset) || !slices.Contains(got, left) || len(got) != len(all)-1 {
		t.Errorf("got %q to prune, want all of %q without %s of the run", got, all, asset)
	}
	if got := d.files("media", "list"); !slices.Equal(got, all) {
		t.Errorf("got %q after a prune without --yes, want %q", got, all)
	}
	d.want(0, "media", "prune", "--yes")
	if got := d.files("media", "list"); !slices.Equal(got, []string{asset}) {
		t.Errorf("got %q after the prune, want %s alone", got, asset)
	}
	d.want(2, "media", "list", "--connection", "nobody")
}
