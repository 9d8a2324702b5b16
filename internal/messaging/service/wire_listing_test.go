package service

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"reflect"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func TestListingsReadTheWire(t *testing.T) {
	ctx := context.Background()
	t.Run("connections", func(t *testing.T) {
		c, server, req := wireClient(t, "connections", "01_list")
		got, err := c.Connections(ctx)
		if err != nil || len(got) != 3 {
			t.Fatalf("got %v, %v; want 3", got, err)
		}
		want := messaging.Connection{ID: "conn_1", Phone: "+15555550100", CompanyID: "co_1", Status: "connected"}
		if got[0] != want {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
		requested(t, server, req)
	})
	t.Run("numbers", func(t *testing.T) {
		c, server, req := wireClient(t, "numbers", "01_list")
		got, err := c.Numbers(ctx)
		want := []messaging.Number{{ConnectionID: "conn_1", Phone: "+15555550100", Quality: "GREEN", Tier: "TIER_100K",
			TierLimit: 100000, Level: "STANDARD", Throughput: 80}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		requested(t, server, req)
	})
	t.Run("numbers not offered", func(t *testing.T) {
		c, _, _ := wireClient(t, "numbers", "02_absent")
		if _, err := c.Numbers(ctx); !isNotOffered(err) {
			t.Errorf("got %v, want ErrNotOffered", err)
		}
	})
	t.Run("templates", func(t *testing.T) {
		c, server, req := wireClient(t, "templates", "01_list")
		got, err := c.Templates(ctx, "conn_1")
		if err != nil || len(got) != 4 {
			t.Fatalf("got %v, %v; want 4", got, err)
		}
		sale := got[0]
		body, buttons := sale.Component("BODY"), sale.Component("BUTTONS")
		if sale.Status != "APPROVED" || sale.Category != "MARKETING" || sale.Component("HEADER").Format != "IMAGE" ||
			!reflect.DeepEqual(body.Variables(), []string{"1", "2"}) || !reflect.DeepEqual(buttons.Buttons[0].Variables(), []string{"1"}) {
			t.Errorf("got %+v, want an approved marketing template with an image, two variables and one in a button", sale)
		}
		requested(t, server, req)
	})
	t.Run("media", func(t *testing.T) {
		c, server, req := wireClient(t, "media", "01_upload")
		var form struct {
			ConnectionID string
			File         struct {
				Filename, ContentType string
				Base64                []byte
			}
		}
		if err := json.Unmarshal(req.Multipart, &form); err != nil {
			t.Fatal(err)
		}
		// The reader has no known length, so the upload is chunked.
		got, err := c.UploadMedia(ctx, form.ConnectionID, form.File.Filename, form.File.ContentType,
			io.MultiReader(bytes.NewReader(form.File.Base64)))
		if err != nil || got.ID != "ast_2" || !got.ExpiresAt.Equal(time.Date(2026, 12, 21, 0, 0, 0, 0, time.UTC)) {
			t.Fatalf("got %+v, %v; want ast_2 until 21 December", got, err)
		}
		_, params, err := mime.ParseMediaType(server.request.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		read, err := multipart.NewReader(bytes.NewReader(server.body), params["boundary"]).ReadForm(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		file := read.File["file"][0]
		f, _ := file.Open()
		content, _ := io.ReadAll(f)
		if read.Value["connectionId"][0] != "conn_1" || file.Filename != form.File.Filename ||
			file.Header.Get("Content-Type") != form.File.ContentType || !bytes.Equal(content, form.File.Base64) {
			t.Errorf("got %+v %q, want the form of request.json", read, content)
		}
		requested(t, server, req)
	})
	t.Run("webhooks", func(t *testing.T) {
		c, server, req := wireClient(t, "webhookadmin", "01_register")
		var body struct {
			URL    string
			Events []string
		}
		json.Unmarshal(req.Body, &body)
		w, err := c.RegisterWebhook(ctx, body.URL, body.Events)
		if err != nil || w.ID != "whk_1" || w.Secret.Reveal() == "" {
			t.Fatalf("got %v, %v; want whk_1 with its secret", w, err)
		}
		sameJSON(t, "body", server.body, req.Body)
		requested(t, server, req)
		c, _, _ = wireClient(t, "webhookadmin", "02_list")
		if list, err := c.Webhooks(ctx); err != nil || len(list) != 1 || len(list[0].Events) != 2 {
			t.Errorf("got %v, %v; want one with two events", list, err)
		}
		c, server, req = wireClient(t, "webhookadmin", "03_replay")
		since := time.Date(2026, 3, 2, 10, 0, 0, 0, time.FixedZone("", 3600))
		if n, err := c.ReplayWebhooks(ctx, since, since.Add(210*time.Minute)); err != nil || n != 0 {
			t.Errorf("got %d, %v; want 0 deliveries", n, err)
		}
		sameJSON(t, "body", server.body, req.Body)
		requested(t, server, req)
	})
	t.Run("billing", func(t *testing.T) {
		c, _, req := wireClient(t, "billing", "01_client_key")
		_, err := c.call(ctx, time.Second, c.request(ctx, "GET", req.Path, ""))
		if e := asWire(t, err); e.Code != "partner_key_required" {
			t.Errorf("got %v, want partner_key_required", e)
		}
	})
}

func requested(t *testing.T, server *replay, want wireRequest) {
	t.Helper()
	r := server.request
	if r.Method != want.Method || r.URL.Path != want.Path || r.URL.RawQuery != want.Query ||
		r.Header.Get("Authorization") != want.Headers["authorization"] {
		t.Errorf("%s %s?%s with %q, want %+v", r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Authorization"), want)
	}
}
