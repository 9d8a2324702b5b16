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
	"strings"
	"time"

	"campaignd/internal/client/resource"
	"campaignd/internal/uploads"
)

// MaxPart is the largest part of a list, in bytes.
const MaxPart = uploads.MaxPart

// partSize is the size of the parts that UploadList sends, in bytes. Launch sends a list of at most
// partSize together with its campaign instead.
const partSize = 16 << 20

// The times of UploadList. A server that restarts answers again within seconds. A server that
// notices nothing of a broken connection ends its request after 30 s.
const (
	firstWait   = 250 * time.Millisecond // after the first failure; it doubles with each
	maxWait     = 10 * time.Second
	maxSilence  = 5 * time.Minute // without progress at the server
	maxStanding = time.Minute     // without a byte sent, and without the answer
)

// BeginUpload begins a list whose hash is not known yet. The id that it returns names the list
// until FinishUpload has named it by its hash.
func (c *Client) BeginUpload(ctx context.Context) (resource.Upload, error) {
	return one[resource.Upload](ctx, c, call{method: http.MethodPost, path: "/uploads"})
}

// FinishUpload names a list of size bytes, which has come whole, by its hash in place of its id. It
// may be repeated. If the content does not have the hash, the error has CodeWrongHash, and the
// server has removed the list.
func (c *Client) FinishUpload(ctx context.Context, id string, size int64, hash string) (resource.Upload, error) {
	return one[resource.Upload](ctx, c, call{method: http.MethodPatch, path: uploadPath(id), file: strings.NewReader(""), long: true,
		fileType: "application/octet-stream", query: url.Values{"offset": {strconv.FormatInt(size, 10)}, "sha256": {hash}}})
}

// Upload returns how much of a list the server has, by its hash or its id. If it has nothing, the
// error has CodeNotFound.
func (c *Client) Upload(ctx context.Context, hash string) (resource.Upload, error) {
	return one[resource.Upload](ctx, c, call{method: http.MethodGet, path: uploadPath(hash)})
}

// ListHead returns how a list that the server has is written, its columns and its first 20 rows.
func (c *Client) ListHead(ctx context.Context, hash string) (resource.ListHead, error) {
	return one[resource.ListHead](ctx, c, call{method: http.MethodGet, path: uploadPath(hash) + "/head"})
}

// RemoveUpload removes a list from the server. It is no error if the server has nothing of it.
func (c *Client) RemoveUpload(ctx context.Context, hash string) error {
	_, err := one[resource.Upload](ctx, c, call{method: http.MethodDelete, path: uploadPath(hash)})
	return err
}

// UploadPart appends a part of at most MaxPart bytes to a list. offset is the position of its first
// byte in the list; if the server has another number of bytes, the error has CodeWrongOffset. The
// server keeps what it received of a part that ends early.
func (c *Client) UploadPart(ctx context.Context, hash string, offset int64, part io.Reader) (resource.Upload, error) {
	return one[resource.Upload](ctx, c, call{method: http.MethodPatch, path: uploadPath(hash),
		file: part, fileType: "application/octet-stream", query: url.Values{"offset": {strconv.FormatInt(offset, 10)}}})
}

func uploadPath(hash string) string { return "/uploads/" + url.PathEscape(hash) }

// UploadProgress is the state of an upload in parts.
type UploadProgress struct {
	Sent, Size int64         // bytes
	Err        error         // why the upload waits; nil while it sends
	Wait       time.Duration // until the next try; 0 if Err is nil
}

// UploadList uploads a list in parts and returns its hash. It continues an earlier upload of the
// same list, also one of another process. A list of more than 4 GiB is refused at once. If the
// server does not answer, it tries again until there was no progress for 5 minutes. tell, if it is
// not nil, is called after each part and each failure.
func (c *Client) UploadList(ctx context.Context, path string, tell func(UploadProgress)) (hash string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = uploads.Fits(info.Size(), uploads.MaxList)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
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
		if ctx.Err() != nil || !passing(err) || time.Since(grew) > maxSilence {
			return "", err
		}
		tell(UploadProgress{Sent: most, Size: size, Err: err, Wait: wait})
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, maxWait)
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

// sendPart is UploadPart, but it fails after maxStanding without progress.
func (c *Client) sendPart(ctx context.Context, hash string, offset int64, part io.Reader) (resource.Upload, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := time.AfterFunc(maxStanding, func() { stop(fmt.Errorf("no byte of the list has left for %v", maxStanding)) })
	defer t.Stop()
	u, err := c.UploadPart(ctx, hash, offset, &watched{part, t, maxStanding})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return u, err
}

// watched restarts a timer with each read.
type watched struct {
	io.Reader
	timer *time.Timer
	after time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.after)
	return w.Reader.Read(p)
}

// passing reports whether a later try may succeed after err, as after a broken connection.
func passing(err error) bool {
	var told *Error
	if errors.As(err, &told) && told.Code == CodeNotOffered {
		return false // the process takes no list
	}
	return told == nil || told.Temporary() || told.Code == CodeWrongOffset || told.Status >= 500
}
