package service

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/operations"
	"campaignd/internal/rawjson"
)

// literalCall are the arguments of a literal request.
type literalCall struct {
	id         string // the variable segment of the path
	query      url.Values
	conn       string // connectionId, wherever it is
	start, end time.Time
	body       struct {
		Name, Language, Category, LibraryName, URL, PrefilledMessage string
		Template                                                     json.RawMessage
		Recipients                                                   []CampaignRecipient
		Components                                                   []messaging.Component
		Categories, Events, Users                                    []string
		JSON                                                         string
		Active                                                       *bool
		Since, Until                                                 time.Time
	}
	raw []byte // the body
}

// into decodes the body into a type of the client.
func into[T any](in literalCall) (v T) {
	_ = json.Unmarshal(in.raw, &v) // the comparison of the bodies finds what is missing
	return v
}

// literalCalls call the method of each operation with the arguments of a literal request.
var literalCalls = map[string]func(ctx context.Context, c *Client, in literalCall) (any, error){
	"connections": func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.Connections(ctx) },
	"connection":  func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Connection(ctx, in.id) },
	"numbers":     func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.Numbers(ctx) },
	"number":      func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Number(ctx, in.id) },
	"companies":   func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.Companies(ctx) },
	"company":     func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Company(ctx, in.id) },
	"templates":   func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Templates(ctx, in.conn) },
	"template":    func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Template(ctx, in.id) },
	"template_create": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.CreateTemplate(ctx, in.conn, into[messaging.TemplateRecord](in), in.body.LibraryName)
	},
	"template_edit": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.EditTemplate(ctx, in.id, in.body.Components, in.body.Category)
	},
	"template_delete": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return nil, c.DeleteTemplate(ctx, in.id)
	},
	"template_sync": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.SyncTemplates(ctx, in.conn)
	},
	"template_library": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.TemplateLibrary(ctx, in.query.Get("search"))
	},
	"template_analytics": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.TemplateAnalytics(ctx, in.id, in.start, in.end)
	},
	"media_list": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Files(ctx, in.conn) },
	"media_delete": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return nil, c.DeleteFile(ctx, in.id)
	},
	"media_storage": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Storage(ctx, in.conn) },
	"campaigns":     func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.Campaigns(ctx) },
	"campaign":      func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Campaign(ctx, in.id) },
	"campaign_create": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		sends := into[CampaignSends](literalCall{raw: in.body.Template})
		return c.CreateCampaign(ctx, in.conn, in.body.Name, sends, in.body.Recipients)
	},
	"campaign_add": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.AddRecipients(ctx, in.id, in.body.Recipients)
	},
	"campaign_launch": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.LaunchCampaign(ctx, in.id) },
	"campaign_cancel": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.CancelCampaign(ctx, in.id) },
	"campaign_recipients": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.CampaignRows(ctx, in.id, in.query.Get("status"))
	},
	"flows": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Flows(ctx, in.conn) },
	"flow":  func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Flow(ctx, in.id) },
	"flow_create": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.CreateFlow(ctx, in.conn, in.body.Name, in.body.Categories, in.body.JSON)
	},
	"flow_update": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.UpdateFlow(ctx, in.id, in.body.Name, in.body.Categories, in.body.JSON)
	},
	"flow_preview": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.PreviewFlow(ctx, in.id) },
	"flow_publish": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.PublishFlow(ctx, in.id) },
	"webhooks":     func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.Webhooks(ctx) },
	"webhook_register": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.RegisterWebhook(ctx, in.body.URL, in.body.Events)
	},
	"webhook_delete": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return nil, c.DeleteWebhook(ctx, in.id)
	},
	"webhook": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Webhook(ctx, in.id) },
	"webhook_update": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.UpdateWebhook(ctx, in.id, EndpointChange{URL: in.body.URL, Events: in.body.Events, Active: in.body.Active})
	},
	"webhook_deliveries": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.WebhookDeliveries(ctx, in.id, in.query.Get("state"))
	},
	"webhook_replay": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		n, err := c.ReplayWebhooks(ctx, in.body.Since, in.body.Until)
		return map[string]any{"deliveries": float64(n)}, err
	},
	"webhook_replay_one": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		n, err := c.ReplayWebhook(ctx, in.id, in.body.Since, in.body.Until, in.body.Events)
		return map[string]any{"deliveries": float64(n)}, err
	},
	"profile": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Profile(ctx, in.conn) },
	"profile_update": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.UpdateProfile(ctx, in.conn, into[Profile](in))
	},
	"settings": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.Settings(ctx, in.conn) },
	"settings_update": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.UpdateSettings(ctx, in.conn, into[Settings](in))
	},
	"blocked_users": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.BlockedUsers(ctx, in.conn) },
	"block_users": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.BlockUsers(ctx, in.conn, in.body.Users)
	},
	"unblock_users": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.UnblockUsers(ctx, in.conn, in.body.Users)
	},
	"qr_codes": func(ctx context.Context, c *Client, in literalCall) (any, error) { return c.QRCodes(ctx, in.conn) },
	"qr_codes_create": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.CreateQRCode(ctx, in.conn, in.body.PrefilledMessage)
	},
	"qr_codes_update": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.UpdateQRCode(ctx, in.conn, in.id, in.body.PrefilledMessage)
	},
	"qr_codes_delete": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return nil, c.DeleteQRCode(ctx, in.conn, in.id)
	},
	"analytics_messaging": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.Messaging(ctx, in.conn, in.start, in.end)
	},
	"analytics_conversations": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.Conversations(ctx, in.conn, in.start, in.end)
	},
	"analytics_pricing": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.Pricing(ctx, in.conn, in.start, in.end)
	},
	"analytics_archive": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.Archive(ctx, in.conn, in.start, in.end)
	},
	"billing_subscription": func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.Subscription(ctx) },
	"billing_plan":         func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.Plan(ctx) },
	"billing_limits":       func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.PlanLimits(ctx) },
	"billing_usage": func(ctx context.Context, c *Client, in literalCall) (any, error) {
		return c.Usage(ctx, in.query.Get("companyId"))
	},
	"billing_invoices": func(ctx context.Context, c *Client, _ literalCall) (any, error) { return c.Invoices(ctx) },
}

// argumentsOf reads the arguments of a literal request.
func argumentsOf(t *testing.T, o operations.Operation, req wireRequest) (in literalCall) {
	t.Helper()
	today := time.Now().UTC().Format(time.DateOnly)
	var err error
	if in.query, err = url.ParseQuery(strings.ReplaceAll(req.Query, "{today}", today)); err != nil {
		t.Fatal(err)
	}
	for i, segment := range strings.Split(o.Path, "/") {
		if strings.HasPrefix(segment, "{") {
			in.id = strings.Split(req.Path, "/")[i]
		}
	}
	in.conn = in.query.Get("connectionId")
	in.start, _ = time.Parse(time.DateOnly, in.query.Get("start"))
	in.end, _ = time.Parse(time.DateOnly, in.query.Get("end"))
	if in.raw = req.Body; req.Body != nil {
		var about struct{ ConnectionID string }
		if err := json.Unmarshal(req.Body, &about); err != nil {
			t.Fatal(err)
		}
		if about.ConnectionID != "" {
			in.conn = about.ConnectionID
		}
		if err := json.Unmarshal(req.Body, &in.body); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// The client writes each literal request whose answer is a success, and reads the values of its
// answer.
func TestTheClientWritesEachLiteralRequest(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wireRoot, "*", "*", "request.json"))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{"messages": true, "media": true} // they have tests of their own
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		folder := filepath.Base(filepath.Dir(filepath.Dir(file)))
		client, server, req := wireClient(t, folder, name)
		req.Path = strings.ReplaceAll(req.Path, "{made}", "made")
		o, ok := rowOf(req.Method, req.Path)
		if !ok || o.Name == "messages" || o.Name == "media" || server.response.Status >= 300 {
			continue
		}
		asked[o.Name] = true
		t.Run(folder+"/"+name, func(t *testing.T) {
			in := argumentsOf(t, o, req)
			got, err := literalCalls[o.Name](t.Context(), client, in)
			if err != nil || server.hits != 1 {
				t.Fatalf("got %v and %d requests, want one success", err, server.hits)
			}
			if r := server.request; r.Method != req.Method || r.URL.Path != req.Path || r.URL.Query().Encode() != in.query.Encode() {
				t.Errorf("got %s %s, want %s %s?%s", r.Method, r.URL, req.Method, req.Path, in.query.Encode())
			}
			if req.Body != nil {
				sameJSON(t, "request body", server.body, req.Body)
			}
			var want struct{ Data any }
			if server.response.Body != nil {
				if err := json.Unmarshal(server.response.Body, &want); err != nil {
					t.Fatal(err)
				}
				for _, fault := range unlike("data", tagged(reflect.ValueOf(got)), want.Data) {
					t.Errorf("got another value than the literal: %s, want none", fault)
				}
			}
		})
	}
	for _, o := range operations.All {
		if !asked[o.Name] {
			t.Errorf("%s: no literal success, want one", o.Name)
		}
	}
}

// tagged is a value of the client as the service writes it: the fields with a name of the wire.
func tagged(v reflect.Value) any {
	switch known := v.Interface().(type) {
	case time.Time:
		return known.UTC().Format(time.RFC3339)
	case rawjson.Value:
		var plain any
		_ = json.Unmarshal([]byte(known), &plain)
		return plain
	}
	switch v.Kind() {
	case reflect.Struct:
		members := map[string]any{}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("wire"), ",")
			if name == "" || name == "-" {
				name, _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			}
			if name != "" && name != "-" {
				members[name] = tagged(v.Field(i))
			}
		}
		return members
	case reflect.Slice:
		elements := []any{}
		for i := range v.Len() {
			elements = append(elements, tagged(v.Index(i)))
		}
		return elements
	case reflect.Int, reflect.Int64:
		return float64(v.Int())
	}
	return v.Interface()
}

// unlike compares what the client read with the literal. A type without names of the wire has a
// test of its own.
func unlike(path string, got, want any) (faults []string) {
	members, isObject := got.(map[string]any)
	elements, isList := got.([]any)
	other, _ := want.([]any)
	object, _ := want.(map[string]any)
	switch {
	case isObject && len(members) == 0:
	case isObject:
		for name, value := range object {
			read, ok := members[name]
			if !ok {
				faults = append(faults, fmt.Sprintf("%s.%s: the client has no such field, want %v", path, name, value))
				continue
			}
			faults = append(faults, unlike(path+"."+name, read, value)...)
		}
	case isList && len(elements) == len(other):
		for i := range elements {
			faults = append(faults, unlike(fmt.Sprintf("%s[%d]", path, i), elements[i], other[i])...)
		}
	case strings.TrimSuffix(fmt.Sprint(got), "T00:00:00Z") == want: // a day
	case !reflect.DeepEqual(got, want):
		faults = append(faults, fmt.Sprintf("%s: got %v, want %v", path, got, want))
	}
	return faults
}
