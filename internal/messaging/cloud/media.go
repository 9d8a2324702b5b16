package cloud

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"campaignd/internal/messaging"
)

// retention is how long the platform keeps an uploaded file (docs/cloud.md#media).
const retention = 30 * 24 * time.Hour

// UploadMedia stores a file for one number, which alone can send it. It streams r, and blocks for
// at most 2 minutes. A failed upload can be repeated: at worst an unused file stays for 30 days.
func (c *Client) UploadMedia(ctx context.Context, connectionID, filename, contentType string, r io.Reader) (messaging.Asset, error) {
	l, err := c.of(ctx, connectionID)
	if err != nil {
		return messaging.Asset{}, err
	}
	if contentType == "" || strings.ContainsAny(contentType, "\r\n") {
		contentType = "application/octet-stream"
	}
	var form bytes.Buffer // the text of the form around the file
	w := multipart.NewWriter(&form)
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", `form-data; name="file"; filename="`+quoted.Replace(filename)+`"`)
	head.Set("Content-Type", contentType)
	fields := [][2]string{{"messaging_product", "whatsapp"}, {"type", contentType}}
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			return messaging.Asset{}, err
		}
	}
	if _, err := w.CreatePart(head); err != nil {
		return messaging.Asset{}, err
	}
	before := bytes.Clone(form.Bytes())
	form.Reset()
	if err := w.Close(); err != nil {
		return messaging.Asset{}, err
	}
	path := l.id + "/media"
	req := c.request(ctx, l.account.ID, http.MethodPost, path, nil)
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(before), r, bytes.NewReader(form.Bytes())))
	req.ContentLength = -1 // chunks
	v, err := c.call(ctx, uploadTimeout, l.account.ID, req)
	if err != nil {
		return messaging.Asset{}, err
	}
	a := messaging.Asset{ID: v.Get("id").Text(), ExpiresAt: time.Now().UTC().Add(retention)}
	if !messaging.UsableID(a.ID) {
		return messaging.Asset{}, messaging.BadAnswer(http.StatusOK, "", "POST "+path+": the answer has no id", nil)
	}
	return a, nil
}

// quoted escapes a form parameter as browsers do.
var quoted = strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A")
