package api

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/uploads"
)

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
		writeJSON(w, status, map[string]any{"data": data})
	}
}

// take launches the upload in dir. A failure of the log of actions or of removing a file does not
// stop the launch.
func (s *Server) take(w http.ResponseWriter, r *http.Request, dir string) (int, any, error) {
	if s.process.Launch == nil {
		return 0, nil, &Error{http.StatusServiceUnavailable, client.CodeStopping, "this process takes no list: it does not send", nil}
	}
	launched, list, err := s.launch(w, r, dir)
	if err != nil || launched.Ended {
		return http.StatusOK, launched, err
	}
	if err := s.process.Session.Note(s.ctx, requestOf(r.Context()).By, "launch", launched.Run.ID, ""); err != nil {
		s.process.Log.Error("a launch is not in the log of actions", "run", launched.Run.ID, "err", err)
		launched.Warnings = append(launched.Warnings, "the log of actions has no line of this launch")
	}
	name := strings.TrimPrefix(filepath.Base(list), uploads.ListPrefix)
	if launched.Resumed {
		s.process.Log.Info("a list of an unfinished run came again over the API", "run", launched.Run.ID, "list", name)
		return http.StatusOK, launched, nil
	}
	s.process.Log.Info("a list was launched over the API", "run", launched.Run.ID, "rows", launched.Run.Rows, "list", name)
	w.Header().Set("Location", "/api/v1/runs/"+launched.Run.ID)
	return http.StatusCreated, launched, nil
}

// accept receives an upload into dir. The upload has no time limit while data arrives, and the
// answer may take longer than other answers.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, dir string) (upload, error) {
	c := http.NewResponseController(w)
	if err := c.SetWriteDeadline(time.Time{}); err != nil {
		return upload{}, err
	}
	r.Body = &moving{r.Body, c}
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

// launch receives an upload into dir and launches it. list is the path of its list.
func (s *Server) launch(w http.ResponseWriter, r *http.Request, dir string) (launched resource.Launched, list string, err error) {
	another := r.URL.Query().Get("new")
	if another != "" && another != "true" && another != "false" {
		return resource.Launched{}, "", refuse("new=%q: want true or false", another)
	}
	u, err := s.accept(w, r, dir)
	if err != nil {
		return resource.Launched{}, "", err
	}
	launched, err = s.process.Launch(s.ctx, u.campaign, u.list, another == "true", requestOf(r.Context()).idem,
		requestOf(r.Context()).By)
	for i, text := range launched.Warnings {
		launched.Warnings[i] = withoutPath(text, dir)
	}
	if err != nil {
		return launched, u.list, err
	}
	if u.staged != "" {
		if err := s.process.Uploads.Remove(u.staged); err != nil {
			s.process.Log.Warn("an uploaded list cannot be removed; it is removed a day after its last part", "run", launched.Run.ID, "err", err)
		}
	}
	if launched.Run.State != campaign.Importing && u.list != "" {
		// The ledger has its rows. The header file stays, to be uploaded again (campaign.RenewMedia).
		if err := os.Remove(u.list); err != nil {
			s.process.Log.Warn("an uploaded list cannot be removed", "run", launched.Run.ID, "err", err)
		}
	}
	return launched, u.list, nil
}

// stall is the longest time without a byte of a body.
const stall = 30 * time.Second

// moving is a body without a time limit while data arrives.
type moving struct {
	io.ReadCloser
	c *http.ResponseController
}

func (m *moving) Read(p []byte) (int, error) {
	if err := m.c.SetReadDeadline(time.Now().Add(stall)); err != nil {
		return 0, err
	}
	return m.ReadCloser.Read(p)
}
