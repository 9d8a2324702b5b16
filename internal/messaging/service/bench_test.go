package service

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func benchServer(b *testing.B) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header()["X-Request-Id"] = []string{"req_1"}
		w.Header()["Content-Type"] = []string{"application/json"}
		io.WriteString(w, receiptText)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// BenchmarkSend compares Send with a bare net/http exchange of the same bytes.
func BenchmarkSend(b *testing.B) {
	b.Run("client", func(b *testing.B) {
		c := testClient(b, benchServer(b), Options{})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Send(context.Background(), hello); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("net/http", func(b *testing.B) {
		url := benchServer(b) + "/api/v1/messages"
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
		b.Cleanup(c.CloseIdleConnections)
		b.ReportAllocs()
		for b.Loop() {
			text, _ := json.Marshal(hello)
			ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
			r, _ := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(text))
			r.Header.Set("Authorization", "Bearer key_1")
			r.Header.Set("Content-Type", "application/json")
			resp, err := c.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			var answer struct{ Data struct{ MessageID string } }
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Data.MessageID == "" {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			cancel()
		}
	})
}

func BenchmarkDecodeEvents(b *testing.B) {
	for name, path := range map[string]string{
		"service":  filepath.Join(wireRoot, "webhooks", "01_status_sent", "body.json"),
		"platform": filepath.Join(wireRoot, "webhooks", "30_platform_status", "body.json"),
	} {
		body, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			decode := EventDecoder(messaging.OptOut{})
			for b.Loop() {
				if _, err := decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecodeEventsWithEncodingJSON reads the fields of one status with encoding/json alone,
// for comparison.
func BenchmarkDecodeEventsWithEncodingJSON(b *testing.B) {
	body, err := os.ReadFile(filepath.Join(wireRoot, "webhooks", "01_status_sent", "body.json"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var e struct {
			ID, Type, ConnectionID string
			CreatedAt              time.Time
			Data                   json.RawMessage
		}
		var d struct {
			MessageID, Status, To string
			Timestamp             json.RawMessage
		}
		if json.Unmarshal(body, &e) != nil || json.Unmarshal(e.Data, &d) != nil || d.MessageID == "" {
			b.Fatal("not read")
		}
	}
}
