package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
)

// clientCalls has a call of package client for each route, by the operationId of the document.
var clientCalls = map[string]func(ctx context.Context, t *testing.T, c *client.Client) error{
	"runs": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.Runs(ctx, campaign.RunFilter{Limit: 1})
	}),
	"run":     calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Run(ctx, "spring-1") }),
	"pause":   calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Pause(ctx, "spring-1") }),
	"resume":  calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Resume(ctx, "spring-1") }),
	"cancel":  calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Cancel(ctx, "spring-1") }),
	"approve": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Approve(ctx, "spring-1") }),
	"limits":  calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Limits(ctx, "spring-1") }),
	"change-limits": calls(func(ctx context.Context, c *client.Client) (any, error) {
		weight := 4
		return c.ChangeLimits(ctx, "spring-1", campaign.LimitChange{Weight: &weight})
	}),
	"why": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Why(ctx, "spring-1") }),
	"why-recipient": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.WhyRecipient(ctx, "spring-1", "+2348031234570")
	}),
	"report": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Report(ctx, "spring-1") }),
	"audit":  calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Audit(ctx, "spring-1") }),
	"doubts": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Doubts(ctx, "spring-1") }),
	"follow-up": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.FollowUp(ctx, "spring-1", resource.FollowUpRequest{Where: []string{"failed"}})
	}),
	"history": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.History(ctx, "spring-1") }),
	"series": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.Series(ctx, "spring-1", 5*time.Minute)
	}),
	"forecast": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Forecast(ctx, "spring-1") }),
	"report-html": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.ReportHTML(ctx, "spring-1", true, io.Discard)
	}),
	"export": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.Export(ctx, "spring-1", io.Discard)
	}),
	"deliveries": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.Deliveries(ctx, "spring-1", resource.DeliveryFilter{Limit: 2})
	}),
	"why-number":     calls(func(ctx context.Context, c *client.Client) (any, error) { return c.WhyNumber(ctx, "conn_1") }),
	"templates":      calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Templates(ctx, "conn_1") }),
	"sync-templates": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.SyncTemplates(ctx, "conn_1") }),
	"media":          calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Media(ctx, "") }),
	"numbers":        calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Numbers(ctx) }),
	"holds":          calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Holds(ctx, true) }),
	"add-hold": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.AddHold(ctx, resource.HoldRequest{Scope: campaign.HoldConnection, ID: "conn_1"})
	}),
	"lift-holds": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.LiftHolds(ctx, resource.LiftRequest{Scope: campaign.HoldConnection, ID: "conn_1"})
	}),
	"suppressions": calls(func(ctx context.Context, c *client.Client) (any, error) {
		all, _, err := c.Suppressions(ctx, "", "", 10)
		return all, err
	}),
	"suppression": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.ShowSuppressions(ctx, "+2348031234570")
	}),
	"add-suppressions": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.AddSuppressions(ctx, []string{"+2348031234570"}, campaign.ScopeAll)
	}),
	"remove-suppressions": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.RemoveSuppressions(ctx, []string{"+2348031234570"}, "")
	}),
	"import-suppressions": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.ImportSuppressions(ctx, strings.NewReader("to\n+2348031200003\n"), resource.SuppressionImport{File: "crm.csv", Source: "crm"})
	}),
	"export-suppressions": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.ExportSuppressions(ctx, io.Discard)
	}),
	"keys": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Keys(ctx) }),
	"create-key": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.CreateKey(ctx, "ci", "read", "", "once")
	}),
	"revoke-key": func(ctx context.Context, _ *testing.T, c *client.Client) error {
		all, err := c.Keys(ctx)
		for _, k := range all {
			if k.Name == "read" {
				_, err = c.RevokeKey(ctx, k.ID)
			}
		}
		return err
	},
	"person": calls(func(ctx context.Context, c *client.Client) (any, error) {
		page, _, err := c.Person(ctx, "+2348031234570", 0, 10)
		return page, err
	}),
	"export-person": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.ExportPerson(ctx, "+2348031234570")
	}),
	"actions": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.Actions(ctx, campaign.ActionFilter{Limit: 5})
	}),
	"campaigns": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Campaigns(ctx) }),
	"campaign":  calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Campaign(ctx, "spring-1") }),
	"check":     calls(func(ctx context.Context, c *client.Client) (any, error) { return c.CheckCampaign(ctx, "spring-1") }),
	"forecast-campaign": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.ForecastCampaign(ctx, "spring-1")
	}),
	"schedules": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Schedule(ctx, "", 1, 1) }),
	"drops": calls(func(ctx context.Context, c *client.Client) (any, error) {
		all, _, err := c.Drops(ctx, 0, 10)
		return all, err
	}),
	"notifications": calls(func(ctx context.Context, c *client.Client) (any, error) {
		return c.Notifications(ctx, campaign.NotificationWaiting, 10)
	}),
	"notification":      calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Notification(ctx, 1) }),
	"send-notification": calls(func(ctx context.Context, c *client.Client) (any, error) { return c.SendNotification(ctx, 1) }),
	"erase":             calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Erase(ctx, "+2348031239999") }),
	"drop":              calls(func(ctx context.Context, c *client.Client) (any, error) { return c.Drop(ctx, 1) }),
	"launch": uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		l.New, l.Once = true, "x"
		_, err := c.Launch(ctx, l)
		return err
	}),
	"check-upload": uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		_, err := c.Check(ctx, l)
		return err
	}),
	"forecast-upload": uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		_, err := c.ForecastLaunch(ctx, l)
		return err
	}),
	"preview": uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		_, err := c.Preview(ctx, l, 1)
		return err
	}),
	"send-test": uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		_, err := c.SendTest(ctx, l, 1, "+2348031234567")
		return err
	}),
	"rejects": uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		return c.Rejects(ctx, l, io.Discard)
	}),
	"begin-upload": func(ctx context.Context, t *testing.T, c *client.Client) error {
		_, err := c.BeginUpload(ctx)
		return err
	},
	"upload-head": func(ctx context.Context, t *testing.T, c *client.Client) error {
		_, err := c.ListHead(ctx, staged(ctx, t, c))
		return err
	},
	"upload": func(ctx context.Context, t *testing.T, c *client.Client) error {
		_, err := c.Upload(ctx, staged(ctx, t, c))
		return err
	},
	"upload-part": func(ctx context.Context, t *testing.T, c *client.Client) error {
		staged(ctx, t, c)
		return nil
	},
	"remove-upload": func(ctx context.Context, t *testing.T, c *client.Client) error {
		return c.RemoveUpload(ctx, staged(ctx, t, c))
	},
}

// staged uploads a list as a part, and returns its hash.
func staged(ctx context.Context, t *testing.T, c *client.Client) string {
	t.Helper()
	text := "phone\n+4930" + t.Name() + "\n"
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	u, err := c.UploadPart(ctx, hash, 0, strings.NewReader(text))
	if err != nil || u.Received != int64(len(text)) {
		t.Fatalf("got %+v and %v, want %d bytes", u, err, len(text))
	}
	return hash
}

// uploading calls do with the files of a launch.
func uploading(do func(context.Context, *client.Client, client.Launch) error) func(context.Context, *testing.T, *client.Client) error {
	return func(ctx context.Context, t *testing.T, c *client.Client) error {
		dir := t.TempDir()
		for name, text := range map[string]string{"c.yaml": "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\n",
			"l.csv": "phone\n+2348031234570\n0803\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
		return do(ctx, c, client.Launch{Campaign: filepath.Join(dir, "c.yaml"), List: filepath.Join(dir, "l.csv")})
	}
}

// An upload that is only checked leaves no file, and its caller reads the names of its own files.
func TestAnUploadIsTried(t *testing.T) {
	w := newWorld(t)
	c, _ := clientOf(t, w, "operate")
	err := uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		found, err := c.Check(ctx, l)
		if err != nil {
			return err
		}
		if len(found.Findings) != 1 || found.Campaign != "spring" || found.List != "l.csv" ||
			found.Findings[0].Where != "c.yaml:3" || found.Findings[0].What != "l.csv is short" {
			t.Errorf("got %+v, want the findings of c.yaml and l.csv by their own names", found)
		}
		return nil
	})(t.Context(), t, c)
	if left, _ := os.ReadDir(w.process.Uploads.Dir()); err != nil || len(left) != 0 {
		t.Errorf("got %v and the files %v, want none", err, left)
	}
	other, _ := clientOf(t, w, "other")
	err = uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		_, err := c.Check(ctx, l)
		return err
	})(t.Context(), t, other)
	var told *client.Error
	if !errors.As(err, &told) || told.Status != 403 {
		t.Errorf("a key of one company: got %v, want 403", err)
	}
}

func calls(do func(context.Context, *client.Client) (any, error)) func(context.Context, *testing.T, *client.Client) error {
	return func(ctx context.Context, _ *testing.T, c *client.Client) error {
		_, err := do(ctx, c)
		return err
	}
}

// asked notes the routes that were asked for, and the statuses of the answers.
type asked struct {
	w *world

	mu       sync.Mutex
	routes   []string
	statuses []int
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, pattern := a.w.mux.Handler(r)
	told := &statusOf{ResponseWriter: w, status: http.StatusOK}
	a.w.ServeHTTP(told, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.routes, a.statuses = append(a.routes, pattern), append(a.statuses, told.status)
}

type statusOf struct {
	http.ResponseWriter
	status int
}

func (s *statusOf) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusOf) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// clientOf returns a client of a world, with a key of a name.
func clientOf(t *testing.T, w *world, key string) (*client.Client, *asked) {
	t.Helper()
	a := &asked{w: w}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, w.keys[key], client.Options{HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c, a
}

func TestEachRouteHasAMethodOfTheClient(t *testing.T) {
	w := newWorld(t)
	c, a := clientOf(t, w, "admin")
	for _, d := range w.documented() {
		if d.op.OperationID == "events" { // TestTheClientReadsEvents
			continue
		}
		do := clientCalls[d.op.OperationID]
		if do == nil {
			t.Errorf("%s %s: got no method of package client for %s, want one", d.method, d.path, d.op.OperationID)
			continue
		}
		t.Run(d.op.OperationID, func(t *testing.T) {
			err := do(t.Context(), t, c)
			var told *client.Error
			if err != nil && (!errors.As(err, &told) || told.Code != client.CodeNotNow) {
				t.Errorf("got %v, want an answer of the route", err)
			}
			want := d.method + " " + d.path
			if len(a.routes) == 0 || a.routes[len(a.routes)-1] != want {
				t.Errorf("got the routes %v, want %s", a.routes, want)
			}
		})
	}
}

func TestAListThatHasNotChangedIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	c, a := clientOf(t, w, "read")
	for range 2 {
		if runs, err := c.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 2 {
			t.Errorf("got %d runs (%v), want 2", len(runs), err)
		}
	}
	if a.statuses[0] != 200 || a.statuses[1] != 304 {
		t.Errorf("got the statuses %v, want 200 and 304", a.statuses)
	}
}

func TestEachPageOfTheClientFollowsTheLast(t *testing.T) {
	w := newWorld(t)
	c, _ := clientOf(t, w, "read")
	var rows []int64
	for f := (resource.DeliveryFilter{Limit: 7}); ; {
		page, err := c.Deliveries(t.Context(), "spring-1", f)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Deliveries {
			rows = append(rows, d.Row)
		}
		if f.After = page.Next; page.Next == 0 {
			break
		}
	}
	if len(rows) != 40 || rows[0] >= rows[39] {
		t.Errorf("got %d rows %v, want the 40 of the list in order", len(rows), rows)
	}
	var told *client.Error
	_, err := c.Deliveries(t.Context(), "spring-9", resource.DeliveryFilter{})
	if !errors.As(err, &told) || told.Code != client.CodeNotFound || told.RequestID == "" || !told.Invalid() || told.Temporary() {
		t.Errorf("a run that is not there: got %v, want not_found with the id of the request", err)
	}
}
