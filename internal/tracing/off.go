//go:build !otel

package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"os"
)

// Start logs that this program cannot trace, if its environment asks for traces.
func Start(_ context.Context, log *slog.Logger) (stop func() error, err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		log.Info("no traces are sent: this program was built without them (go build -tags otel)")
	}
	return func() error { return nil }, nil
}

// Span is work that is traced.
type Span struct{}

// Begin begins work inside the program.
func Begin(ctx context.Context, _ string, _ ...Fact) (context.Context, Span) { return ctx, Span{} }

// Call begins a request to another server.
func Call(*http.Request) Span { return Span{} }

// Serve begins the answer to a request that came over a route.
func Serve(r *http.Request, _ string) (context.Context, Span) { return r.Context(), Span{} }

// End ends the work. fault is a stable code, "" for none.
func (Span) End(string) {}

// Answered ends a request to another server, or the answer to one, with its status; 0: none came.
func (Span) Answered(int) {}
