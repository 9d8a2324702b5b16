package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/sandbox"
)

// The service keeps a header file for one client. A campaign over the numbers of two clients sends
// to all its recipients, because each client has the file.
func TestEachClientSendsItsOwnHeader(t *testing.T) {
	c := newCluster(t, "HIGH", 15*time.Second)
	o := sandbox.Demo()
	o.Statuses, o.Connections = sandbox.StatusProfile{}, o.Connections[:2]
	o.Connections[1].Company = "co_2"
	var err error
	if c.service, err = sandbox.New(o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c.service)
	t.Cleanup(server.Close)
	c.config.Service.BaseURL = server.URL
	var list strings.Builder
	list.WriteString("phone,name\n")
	const rows = 2 * campaign.SegmentSize / 16 // a short list is spread over both numbers
	for i := range rows {
		fmt.Fprintf(&list, "+234803%07d,Name\n", i)
	}
	for name, text := range map[string]string{
		"banner.jpg": "\xff\xd8\xff\xe0\x00\x10JFIF",
		"list.csv":   list.String(),
		"banner.yaml": fmt.Sprintf(`name: banner
connections: [%s, %s]
template:
  name: spring_sale_banner
  language: en_US
  header: {image: {file: banner.jpg}}
  body: ["{{ .name }}", "10 %%"]
  buttons: [{type: url, text: x}]
recipients: {file: list.csv, columns: {to: phone}}
`, o.Connections[0].ID, o.Connections[1].ID),
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	launched, err := c.replica().schedule.Launch(filepath.Join(c.dir, "banner.yaml"), "").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.send(nil)
	used := map[string]bool{}
	c.until("every row is accepted", func() bool {
		var accepted int
		for line, err := range c.ledger.Lines(t.Context(), launched.Run.No) {
			if err != nil {
				t.Fatal(err)
			}
			if line.Status == campaign.Refused {
				t.Fatalf("row %d over %s: refused (%s), want accepted", line.Row, line.Connection, line.Code)
			}
			if line.Status == campaign.Accepted {
				accepted++
				used[line.Connection] = true
			}
		}
		return accepted == rows
	})
	if len(used) != 2 {
		t.Errorf("sent over %v, want both numbers", used)
	}
}

// A command that sends one run also renews its header file. The first upload ends in 6 days.
func TestRunRenewsItsHeaderFile(t *testing.T) {
	c := newCluster(t, "HIGH", 15*time.Second)
	var uploads atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/media" {
			c.service.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		c.service.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		if uploads.Add(1) == 1 {
			soon := time.Now().Add(6 * 24 * time.Hour).UTC().Format(time.RFC3339)
			body = regexp.MustCompile(`"expiresAt":"[^"]*"`).ReplaceAll(body, []byte(`"expiresAt":"`+soon+`"`))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	c.config.Service.BaseURL = server.URL
	for name, text := range map[string]string{
		"banner.jpg": "\xff\xd8\xff\xe0\x00\x10JFIF",
		"list.csv":   "phone,name\n+2348030000001,Ada\n",
		"banner.yaml": `name: banner
connections: [conn_1]
template:
  name: spring_sale_banner
  language: en_US
  header: {image: {file: banner.jpg}}
  body: ["{{ .name }}", "10 %"]
  buttons: [{type: url, text: x}]
recipients: {file: list.csv, columns: {to: phone}}
`,
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	d := c.replica()
	go func() {
		_, err := d.RunCampaign(ctx, RunOptions{File: filepath.Join(c.dir, "banner.yaml"), Settle: time.Minute})
		ended <- err
	}()
	c.until("the header file is uploaded again", func() bool {
		runs, err := c.ledger.Runs(t.Context(), campaign.RunFilter{})
		return err == nil && len(runs) == 1 && time.Until(runs[0].AssetUntil) > 20*24*time.Hour && uploads.Load() == 2
	})
	stop()
	if err := <-ended; err != nil {
		t.Errorf("RunCampaign = %v, want nil", err)
	}
}
