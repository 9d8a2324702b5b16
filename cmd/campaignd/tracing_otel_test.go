//go:build otel

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"campaignd/internal/command"
	"campaignd/internal/daemon"
)

// The spans of a run show its work, and nothing of a person.
func TestARunIsTraced(t *testing.T) {
	var mu sync.Mutex
	var all []*trace.Span
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("got %s and %v, want spans at /v1/traces", r.URL.Path, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range got.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	var stdout, stderr bytes.Buffer
	p := &program{Program: command.Program{Stdout: &stdout, Stderr: &stderr, Environment: map[string]string{}}}
	err := p.demo(t.Context(), daemon.DemoOptions{Dir: t.TempDir(), Run: daemon.RunOptions{Settle: 5 * time.Second},
		Files: fstest.MapFS{
			"campaign.yaml": {Data: []byte("name: demo\nconnections: [conn_1]\ntemplate: {name: newsletter, language: en_US}\n" +
				"recipients: {file: list.csv, columns: {to: phone}}\n")},
			"list.csv": {Data: []byte("phone\n+2348031200001\n+2348031200002\n0803\n")},
		}}, false, false, true)
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	mu.Lock()
	defer mu.Unlock()
	byName, byID := map[string][]*trace.Span{}, map[string]*trace.Span{}
	for _, s := range all {
		byName[s.Name], byID[string(s.SpanId)] = append(byName[s.Name], s), s
		if text := s.String(); regexp.MustCompile(`[+]?234803|newsletter|sandbox-key`).MatchString(text) {
			t.Errorf("got the span %s, want no person, text or key in it", text)
		}
	}
	for name, want := range map[string]int{"import": 1, "send": 2, "POST /api/v1/messages": 2, "commit intents": 1, "take webhook": 1,
		"apply events": 1} {
		if got := len(byName[name]); got < want {
			t.Errorf("%s: got %d spans, want %d or more", name, got, want)
		}
	}
	for _, s := range byName["POST /api/v1/messages"] {
		if of := byID[string(s.ParentSpanId)]; of == nil || of.Name != "send" || s.Kind != trace.Span_SPAN_KIND_CLIENT {
			t.Errorf("got a request of kind %v under %v, want a call of send", s.Kind, of)
		}
	}
}
