package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
)

// Preview uploads a campaign and its list, and returns the message of a row; 0: the first row that
// can be sent. Nothing is sent, and the server keeps the list as for Check.
func (c *Client) Preview(ctx context.Context, l Launch, row int64) (*launch.Sample, error) {
	return upload[*launch.Sample](ctx, c, ofRow("/preview", row), l)
}

// SendTest uploads a campaign and its list, and has the message of a row sent to a number of the
// operator. It is a real message that no run counts. Do not repeat it after an error of the
// connection: the message may have been sent.
func (c *Client) SendTest(ctx context.Context, l Launch, row int64, to string) (resource.TestMessage, error) {
	q := ofRow("/test", row)
	q.query.Set("to", to)
	return upload[resource.TestMessage](ctx, c, q, l)
}

// Rejects uploads a campaign and its list, and writes the rows that a correction can help, as a
// list with the reason of each. After an error, w has only a part of the file.
func (c *Client) Rejects(ctx context.Context, l Launch, w io.Writer) error {
	_, err := uploadWith(ctx, c, l, func(body io.Reader, kind string) (struct{}, error) {
		q := call{method: http.MethodPost, path: "/rejects", file: body, fileType: kind, long: true}
		return struct{}{}, c.file(ctx, q, w)
	})
	return err
}

func ofRow(path string, row int64) call {
	q := call{method: http.MethodPost, path: path, query: url.Values{}}
	setInt(q.query, "row", row)
	return q
}
