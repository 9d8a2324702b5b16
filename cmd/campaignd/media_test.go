package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// A file that somebody else deletes meanwhile does not stop a prune; a service that does not delete
// does.
func TestAPruneToleratesAFileThatIsGone(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	for range 3 {
		d.want(0, "media", "upload", d.write("banner.png", "\x89PNG\r\n\x1a\nx"), "--connection", "conn_1")
	}
	service, err := url.Parse(d.env["CAMPAIGND_SERVICE_BASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(service)
	var once sync.Once
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			once.Do(func() { proxy.ServeHTTP(httptest.NewRecorder(), r.Clone(r.Context())) })
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = front.URL
	d.write("campaignd.yaml", `service: {assumed: {paths: {media_delete: "DELETE /absent/{id}"}}}`)
	d.oneLineOf(1, []string{"0 before it were", "does not offer media_delete here (see service.assumed.paths)"},
		"media", "prune", "--yes", "--config", d.path("campaignd.yaml"))
	once = sync.Once{}
	wantIn(t, "prune", d.want(0, "media", "prune", "--yes").stderr, "3 files were deleted; 1 had been deleted already")
	if left := d.files("media", "list"); len(left) != 0 {
		t.Errorf("after the prune: got %q, want no file", left)
	}
}

// A file that cannot be deleted does not keep the others.
func TestAPruneGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	for range 5 { // beside the file of the run
		d.want(0, "media", "upload", d.write("banner.png", "\x89PNG\r\n\x1a\nx"), "--connection", "conn_1")
	}
	service, err := url.Parse(d.env["CAMPAIGND_SERVICE_BASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	var deletions, refused atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(service)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && deletions.Add(1) <= refused.Load() {
			http.Error(w, `{"error": "invalid_request", "message": "not this one"}`, http.StatusBadRequest)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = front.URL
	for _, c := range []struct {
		refused  int64
		deletes  string
		left     int
		requests int64
	}{{3, "0 files were deleted", 6, 3}, {1, "5 files were deleted", 1, 6}} {
		deletions.Store(0)
		refused.Store(c.refused)
		said := d.want(1, "media", "prune", "--yes").stderr
		wantIn(t, fmt.Sprintf("%d refused", c.refused), said, c.deletes, "was not deleted, 0 before it were")
		if left := d.files("media", "list"); len(left) != c.left || deletions.Load() != c.requests {
			t.Errorf("%d refused: got %q after %d requests, want %d files and %d requests", c.refused, left, deletions.Load(), c.left, c.requests)
		}
	}
}

// Over the Cloud API a file is uploaded for one number, which then sends it. The platform lists and
// deletes no files.
func TestAFileIsUploadedOverTheCloudAPI(t *testing.T) {
	t.Parallel()
	d := overCloud(t, newFixture(t, func(o *sandbox.Options) { o.API = sandbox.APICloud }))
	banner := d.write("banner.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 1000))
	d.oneLineOf(2, []string{"4 connections", "--connection"}, "media", "upload", banner)
	d.oneLineOf(1, []string{"conn_9", "cloud.accounts"}, "media", "upload", banner, "--connection", "conn_9")
	asset := strings.TrimSpace(d.want(0, "media", "upload", banner, "--connection", "conn_1").stdout)
	d.write("c.yaml", `name: banner
connections: [conn_1]
template:
  name: spring_sale_banner
  language: en_US
  header: {image: {assetId: "`+asset+`"}}
  body: ["{{ .first_name }}", "{{ .order }}"]
  buttons: [{type: url, text: "{{ .order }}"}]
recipients: {file: list.csv, columns: {to: phone}}
`)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	if n := d.accepted(); n != 40 {
		t.Errorf("the platform took %d messages with the file, want 40", n)
	}
	two := strings.Replace(d.text("c.yaml"), "connections: [conn_1]", "connections: [conn_1, '300000000000002']", 1)
	d.write("c.yaml", two)
	wantIn(t, "an id for two numbers", d.want(2, "run", d.path("c.yaml"), "--new").stderr, "one number alone can send a stored file",
		"give file")
	d.write("c.yaml", strings.Replace(two, `assetId: "`+asset+`"`, "file: banner.png", 1))
	d.want(0, "run", d.path("c.yaml"), "--new", "--settle", "1m")
	if n := d.accepted(); n != 80 {
		t.Errorf("the platform took %d messages after a run over two numbers with a file, want 80", n)
	}
	for _, command := range []string{"media list", "media prune", "webhooks list", "suppressions sync --connection conn_1"} {
		d.oneLineOf(2, []string{"the Cloud API does not offer this", "CAMPAIGND_SERVICE_API_KEY"}, strings.Fields(command)...)
	}
	d.oneLineOf(2, []string{"dashboard of the app", "give none here"}, "webhooks", "register", "https://hooks.example/webhooks/messaging")
	d.oneLineOf(2, []string{"the Cloud API", "does not offer media_list"}, "media", "list", "--connection", "conn_1")
}
