package client

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
)

// Launch has the paths of the files of a launch.
type Launch struct {
	Campaign string
	Header   string // the file that the campaign names as its header; "" if it names none
	List     string // "": the server makes the list of the campaign's audience
	// New launches another run even if the campaign already has a run over this list.
	New bool
	// LeaveOutSent leaves out who got the template from an earlier run, and SendAgain sends to them
	// too. With neither, the launch is refused if there are such people.
	LeaveOutSent, SendAgain bool
	// Once makes a launch with New safe to repeat: a second launch with the same Once finds the run of
	// the first. A launch without New is always safe to repeat.
	Once string
	// Tell, if it is not nil, is called with the progress of a list of more than 16 MiB, which is
	// uploaded in parts.
	Tell func(UploadProgress)
	// Waits, if it is not nil, is called each time the server is busy with other lists. The call then
	// waits for its turn.
	Waits func(*Error)
}

// Launch uploads a campaign and its list of up to 4 GiB. It returns when the list
// is imported; that takes minutes for millions of rows. The upload of a list of more than 16 MiB
// goes on after its connection broke (UploadList). While the server imports others, it waits. After
// an error, repeat the call: it continues the same run.
func (c *Client) Launch(ctx context.Context, l Launch) (out resource.Launched, err error) {
	q := call{method: http.MethodPost, path: "/runs", query: url.Values{}, once: l.Once}
	if l.New {
		q.query.Set("new", "true")
	}
	if l.LeaveOutSent {
		q.query.Set("sent_before", file.SentBeforeLeaveOut)
	}
	if l.SendAgain {
		q.query.Set("sent_before", file.SentBeforeSend)
	}
	return upload[resource.Launched](ctx, c, q, l)
}

// Check uploads a campaign and its list, and returns what a launch would do. The server keeps only
// a list that was uploaded in parts, for a day: a launch within that day does not upload it again.
func (c *Client) Check(ctx context.Context, l Launch) (*launch.Preflight, error) {
	return upload[*launch.Preflight](ctx, c, call{method: http.MethodPost, path: "/check"}, l)
}

// ForecastLaunch uploads a campaign and its list, and returns when the run would end if it were
// launched now. The server keeps the list as for Check.
func (c *Client) ForecastLaunch(ctx context.Context, l Launch) (plan.Forecast, error) {
	return upload[plan.Forecast](ctx, c, call{method: http.MethodPost, path: "/forecast"}, l)
}

// The wait for a server that is busy: firstTurn, each time twice as long, at most longestTurn.
const (
	firstTurn   = time.Second
	longestTurn = 8 * time.Second
)

// upload sends a call with the files of a launch, again while the server is busy with others.
func upload[T any](ctx context.Context, c *Client, q call, l Launch) (T, error) {
	return uploadWith(ctx, c, l, func(body io.Reader, kind string) (T, error) {
		q.file, q.fileType = body, kind
		return one[T](ctx, c, q)
	})
}

// uploadWith calls do with a form of the files of a launch, again while the server is busy with
// others.
func uploadWith[T any](ctx context.Context, c *Client, l Launch, do func(body io.Reader, kind string) (T, error)) (out T, err error) {
	var hash string
	if l.List != "" {
		info, err := os.Stat(l.List)
		if err != nil {
			return out, err
		}
		if info.Size() > partSize {
			var told *Error
			hash, err = c.UploadList(ctx, l.List, l.Tell)
			// A process that sends nothing takes no list to keep. It reads one that comes with the request.
			if err != nil && (!errors.As(err, &told) || told.Code != CodeNotOffered) {
				return out, err
			}
		}
	}
	for wait := firstTurn; ; wait = min(2*wait, longestTurn) {
		out, err = send(l, hash, do)
		var told *Error
		if !errors.As(err, &told) || told.Code != CodeBusy {
			return out, err
		}
		if l.Waits != nil {
			l.Waits(told)
		}
		select {
		case <-ctx.Done():
			return out, errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

// send calls do with a form of the files of a launch once.
func send[T any](l Launch, hash string, do func(body io.Reader, kind string) (T, error)) (T, error) {
	body, into := io.Pipe()
	form := multipart.NewWriter(into)
	written := make(chan struct{})
	go func() {
		defer close(written)
		into.CloseWithError(writeParts(form, l, hash)) // the request fails with its error
	}()
	defer func() {
		_ = body.CloseWithError(nil) // the writer ends too
		<-written
	}()
	return do(body, form.FormDataContentType())
}

// writeParts writes the files of a launch, in the order that the server wants. hash names a list
// that the server already has; "" if it has none.
func writeParts(form *multipart.Writer, l Launch, hash string) error {
	for _, part := range []struct{ field, path string }{{"campaign", l.Campaign}, {"header", l.Header}, {"list", l.List}} {
		if part.path == "" {
			continue
		}
		known := part.field == "list" && hash != ""
		if known {
			part.field = "upload"
		}
		w, err := form.CreateFormFile(part.field, filepath.Base(part.path))
		if err != nil {
			return err
		}
		if known {
			_, err = io.WriteString(w, hash)
		} else {
			err = copyFile(w, part.path)
		}
		if err != nil {
			return err
		}
	}
	return form.Close()
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}
