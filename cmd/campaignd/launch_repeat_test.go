package main

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"testing"

	"campaignd/internal/client"
	"campaignd/internal/client/resource"
)

// A program whose first answer was lost asks for the new run once more, perhaps after that run has
// ended.
func TestARepeatedLaunchSendsNothingTwice(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.serving()
	access, err := client.ReadAccess(d.path("campaignd.db.api"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := launchNew(t, access, "monday", d.path("c.yaml"), d.path("list.csv"))
		if got.Run.ID != "orders-1" {
			t.Errorf("got the run %s, want orders-1", got.Run.ID)
		}
		d.eventually("the runs are finished", func() bool { return d.runs()[0].State == "finished" })
	}
	if got := d.accepted(); got != 40 {
		t.Errorf("got %d messages to 40 recipients, want 40", got)
	}
}

// launchNew posts a launch with new=true and an Idempotency-Key.
func launchNew(t *testing.T, a client.Access, key, campaign, list string) resource.Launched {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, part := range [][2]string{{"campaign", campaign}, {"list", list}} {
		text, err := os.ReadFile(part[1])
		if err != nil {
			t.Fatal(err)
		}
		w, err := form.CreateFormFile(part[0], "file.csv")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(text)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+"/api/v1/runs?new=true", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct {
		Data    resource.Launched
		Message string
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("got %s, %q (%v), want 2xx", res.Status, out.Message, err)
	}
	return out.Data
}

// A corrected campaign sends nothing while its list has an ended run: the command says so.
func TestAChangedFileOfAnEndedRunIsTold(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.write("c.yaml", campaignFile+"limits: {rate: 7}\n")
	if r := d.want(0, "run", d.path("c.yaml")); !strings.Contains(r.stderr, "--new launches another run of this list\n"+
		"campaignd: the campaign file has changed since then: limits.rate: was not set, is 7\n") {
		t.Errorf("run: got %q, want what has changed", r.stderr)
	}
}
