package cloud

import (
	"context"
	"errors"
	"net/http"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// Send posts one template message once. It returns the receipt, or a *messaging.Error that says
// what the exchange proves (docs/protocol.md#what-an-answer-proves). Number and template are listed
// before the first byte, if they are not known: a failure there proves that nothing was sent. Send
// blocks for at most Options.Timeout, and for the listings the first time.
func (c *Client) Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error) {
	if e := messaging.Unsendable(m); e != nil {
		return messaging.Receipt{}, e
	}
	l, err := c.of(ctx, m.ConnectionID)
	if err != nil {
		return messaging.Receipt{}, NotSent(err)
	}
	t, err := c.layout(ctx, l.account.ID, m.Template)
	if err != nil {
		return messaging.Receipt{}, NotSent(err)
	}
	text, err := encode(m, &t)
	if err != nil {
		return messaging.Receipt{}, messaging.Unencodable(err)
	}
	path := l.id + "/messages"
	if l.account.MarketingAPI && t.Category == "MARKETING" {
		path = l.id + "/marketing_messages"
	}
	req := c.request(ctx, l.account.ID, http.MethodPost, path, nil)
	req.Header.Set("Content-Type", "application/json")
	a, failure := c.exchange.Send(ctx, req, text, m)
	if failure != nil {
		return messaging.Receipt{}, failure
	}
	defer c.exchange.Release(&a)
	if !a.Accepted() {
		return messaging.Receipt{}, c.refused(&a, l.account.ID)
	}
	id, ok := readReceipt(a.Body)
	if a.Err != nil || !ok {
		return messaging.Receipt{}, a.NoID()
	}
	return messaging.Receipt{MessageID: id, RequestID: a.RequestID()}, nil
}

// NotSent is the error of a message for which a listing failed.
func NotSent(err error) error {
	if e, ok := errors.AsType[*messaging.Error](err); ok {
		return e
	}
	return &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldConnection,
		EndedBy: messaging.EndedByNumberEvent, Code: "number_not_listed", Message: messaging.ScrubError(err, 300), Err: err}
}

// readReceipt reads {messages: [{id}]}. contacts may be absent, and message_status is there only if
// the platform holds the message for now.
func readReceipt(body []byte) (id string, ok bool) {
	v, err := rawjson.Parse(body)
	if err != nil {
		return "", false
	}
	first := v.Get("messages").Members()
	if !first.Next() || !first.Val.Get("id").IsString() {
		return "", false
	}
	id = first.Val.Get("id").Text()
	return id, messaging.UsableID(id)
}
