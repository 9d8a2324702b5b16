package client

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign"
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
}

// Launched is the answer to a launch.
type Launched struct {
	Run      LaunchedRun `json:"run"`
	Resumed  bool        `json:"resumed"` // the run had been launched before, and goes on
	Ended    bool        `json:"ended"`   // the run had ended before: nothing is sent
	Warnings []string    `json:"warnings,omitempty"`
}

// LaunchedRun is the run of a launch.
type LaunchedRun struct {
	ID        string         `json:"id"`
	Campaign  string         `json:"campaign"`
	State     campaign.State `json:"state"`
	Rows      int64          `json:"rows"`
	CreatedAt time.Time      `json:"created_at"`
}

// LaunchedRunOf returns the facts of a run.
func LaunchedRunOf(r campaign.Run) LaunchedRun {
	return LaunchedRun{r.ID(), r.Campaign, r.State, r.Rows, r.CreatedAt}
}

// Launch uploads a campaign and its list, of any size, and returns when they are imported: minutes
// for millions of rows. After an error the same call goes on with the same run.
func (c *Client) Launch(ctx context.Context, l Launch) (out Launched, err error) {
	q := call{method: http.MethodPost, path: "/runs", query: url.Values{}, once: l.Once}
	if l.New {
		q.query.Set("new", "true")
	}
	return upload[Launched](ctx, c, q, l)
}

// Check uploads a campaign and its list, and says what a launch would do. Nothing of them is kept.
func (c *Client) Check(ctx context.Context, l Launch) (*campaign.Preflight, error) {
	return upload[*campaign.Preflight](ctx, c, call{method: http.MethodPost, path: "/check"}, l)
}

// ForecastLaunch uploads a campaign and its list, and says when it would be done if it were launched
// now. Nothing of them is kept.
func (c *Client) ForecastLaunch(ctx context.Context, l Launch) (Forecast, error) {
	return upload[Forecast](ctx, c, call{method: http.MethodPost, path: "/forecast"}, l)
}

// upload sends a call with the files of a launch.
func upload[T any](ctx context.Context, c *Client, q call, l Launch) (T, error) {
	body, into := io.Pipe()
	form := multipart.NewWriter(into)
	written := make(chan struct{})
	go func() {
		defer close(written)
		into.CloseWithError(writeParts(form, l)) // the request fails with its error
	}()
	defer func() {
		_ = body.CloseWithError(nil) // the writer ends too
		<-written
	}()
	q.file, q.fileType = body, form.FormDataContentType()
	return one[T](ctx, c, q)
}

// writeParts writes the files of a launch, in the order that the server wants.
func writeParts(form *multipart.Writer, l Launch) error {
	for _, part := range []struct{ field, path string }{{"campaign", l.Campaign}, {"header", l.Header}, {"list", l.List}} {
		if part.path == "" {
			continue
		}
		w, err := form.CreateFormFile(part.field, filepath.Base(part.path))
		if err != nil {
			return err
		}
		f, err := os.Open(part.path)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return form.Close()
}
