package resource

// TestMessage is the receipt of a test message. Accepted is not delivered.
type TestMessage struct {
	To        string `json:"to"`
	MessageID string `json:"message_id"`
	RequestID string `json:"request_id,omitempty"`
	Warning   string `json:"warning,omitempty"`
}
