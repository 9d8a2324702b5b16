package api

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/messaging"
)

// tester is a service that accepts each message and lists no templates.
type tester struct{ messaging.Service }

func (tester) Templates(context.Context, string) ([]messaging.TemplateRecord, error) {
	return nil, messaging.ErrNotOffered
}

func (tester) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	return messaging.Receipt{MessageID: "wamid.to" + m.To, RequestID: "req_1"}, nil
}

func TestTheRowsOfAnUploadAreShownAndTested(t *testing.T) {
	w := newWorld(t)
	c, _ := clientOf(t, w, "operate")
	if err := uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		s, err := c.Preview(ctx, l, 0)
		if err != nil || s.Row != 1 || s.To != "+2348031234570" || s.Message == nil || s.Message.ConnectionID != "conn_1" {
			t.Errorf("preview: got %+v, %v; want the message of row 1", s, err)
		}
		if s, err = c.Preview(ctx, l, 2); err != nil || s.Skip != campaign.InvalidPhone {
			t.Errorf("preview of row 2: got %+v, %v; want why it is not sent", s, err)
		}
		var told *client.Error
		if _, err = c.Preview(ctx, l, 9); !errors.As(err, &told) || told.Status != 404 || strings.Contains(told.Message, os.TempDir()) {
			t.Errorf("preview of a row that is not there: got %v, want 404 without a folder", err)
		}
		sent, err := c.SendTest(ctx, l, 1, "+2348031239999")
		if err != nil || sent.To != "+2348031239999" || sent.MessageID != "wamid.to+2348031239999" {
			t.Errorf("test: got %+v, %v; want the receipt of the message to the number that was given", sent, err)
		}
		if _, err = c.SendTest(ctx, l, 1, "0803"); !errors.As(err, &told) || told.Status != 400 {
			t.Errorf("test to no number: got %v, want 400", err)
		}
		if _, err := w.session.AddSuppressions(ctx, []string{"+2348031239999"}, campaign.ScopeAll); err != nil {
			return err
		}
		if _, err = c.SendTest(ctx, l, 1, "+2348031239999"); !errors.As(err, &told) || told.Status != 400 ||
			!strings.Contains(told.Message, "suppression list") {
			t.Errorf("test to a suppressed number: got %v, want 400 with the suppression", err)
		}
		var rejects bytes.Buffer
		if err := c.Rejects(ctx, l, &rejects); err != nil {
			return err
		}
		want := "phone,reject_line,reject_reason,reject_note\n"
		got := rejects.String()
		if !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 2 || !strings.Contains(got, ",3,invalid_phone,") {
			t.Errorf("rejects: got %q, want row 2 with its line and reason", got)
		}
		return nil
	})(t.Context(), t, c); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(w.process.Uploads.Dir()); len(left) != 0 {
		t.Errorf("got the files %v, want none", left)
	}
	actions, err := w.session.Actions(t.Context(), campaign.ActionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	for _, a := range actions {
		if a.What == "test message" {
			tests = append(tests, a.On+" "+a.Detail)
		}
	}
	if len(tests) != 1 || strings.Contains(tests[0], "2348031239999") || !strings.HasPrefix(tests[0], "spring to +23480") {
		t.Errorf("log of actions: got %q, want the one test with its number masked", tests)
	}
	reader, _ := clientOf(t, w, "read")
	if err := uploading(func(ctx context.Context, c *client.Client, l client.Launch) error {
		_, err := c.SendTest(ctx, l, 1, "+2348031239998")
		return err
	})(t.Context(), t, reader); err == nil || !strings.Contains(err.Error(), "scope operate") {
		t.Errorf("test with a key that reads: got %v, want that it needs the scope operate", err)
	}
}
