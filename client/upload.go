package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"campaignd/client/resource"
)

// MostPart is the most bytes of one part of a list.
const MostPart = 32 << 20

// partSize is the bytes of each part that UploadList sends. A list of at most one part goes with
// its campaign instead.
const partSize = 16 << 20

// How long UploadList waits. A server that starts again is back within seconds, and forgets a
// request whose connection broke without a word after 30 seconds.
const (
	firstWait    = 250 * time.Millisecond // after the first failure; it doubles with each
	mostWait     = 10 * time.Second
	mostSilence  = 5 * time.Minute // without a byte more at the server
	mostStanding = time.Minute     // without a byte that leaves, or without the answer
)

// Upload returns how much of a list has come: Error with CodeNotFound if nothing has.
func (c *Client) Upload(ctx context.Context, hash string) (resource.Upload, error) {
	return one[resource.Upload](ctx, c, call{method: http.MethodGet, path: uploadPath(hash)})
}

// RemoveUpload forgets a list. It is no error if nothing of it has come.
func (c *Client) RemoveUpload(ctx context.Context, hash string) error {
	_, err := one[resource.Upload](ctx, c, call{method: http.MethodDelete, path: uploadPath(hash)})
	return err
}

// UploadPart appends a part of at most MostPart bytes, whose first byte has an offset in the list.
// A part that ends early is kept as far as it came. An offset that is not where the list goes on is
// an Error with CodeWrongOffset.
func (c *Client) UploadPart(ctx context.Context, hash string, offset int64, part io.Reader) (resource.Upload, error) {
	return one[resource.Upload](ctx, c, call{method: http.MethodPatch, path: uploadPath(hash),
		file: part, fileType: "application/octet-stream", query: url.Values{"offset": {strconv.FormatInt(offset, 10)}}})
}

func uploadPath(hash string) string { return "/uploads/" + url.PathEscape(hash) }

// UploadProgress is the state of an upload in parts.
type UploadProgress struct {
	Sent, Size int64         // bytes
	Err        error         // why nothing moves now; nil: it moves
	Wait       time.Duration // until the next try; 0 if Err is nil
}

// UploadList uploads a list in parts, and returns its hash. It goes on where the same list broke
// off before, in this process or another one, and waits for a server that is away until nothing has
// moved for 5 minutes. tell, if it is not nil, is told of each part and of each failure.
func (c *Client) UploadList(ctx context.Context, path string, tell func(UploadProgress)) (hash string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return "", err
	}
	hash = hex.EncodeToString(sum.Sum(nil))
	if tell == nil {
		tell = func(UploadProgress) {}
	}
	wait, grew, most := firstWait, time.Now(), int64(0)
	note := func(received int64) {
		if received > most {
			wait, grew, most = firstWait, time.Now(), received
		}
		tell(UploadProgress{Sent: received, Size: size})
	}
	for {
		err := c.sendRest(ctx, hash, f, size, note)
		if err == nil {
			return hash, nil
		}
		if ctx.Err() != nil || !passing(err) || time.Since(grew) > mostSilence {
			return "", err
		}
		tell(UploadProgress{Sent: most, Size: size, Err: err, Wait: wait})
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, mostWait)
	}
}

// sendRest sends what the server does not have of a list, and notes how much it has.
func (c *Client) sendRest(ctx context.Context, hash string, list io.ReaderAt, size int64, note func(received int64)) error {
	u, err := c.Upload(ctx, hash)
	var told *Error
	if err != nil && (!errors.As(err, &told) || told.Code != CodeNotFound) {
		return err
	}
	for note(u.Received); u.Received < size; note(u.Received) {
		if u, err = c.sendPart(ctx, hash, u.Received, io.NewSectionReader(list, u.Received, min(partSize, size-u.Received))); err != nil {
			return err
		}
	}
	if u.Received > size { // another list has the hash of this one only if parts of it are wrong
		return errors.Join(c.RemoveUpload(ctx, hash), fmt.Errorf("the server has %d bytes of a list of %d", u.Received, size))
	}
	return nil
}

// sendPart is UploadPart, which fails when nothing moves for mostStanding.
func (c *Client) sendPart(ctx context.Context, hash string, offset int64, part io.Reader) (resource.Upload, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := time.AfterFunc(mostStanding, func() { stop(fmt.Errorf("no byte of the list has left for %v", mostStanding)) })
	defer t.Stop()
	u, err := c.UploadPart(ctx, hash, offset, &watched{part, t, mostStanding})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return u, err
}

// watched starts a timer anew with each reading.
type watched struct {
	io.Reader
	timer *time.Timer
	after time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.after)
	return w.Reader.Read(p)
}

// passing reports whether the same part may be taken a while later. A connection that broke may.
func passing(err error) bool {
	var told *Error
	return !errors.As(err, &told) || told.Temporary() || told.Code == CodeWrongOffset || told.Status >= 500
}
