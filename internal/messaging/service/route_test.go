package service

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/operations"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// rowCalls has one call of each operation of the table. The id of a path is r1.
var rowCalls = map[string]func(context.Context, *Client) error{
	"messages":    func(ctx context.Context, c *Client) error { _, err := c.Send(ctx, hello); return err },
	"connections": func(ctx context.Context, c *Client) error { _, err := c.Connections(ctx); return err },
	"connection":  func(ctx context.Context, c *Client) error { _, err := c.Connection(ctx, "r1"); return err },
	"numbers":     func(ctx context.Context, c *Client) error { _, err := c.Numbers(ctx); return err },
	"number":      func(ctx context.Context, c *Client) error { _, err := c.Number(ctx, "r1"); return err },
	"companies":   func(ctx context.Context, c *Client) error { _, err := c.Companies(ctx); return err },
	"company":     func(ctx context.Context, c *Client) error { _, err := c.Company(ctx, "r1"); return err },
	"templates":   func(ctx context.Context, c *Client) error { _, err := c.Templates(ctx, "c1"); return err },
	"template":    func(ctx context.Context, c *Client) error { _, err := c.Template(ctx, "r1"); return err },
	"template_create": func(ctx context.Context, c *Client) error {
		_, err := c.CreateTemplate(ctx, "c1", sale, "")
		return err
	},
	"template_edit": func(ctx context.Context, c *Client) error {
		_, err := c.EditTemplate(ctx, "r1", sale.Components, "")
		return err
	},
	"template_delete":  func(ctx context.Context, c *Client) error { return c.DeleteTemplate(ctx, "r1") },
	"template_sync":    func(ctx context.Context, c *Client) error { _, err := c.SyncTemplates(ctx, "c1"); return err },
	"template_library": func(ctx context.Context, c *Client) error { _, err := c.TemplateLibrary(ctx, "sale"); return err },
	"template_analytics": func(ctx context.Context, c *Client) error {
		_, err := c.TemplateAnalytics(ctx, "r1", noon, noon)
		return err
	},
	"media":         func(ctx context.Context, c *Client) error { return uploadOf(ctx, c) },
	"media_list":    func(ctx context.Context, c *Client) error { _, err := c.Files(ctx, "c1"); return err },
	"media_delete":  func(ctx context.Context, c *Client) error { return c.DeleteFile(ctx, "r1") },
	"media_storage": func(ctx context.Context, c *Client) error { _, err := c.Storage(ctx, "c1"); return err },
	"campaigns":     func(ctx context.Context, c *Client) error { _, err := c.Campaigns(ctx); return err },
	"campaign":      func(ctx context.Context, c *Client) error { _, err := c.Campaign(ctx, "r1"); return err },
	"campaign_create": func(ctx context.Context, c *Client) error {
		_, err := c.CreateCampaign(ctx, "c1", "x", CampaignSends{}, nil)
		return err
	},
	"campaign_add":        func(ctx context.Context, c *Client) error { _, err := c.AddRecipients(ctx, "r1", nil); return err },
	"campaign_launch":     func(ctx context.Context, c *Client) error { _, err := c.LaunchCampaign(ctx, "r1"); return err },
	"campaign_cancel":     func(ctx context.Context, c *Client) error { _, err := c.CancelCampaign(ctx, "r1"); return err },
	"campaign_recipients": func(ctx context.Context, c *Client) error { _, err := c.CampaignRows(ctx, "r1", "failed"); return err },
	"flows":               func(ctx context.Context, c *Client) error { _, err := c.Flows(ctx, "c1"); return err },
	"flow":                func(ctx context.Context, c *Client) error { _, err := c.Flow(ctx, "r1"); return err },
	"flow_create": func(ctx context.Context, c *Client) error {
		_, err := c.CreateFlow(ctx, "c1", "x", nil, "{}")
		return err
	},
	"flow_update": func(ctx context.Context, c *Client) error {
		_, err := c.UpdateFlow(ctx, "r1", "x", nil, "")
		return err
	},
	"flow_preview": func(ctx context.Context, c *Client) error { _, err := c.PreviewFlow(ctx, "r1"); return err },
	"flow_publish": func(ctx context.Context, c *Client) error { _, err := c.PublishFlow(ctx, "r1"); return err },
	"webhooks":     func(ctx context.Context, c *Client) error { _, err := c.Webhooks(ctx); return err },
	"webhook_register": func(ctx context.Context, c *Client) error {
		_, err := c.RegisterWebhook(ctx, "https://a.example", nil)
		return err
	},
	"webhook_delete": func(ctx context.Context, c *Client) error { return c.DeleteWebhook(ctx, "r1") },
	"webhook":        func(ctx context.Context, c *Client) error { _, err := c.Webhook(ctx, "r1"); return err },
	"webhook_update": func(ctx context.Context, c *Client) error {
		_, err := c.UpdateWebhook(ctx, "r1", EndpointChange{})
		return err
	},
	"webhook_deliveries": func(ctx context.Context, c *Client) error {
		_, err := c.WebhookDeliveries(ctx, "r1", "failed")
		return err
	},
	"webhook_replay": func(ctx context.Context, c *Client) error {
		_, err := c.ReplayWebhooks(ctx, noon, noon.Add(1))
		return err
	},
	"webhook_replay_one": func(ctx context.Context, c *Client) error {
		_, err := c.ReplayWebhook(ctx, "r1", noon, noon.Add(1), nil)
		return err
	},
	"profile": func(ctx context.Context, c *Client) error { _, err := c.Profile(ctx, "c1"); return err },
	"profile_update": func(ctx context.Context, c *Client) error {
		_, err := c.UpdateProfile(ctx, "c1", Profile{About: "x"})
		return err
	},
	"settings": func(ctx context.Context, c *Client) error { _, err := c.Settings(ctx, "c1"); return err },
	"settings_update": func(ctx context.Context, c *Client) error {
		_, err := c.UpdateSettings(ctx, "c1", Settings{})
		return err
	},
	"blocked_users":   func(ctx context.Context, c *Client) error { _, err := c.BlockedUsers(ctx, "c1"); return err },
	"block_users":     func(ctx context.Context, c *Client) error { _, err := c.BlockUsers(ctx, "c1", nil); return err },
	"unblock_users":   func(ctx context.Context, c *Client) error { _, err := c.UnblockUsers(ctx, "c1", nil); return err },
	"qr_codes":        func(ctx context.Context, c *Client) error { _, err := c.QRCodes(ctx, "c1"); return err },
	"qr_codes_create": func(ctx context.Context, c *Client) error { _, err := c.CreateQRCode(ctx, "c1", "hi"); return err },
	"qr_codes_update": func(ctx context.Context, c *Client) error {
		_, err := c.UpdateQRCode(ctx, "c1", "r1", "hi")
		return err
	},
	"qr_codes_delete":      func(ctx context.Context, c *Client) error { return c.DeleteQRCode(ctx, "c1", "r1") },
	"analytics_messaging":  func(ctx context.Context, c *Client) error { _, err := c.Messaging(ctx, "c1", noon, noon); return err },
	"analytics_pricing":    func(ctx context.Context, c *Client) error { _, err := c.Pricing(ctx, "c1", noon, noon); return err },
	"analytics_archive":    func(ctx context.Context, c *Client) error { _, err := c.Archive(ctx, "c1", noon, noon); return err },
	"billing_subscription": func(ctx context.Context, c *Client) error { _, err := c.Subscription(ctx); return err },
	"billing_plan":         func(ctx context.Context, c *Client) error { _, err := c.Plan(ctx); return err },
	"billing_limits":       func(ctx context.Context, c *Client) error { _, err := c.PlanLimits(ctx); return err },
	"billing_usage":        func(ctx context.Context, c *Client) error { _, err := c.Usage(ctx, "co1"); return err },
	"billing_invoices":     func(ctx context.Context, c *Client) error { _, err := c.Invoices(ctx); return err },
	"analytics_conversations": func(ctx context.Context, c *Client) error {
		_, err := c.Conversations(ctx, "c1", noon, noon)
		return err
	},
}

var sale = messaging.TemplateRecord{Name: "sale", Language: "en_US", Category: "MARKETING",
	Components: []messaging.Component{{Type: "BODY", Text: "Our sale begins today."}}}

func uploadOf(ctx context.Context, c *Client) error {
	_, err := c.UploadMedia(ctx, "c1", "a.png", "image/png", strings.NewReader("x"))
	return err
}

// renamed is another method and path for an operation.
func renamed(o operations.Operation) (method, path string) {
	if method = http.MethodPut; o.Method == http.MethodGet || o.Method == http.MethodDelete {
		method = http.MethodGet
	}
	path = "/v9/" + o.Name
	if strings.Contains(o.Path, "{") {
		path += "/{thing}/x"
	}
	return method, path
}

func TestEachOperationCanBeRenamed(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"data":{}}`)
	}))
	defer server.Close()
	paths := map[string]string{}
	for _, o := range operations.All {
		method, path := renamed(o)
		paths[o.Name] = method + " " + path
	}
	for name, client := range map[string]*Client{
		"as the table": testClient(t, server.URL, Options{}), "renamed": testClient(t, server.URL, Options{Assumed: Assumed{Paths: paths}}),
	} {
		for _, o := range operations.All {
			want := o.Method + " " + o.At("r1")
			if name == "renamed" {
				method, path := renamed(o)
				want = method + " " + operations.Operation{Path: path}.At("r1")
			}
			call := rowCalls[o.Name]
			if call == nil {
				t.Fatalf("%s: the client has no method, want one for each operation", o.Name)
			}
			asked = nil
			_ = call(t.Context(), client)
			if len(asked) != 1 || asked[0] != want {
				t.Errorf("%s, %s: asked %q, want %s once", o.Name, name, asked, want)
			}
		}
	}
}

// A count that is absent must not become zero, and the person must learn where.
func TestAMissingFieldIsNamedWithItsOperation(t *testing.T) {
	lenient := map[string]bool{ // these lists are read without the fields that a send does not need
		"connections": true, "numbers": true, "templates": true, "webhooks": true, "webhook_register": true, "webhook_replay": true,
		"profile": true, "profile_update": true, // every field is optional
	}
	for _, o := range operations.All {
		if o.Name == "messages" || lenient[o.Name] || o.Data == "" {
			continue
		}
		for _, body := range []string{`{"data":{"other":1}}`, `{"data":[{"other":1}]}`} {
			client, _ := answering(t, 200, body, Options{})
			err := rowCalls[o.Name](t.Context(), client)
			if err == nil || !strings.Contains(err.Error(), o.Name+" (") || !strings.Contains(err.Error(), "the answer h") {
				t.Errorf("%s with %s: got %v, want an error with the names of the operation and the field", o.Name, body, err)
			}
		}
	}
	client, _ := answering(t, 200, `{"data":{"messagesUsed":"many","messagesLimit":5}}`, Options{})
	if _, err := client.Usage(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "billing_usage (GET /api/v1/billing/usage): "+
		"the field messagesUsed is no int64") {
		t.Errorf("a usage without a number: got %v, want an error with both names", err)
	}
}

func TestAnAbsentOperationIsNotOffered(t *testing.T) {
	for _, status := range []int{404, 405, 501} {
		client, _ := answering(t, status, `{"error":"not_found"}`, Options{})
		for _, o := range operations.All {
			if o.Name == "messages" {
				continue
			}
			if err := rowCalls[o.Name](t.Context(), client); errors.Is(err, messaging.ErrNotOffered) == o.Shown {
				t.Errorf("%d of %s: got %v, want ErrNotOffered = %t", status, o.Name, err, !o.Shown)
			}
		}
		offered, absent := client.Asked()
		if len(offered) != 0 || len(absent) < 50 {
			t.Errorf("%d: got %d offered and %d absent, want all absent", status, len(offered), len(absent))
		}
	}
	client, _ := answering(t, 404, `{"error":"connection_not_found"}`, Options{})
	if _, err := client.Files(t.Context(), "c1"); err == nil || errors.Is(err, messaging.ErrNotOffered) {
		t.Errorf("an unknown connection: got %v, want its own error", err)
	}
}

func TestARowFollowsTheOneThatItBelongsTo(t *testing.T) {
	routes, err := newRoutes(map[string]string{"webhooks": "/v2/hooks", "media": "/v2/files", "templates": "POST /v2/models"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"webhook_register": "POST /v2/hooks", "webhook_delete": "DELETE /v2/hooks/{id}", "media_list": "GET /v2/files",
		"template_create": "POST /v2/models", "templates": "POST /v2/models", "template": "GET /api/v1/templates/{id}",
	} {
		if got := routes[name].Method + " " + routes[name].Path; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
