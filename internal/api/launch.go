package api

import (
	"context"
	"net/http"
	"time"

	"campaignd/campaign/file"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

// answeredAlready is the status of a route that has written its answer.
const answeredAlready = 0

// uploaded returns the handler of a route that takes a campaign and its list. do gets a folder for
// the files and returns the status and the data of the answer. Files that no run needs are removed
// before the answer.
func (s *Server) uploaded(id string, do func(w http.ResponseWriter, r *http.Request, dir string) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		dir, err := s.process.Uploads.Begin()
		if err != nil {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "10")
			s.failed(id, err).write(w, s.process.Uploads.Dir())
			return
		}
		status, data, err := func() (int, any, error) {
			defer func() {
				if err := s.process.Uploads.End(context.WithoutCancel(s.ctx), dir); err != nil {
					s.process.Log.Warn("an upload cannot be removed; it is tried again with the next launch", "err", err)
				}
			}()
			return do(w, r, dir)
		}()
		if err != nil {
			s.failed(id, err).write(w, dir)
			return
		}
		if status != answeredAlready {
			writeJSON(w, status, map[string]any{"data": data})
		}
	}
}

// take launches the upload in dir.
func (s *Server) take(w http.ResponseWriter, r *http.Request, dir string) (int, any, error) {
	if s.process.Launch == nil {
		return 0, nil, uploads.TakesNone()
	}
	launched, err := s.launch(w, r, dir)
	if err != nil || launched.Ended || launched.Resumed {
		return http.StatusOK, launched, err
	}
	w.Header().Set("Location", "/api/v1/runs/"+launched.Run.ID)
	return http.StatusCreated, launched, nil
}

// accept receives an upload into dir. The upload has no time limit while data arrives, and the
// answer may take longer than other answers. A list that is too large by the length of the request
// is refused before any of it is stored.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, dir string) (upload, error) {
	if err := s.process.Uploads.Fits(r.ContentLength - maxForm); err != nil {
		w.Header().Set("Connection", "close") // the answer waits for nothing of the list
		return upload{}, err
	}
	c := http.NewResponseController(w)
	if err := c.SetWriteDeadline(time.Time{}); err != nil {
		return upload{}, err
	}
	r.Body = uploads.Moving(w, r.Body)
	parts, err := r.MultipartReader()
	if err != nil {
		return upload{}, refuse("%v: want multipart/form-data with the parts campaign, header and list", err)
	}
	u, err := s.receive(r.Context(), dir, parts)
	if err != nil {
		return upload{}, err
	}
	return u, c.SetReadDeadline(time.Time{})
}

// launch receives an upload into dir and launches it.
func (s *Server) launch(w http.ResponseWriter, r *http.Request, dir string) (launched resource.Launched, err error) {
	q := r.URL.Query()
	u, err := s.accept(w, r, dir)
	if err != nil {
		return launched, err
	}
	return s.process.LaunchUpload(s.ctx, operator.Upload{Campaign: u.campaign, List: u.list, Staged: u.staged,
		Another: q.Get("new") == "true", LeaveOutSent: q.Get("sent_before") == file.SentBeforeLeaveOut,
		SendAgain:   q.Get("sent_before") == file.SentBeforeSend,
		Idempotency: requestOf(r.Context()).idem, By: requestOf(r.Context()).By, Trail: requestOf(r.Context()).Trail, Over: "the API"})
}
