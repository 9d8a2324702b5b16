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

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/client/resource"
)

// Launch is a campaign and a list to launch: the paths of their files.
type Launch struct {
	Campaign string
	Header   string // the file that the campaign's header names; "": it names none
	List     string
	// New launches another run although the list has one.
	New bool
	// Once makes a launch with New safe to repeat: a second one with the same word finds the run of
	// the first. Without New the list itself does that.
	Once string
	// Tell, if it is not nil, is told how a list of more than 16 MiB moves, which goes in parts.
	Tell func(UploadProgress)
}

// Launch uploads a campaign and its list, of up to 8 GiB, and returns when they are imported:
// minutes for millions of rows. A list of more than 16 MiB goes on where its connection broke
// (UploadList). After an error the same call goes on with the same run.
func (c *Client) Launch(ctx context.Context, l Launch) (out resource.Launched, err error) {
	q := call{method: http.MethodPost, path: "/runs", query: url.Values{}, once: l.Once}
	if l.New {
		q.query.Set("new", "true")
	}
	return upload[resource.Launched](ctx, c, q, l)
}

// Check uploads a campaign and its list, and says what a launch would do. Nothing of them is
// kept, but a list that went in parts, for a day: a launch then need not upload it again.
func (c *Client) Check(ctx context.Context, l Launch) (*campaign.Preflight, error) {
	return upload[*campaign.Preflight](ctx, c, call{method: http.MethodPost, path: "/check"}, l)
}

// ForecastLaunch uploads a campaign and its list, and says when it would be done if it were
// launched now. The list is kept as by Check.
func (c *Client) ForecastLaunch(ctx context.Context, l Launch) (plan.Forecast, error) {
	return upload[plan.Forecast](ctx, c, call{method: http.MethodPost, path: "/forecast"}, l)
}

// upload sends a call with the files of a launch.
func upload[T any](ctx context.Context, c *Client, q call, l Launch) (out T, err error) {
	info, err := os.Stat(l.List)
	if err != nil {
		return out, err
	}
	var hash string
	if info.Size() > partSize {
		if hash, err = c.UploadList(ctx, l.List, l.Tell); err != nil {
			return out, err
		}
	}
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
	q.file, q.fileType = body, form.FormDataContentType()
	return one[T](ctx, c, q)
}

// writeParts writes the files of a launch, in the order that the server wants. hash is that of a
// list which the server has; "" if it does not.
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
