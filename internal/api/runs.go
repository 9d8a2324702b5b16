package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"campaignd/campaign"
)

// Options holds what a Server needs; all of it is required.
type Options struct {
	Key string // of the Access
	// Keys has the other keys; nil: there is none.
	Keys keyring
	// Dir is the folder of the uploads. It is made when it is needed, for this user alone.
	Dir string
	// Launch launches a campaign file over a list. ctx ends when the process stops, not with the request.
	Launch func(ctx context.Context, file, list string, another bool) (Launched, error)
	// Unfinished returns the unfinished runs, whose uploads are kept.
	Unfinished func(context.Context) ([]campaign.Run, error)
	Log        *slog.Logger
}

// Launched is the answer to a launch.
type Launched struct {
	Run      RunFacts `json:"run"`
	Resumed  bool     `json:"resumed"` // the run had been launched before, and goes on
	Ended    bool     `json:"ended"`   // the run had ended before: nothing is sent
	Warnings []string `json:"warnings,omitempty"`
}

// RunFacts is a run in answers.
type RunFacts struct {
	ID        string         `json:"id"`
	Campaign  string         `json:"campaign"`
	State     campaign.State `json:"state"`
	Rows      int64          `json:"rows"`
	CreatedAt time.Time      `json:"created_at"`
}

// FactsOf returns the facts of a run.
func FactsOf(r campaign.Run) RunFacts {
	return RunFacts{r.ID(), r.Campaign, r.State, r.Rows, r.CreatedAt}
}

// Server answers the API. Make it with New.
type Server struct {
	o     Options
	guard *guard
	ctx   context.Context // ends when the process stops; it is that of every launch

	mu   sync.Mutex
	busy map[string]bool // folders of the uploads under way
}

// uploadsAtOnce bounds the uploads under way: each imports with a core and 16 bytes a row.
const uploadsAtOnce = 2

// New makes a Server, whose launches end with ctx, and removes the uploads that no run needs any more.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{o: o, guard: newGuard(o.Key, o.Keys), ctx: ctx, busy: map[string]bool{}}
	return s, s.clean(ctx)
}

func (s *Server) clean(ctx context.Context) error {
	runs, err := s.o.Unfinished(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep(runs)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, err := s.guard.admit(r.Context(), r)
	switch {
	case err != nil:
		w.Header().Set("Connection", "close") // the list is not read
		e := errorOf(s.ctx, err)
		switch e.Status {
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", strconv.Itoa(int(wrongRefill.Seconds())))
		}
		e.write(w, "")
	case !who.scope.Allows(campaign.KeyOperate) || who.company != "":
		w.Header().Set("Connection", "close")
		(&Error{http.StatusForbidden, codeForbidden, "a launch needs a key of the scope operate, for all companies", nil}).write(w, "")
	case r.URL.Path != "/api/v1/runs":
		(&Error{http.StatusNotFound, "not_found", "there is no such route; POST /api/v1/runs launches a run", nil}).write(w, "")
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		(&Error{http.StatusMethodNotAllowed, "method_not_allowed", "POST launches a run", nil}).write(w, "")
	default:
		s.create(w, r)
	}
}

// create answers POST /api/v1/runs.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	dir, err := s.begin()
	if err != nil {
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "10")
		errorOf(s.ctx, err).write(w, s.o.Dir)
		return
	}
	launched, err := s.launch(w, r, dir)
	s.end(dir)
	switch {
	case err != nil:
		errorOf(s.ctx, err).write(w, dir)
	case launched.Resumed || launched.Ended:
		writeJSON(w, http.StatusOK, map[string]any{"data": launched})
	default:
		w.Header().Set("Location", "/api/v1/runs/"+launched.Run.ID)
		writeJSON(w, http.StatusCreated, map[string]any{"data": launched})
	}
}

// begin makes the folder of an upload.
func (s *Server) begin() (dir string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.busy) >= uploadsAtOnce {
		return "", &Error{http.StatusServiceUnavailable, codeBusy,
			fmt.Sprintf("%d lists are being imported; try again when one has ended", len(s.busy)), nil}
	}
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(s.o.Dir, uploadPrefix+"*"); err != nil {
		return "", err
	}
	s.busy[dir] = true
	return dir, nil
}

// end removes the uploads that no run needs.
func (s *Server) end(dir string) {
	s.mu.Lock()
	delete(s.busy, dir)
	s.mu.Unlock()
	if err := s.clean(context.WithoutCancel(s.ctx)); err != nil {
		s.o.Log.Warn("an upload cannot be removed; it is tried again with the next launch", "err", err)
	}
}

func (s *Server) launch(w http.ResponseWriter, r *http.Request, dir string) (Launched, error) {
	another := r.URL.Query().Get("new")
	if another != "" && another != "true" && another != "false" {
		return Launched{}, refuse("new=%q: want true or false", another)
	}
	// A list takes as long as it moves, and its import longer than an answer usually may.
	c := http.NewResponseController(w)
	if err := c.SetWriteDeadline(time.Time{}); err != nil {
		return Launched{}, err
	}
	r.Body = &moving{r.Body, c}
	parts, err := r.MultipartReader()
	if err != nil {
		return Launched{}, refuse("%v: want multipart/form-data with the parts campaign, header and list", err)
	}
	u, err := receive(dir, parts)
	if err != nil {
		return Launched{}, err
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return Launched{}, err
	}
	launched, err := s.o.Launch(s.ctx, u.campaign, u.list, another == "true")
	for i, text := range launched.Warnings {
		launched.Warnings[i] = withoutPath(text, dir)
	}
	if err == nil && launched.Run.State != campaign.Importing {
		// The ledger has its rows. The header file stays, to be uploaded again (campaign.RenewMedia).
		if err := os.Remove(u.list); err != nil {
			return launched, err
		}
	}
	if err == nil {
		s.o.Log.Info("a list was launched over the API", "run", launched.Run.ID, "rows", launched.Run.Rows,
			"resumed", launched.Resumed, "ended", launched.Ended, "list", filepath.Base(u.list))
	}
	return launched, err
}

// stall is how long a body may stand still.
const stall = 30 * time.Second

// moving is a body that may take any time while it moves.
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
