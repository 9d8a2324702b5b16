package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// retention is how long the service keeps a file (docs/service.md#media).
const retention = 30 * 24 * time.Hour

// UploadMedia stores a file for the company of a connection. It streams r and needs little memory.
// It blocks for at most 2 minutes. The preflight checks type and size against the platform's limits
// (docs/service.md#media), not UploadMedia. A failed upload can be repeated: at worst an unused
// file stays with the service for 30 days.
func (c *Client) UploadMedia(ctx context.Context, connectionID, filename, contentType string, r io.Reader) (messaging.Asset, error) {
	v, err := c.upload(ctx, fields{"connectionId": connectionID}, filename, contentType, r)
	if err != nil {
		return messaging.Asset{}, err
	}
	rec := recordOf(mediaFields, v)
	a := messaging.Asset{ID: rec.text("assetId"), ExpiresAt: rec.get("expiresAt").Time()}
	if a.ID == "" {
		return messaging.Asset{}, badAnswer(c.routes["media"], "the answer holds no assetId")
	}
	if a.ExpiresAt.IsZero() {
		a.ExpiresAt = time.Now().UTC().Add(retention)
	}
	return a, nil
}

// UploadHeader stores a file as the example of a template's media header. The handle stands in
// example.header_handle of the component until expires.
func (c *Client) UploadHeader(ctx context.Context, connectionID, filename, contentType string, r io.Reader) (
	handle string, expires time.Time, err error) {
	v, err := c.upload(ctx, fields{"connectionId": connectionID, "purpose": "template_header"}, filename, contentType, r)
	if err != nil {
		return "", time.Time{}, err
	}
	h, err := read[struct {
		Handle    string    `wire:"header_handle"`
		ExpiresAt time.Time `wire:"expiresAt"`
	}](c.routes["media"], v)
	return h.Handle, h.ExpiresAt, err
}

// upload posts a form with the fields and the file.
func (c *Client) upload(ctx context.Context, f fields, filename, contentType string, r io.Reader) (rawjson.Value, error) {
	// form is the text of the form around the file. The file itself is read while it is sent.
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if err := w.WriteField(name, fmt.Sprint(f[name])); err != nil {
			return nil, err
		}
	}
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", `form-data; name="file"; filename="`+quoteParam(filename)+`"`)
	if contentType == "" || strings.ContainsAny(contentType, "\r\n") {
		contentType = "application/octet-stream"
	}
	head.Set("Content-Type", contentType)
	if _, err := w.CreatePart(head); err != nil {
		return nil, err
	}
	before := bytes.Clone(form.Bytes())
	form.Reset()
	if err := w.Close(); err != nil {
		return nil, err
	}
	req := c.request(ctx, c.routes["media"].Method, c.routes["media"].Path, "")
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(before), r, bytes.NewReader(form.Bytes())))
	req.ContentLength = -1
	if size := remaining(r); size >= 0 {
		req.ContentLength = int64(len(before)) + size + int64(form.Len())
	}
	v, err := c.call(ctx, uploadTimeout, req)
	return v, c.judged(c.routes["media"], err)
}

// remaining is the number of bytes that r still has, or -1 if r cannot tell.
func remaining(r io.Reader) int64 {
	if l, ok := r.(interface{ Len() int }); ok {
		return int64(l.Len())
	}
	s, ok := r.(io.Seeker)
	if !ok {
		return -1
	}
	at, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return -1
	}
	end, err := s.Seek(0, io.SeekEnd)
	if err != nil {
		return -1
	}
	if _, err := s.Seek(at, io.SeekStart); err != nil {
		return -1
	}
	return end - at
}

// quoteParam escapes a form parameter as browsers do.
func quoteParam(s string) string {
	return strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A").Replace(s)
}
