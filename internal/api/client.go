package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Request is a launch for Client.Launch: the paths of the files. Header is "" if the campaign names none.
type Request struct {
	Campaign, Header, List string
	New                    bool
}

// Launch sends a campaign and its list to the process of an Access, and waits until they are imported.
// The error is an *Error if that process answered with one, and a *net.OpError below others if nobody
// listens.
func (a Access) Launch(ctx context.Context, r Request) (out Launched, err error) {
	address, err := url.JoinPath(a.URL, "/api/v1/runs")
	if err != nil {
		return out, err
	}
	if r.New {
		address += "?new=true"
	}
	body, into := io.Pipe()
	form := multipart.NewWriter(into)
	written := make(chan struct{})
	go func() {
		defer close(written)
		into.CloseWithError(writeParts(form, r)) // the request fails with its error
	}()
	defer func() {
		_ = body.CloseWithError(nil) // the writer ends too
		<-written
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return out, err
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Expect", "100-continue") // a refusal comes before the list is sent
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // no proxy: the process is on this machine
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, ExpectContinueTimeout: 5 * time.Second, DisableKeepAlives: true,
			TLSClientConfig: a.tls(),
		},
	}
	res, err := client.Do(req)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	return answer(res)
}

// answer reads an answer of at most 1 MiB.
func answer(res *http.Response) (out Launched, err error) {
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return out, err
	}
	if res.StatusCode/100 == 2 {
		var data struct{ Data Launched }
		if err := json.Unmarshal(text, &data); err != nil || data.Data.Run.ID == "" {
			return out, fmt.Errorf("an answer that is not understood (%s): %.100q", res.Status, text)
		}
		return data.Data, nil
	}
	e := &Error{Status: res.StatusCode}
	if err := json.Unmarshal(text, e); err != nil || e.Message == "" {
		return out, fmt.Errorf("an answer that is not understood (%s): %.100q", res.Status, text)
	}
	return out, e
}

// writeParts writes the files of a request, in the order that the server wants.
func writeParts(form *multipart.Writer, r Request) error {
	for _, part := range []struct{ field, path string }{{"campaign", r.Campaign}, {"header", r.Header}, {"list", r.List}} {
		if part.path == "" {
			continue
		}
		w, err := form.CreateFormFile(part.field, filepath.Base(part.path))
		if err != nil {
			return err
		}
		f, err := os.Open(part.path) //nolint:gosec // the operator names it
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
