//go:build otel

package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// flushWithin is the longest time of the last export when the program ends.
const flushWithin = 5 * time.Second

// Start sends the spans of the program to the collector of OTEL_EXPORTER_OTLP_ENDPOINT (or
// ..._TRACES_ENDPOINT) by OTLP over HTTP; without an endpoint there are no spans. The other
// variables of the SDK apply:
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables. stop sends the
// last spans, within 5 seconds.
func Start(ctx context.Context, log *slog.Logger) (stop func() error, err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" ||
		os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return func() error { return nil }, nil
	}
	otel.SetErrorHandler(&faults{log: log})
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "campaignd")), resource.WithHost(),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	otel.SetTracerProvider(provider)
	log.Info("traces are sent", "sampler", os.Getenv("OTEL_TRACES_SAMPLER"))
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("the last traces were not sent", "err", err)
		}
		return nil // a collector that is away fails no command
	}, nil
}

// faults logs the errors of the exporter, at most one a minute.
type faults struct {
	log *slog.Logger

	mu   sync.Mutex
	told time.Time
}

// Handle implements otel.ErrorHandler.
func (f *faults) Handle(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.told) >= time.Minute {
		f.told = now
		f.log.Warn("traces are not sent", "err", err)
	}
}

// Span is work that is traced.
type Span struct{ span trace.Span }

func begin(ctx context.Context, name string, kind trace.SpanKind, with ...attribute.KeyValue) (context.Context, Span) {
	ctx, s := otel.Tracer("campaignd").Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(with...))
	return ctx, Span{s}
}

// Begin begins work inside the program.
func Begin(ctx context.Context, name string, facts ...Fact) (context.Context, Span) {
	with := make([]attribute.KeyValue, len(facts))
	for i, f := range facts {
		if with[i] = attribute.Int64(f.Key, f.Count); f.Text != "" {
			with[i] = attribute.String(f.Key, f.Text)
		}
	}
	return begin(ctx, name, trace.SpanKindInternal, with...)
}

// Call begins a request to another server. Its name has the first three elements of the path: what
// follows may name a person.
func Call(r *http.Request) Span {
	path := strings.SplitN(r.URL.Path, "/", 5)
	name := r.Method + " " + strings.Join(path[:min(len(path), 4)], "/")
	_, s := begin(r.Context(), name, trace.SpanKindClient, attribute.String("http.request.method", r.Method),
		attribute.String("server.address", r.URL.Hostname()))
	return s
}

// Serve begins the answer to a request that came over a route. It continues the trace that the
// request's header names. Call it after the caller is authenticated, so that no stranger causes
// traces.
func Serve(r *http.Request, route string) (context.Context, Span) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return begin(ctx, route, trace.SpanKindServer, attribute.String("http.request.method", r.Method))
}

// End ends the work. fault is a stable code, "" for none.
func (s Span) End(fault string) {
	if fault != "" {
		s.span.SetStatus(codes.Error, fault)
	}
	s.span.End()
}

// Answered ends a request to another server, or the answer to one, with its status; 0: none came.
func (s Span) Answered(status int) {
	fault := ""
	if status != 0 {
		s.span.SetAttributes(attribute.Int("http.response.status_code", status))
	} else {
		fault = "no_answer"
	}
	if status >= 500 {
		fault = http.StatusText(status)
	}
	s.End(fault)
}
