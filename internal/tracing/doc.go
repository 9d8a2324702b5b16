// Package tracing tells OpenTelemetry what the program does and how long it takes. A program built
// without the tag otel has none of it: each function here does nothing, and no library is linked.
//
// A span has no phone number, no text of a message and no secret: its caller gives names and counts
// alone, and never the text of an error.
package tracing

// Fact is an attribute of a span. Its key begins with "campaignd.".
type Fact struct {
	Key   string
	Text  string
	Count int64 // of a fact without a text
}
