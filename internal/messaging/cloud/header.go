package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"campaignd/internal/messaging"
)

// uploadParts is how often an upload is taken up again after its connection broke.
const uploadParts = 4

// ErrNoApp means that the account has no Account.App, so that no file can be uploaded for a
// template.
var ErrNoApp = errors.New("the file of a header is uploaded to the app: give app_id, the id of the app, to the account in cloud.accounts")

// UploadHeader stores a file as the example of a template's media header, by a resumable upload to
// the app of the account (docs/cloud.md#templates). The handle stands in example.header_handle of
// the component. An upload that breaks off goes on where the platform says. It blocks for at most 2
// minutes a part.
func (c *Client) UploadHeader(ctx context.Context, connectionID, filename, contentType string, r io.ReadSeeker) (handle string, err error) {
	l, err := c.of(ctx, connectionID)
	if err != nil {
		return "", err
	}
	account := l.account
	if account.App == "" {
		return "", fmt.Errorf("account %s: %w", account.ID, ErrNoApp)
	}
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	v, err := c.call(ctx, c.o.Timeout, account.ID, c.request(ctx, account.ID, http.MethodPost, account.App+"/uploads",
		url.Values{"file_name": {filename}, "file_length": {strconv.FormatInt(size, 10)}, "file_type": {contentType}}))
	if err != nil {
		return "", err
	}
	session := v.Get("id").Text()
	if !strings.HasPrefix(session, "upload:") || !messaging.Visible(session) || strings.ContainsAny(session, "/#\\") {
		return "", messaging.BadAnswer(http.StatusOK, "", "POST "+account.App+"/uploads: the answer has no id of an upload", nil)
	}
	for part, offset := 1, int64(0); ; part++ {
		handle, err = c.uploadFrom(ctx, account.ID, session, r, offset, size)
		e, failed := errors.AsType[*messaging.Error](err)
		if err == nil || !failed || e.Status != 0 || part == uploadParts || ctx.Err() != nil {
			return handle, err
		}
		// No answer came: the platform tells how many bytes it has.
		v, err := c.call(ctx, c.o.Timeout, account.ID, c.session(ctx, account.ID, http.MethodGet, session))
		if err != nil {
			return "", err
		}
		var ok bool
		if offset, ok = v.Get("file_offset").Integer(); !ok || offset < 0 || offset > size {
			return "", messaging.BadAnswer(http.StatusOK, "", "GET upload: the answer has no file_offset", nil)
		}
	}
}

// uploadFrom posts the bytes of a file from an offset, and returns the handle.
func (c *Client) uploadFrom(ctx context.Context, account, session string, r io.ReadSeeker, offset, size int64) (handle string, err error) {
	if _, err := r.Seek(offset, io.SeekStart); err != nil {
		return "", err
	}
	req := c.session(ctx, account, http.MethodPost, session)
	req.Header.Set("file_offset", strconv.FormatInt(offset, 10))
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Body, req.ContentLength = io.NopCloser(io.LimitReader(r, size-offset)), size-offset
	v, err := c.call(ctx, uploadTimeout, account, req)
	if err != nil {
		return "", err
	}
	if handle = v.Get("h").Text(); handle == "" || len(handle) > 4096 || !messaging.Visible(handle) {
		return "", messaging.BadAnswer(http.StatusOK, "", "POST upload: the answer has no handle", nil)
	}
	return handle, nil
}

// session returns a request about an upload. Its id may have a query, and its requests want the
// word OAuth before the token.
func (c *Client) session(ctx context.Context, account, method, id string) *http.Request {
	path, query, _ := strings.Cut(id, "?")
	req := c.requestOf(ctx, account, method, path, query)
	req.Header.Set("Authorization", "OAuth"+strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer"))
	return req
}
