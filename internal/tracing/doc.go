// Package tracing reports to OpenTelemetry what the program does and how long that takes. In a
// program built without the tag otel each function does nothing, and no library is linked.
//
// A span has no phone number, no text of a message and no secret: its caller gives only names and
// counts, and never the text of an error.
package tracing

// Fact is an attribute of a span. Its key begins with "campaignd.".
type Fact struct {
	Key   string
	Text  string
	Count int64 // of a fact without a text
}
