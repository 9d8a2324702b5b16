package api

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"

	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

// tried returns a function for uploaded that calls do with the uploaded campaign and list and keeps
// neither.
func tried[O any](s *Server, do func(ctx context.Context, f operator.File, list string) (O, error),
) func(http.ResponseWriter, *http.Request, string) (int, any, error) {
	return func(w http.ResponseWriter, r *http.Request, dir string) (int, any, error) {
		u, err := s.accept(w, r, dir)
		if err != nil {
			return 0, nil, err
		}
		if _, err := plan.CronOf(u.campaign, u.source, u.definition); err != nil {
			return 0, nil, err
		}
		var out O
		err = s.reading(r.Context(), func() error {
			out, err = do(r.Context(), operator.File{Path: u.campaign, Source: u.source, Definition: u.definition}, u.list)
			return err
		})
		return http.StatusOK, out, err
	}
}

// check is Process.Check for an upload. Its messages have the caller's own names of the files.
func (s *Server) check(ctx context.Context, f operator.File, list string) (*launch.Preflight, error) {
	found, err := s.process.Check(ctx, f, list)
	if err != nil {
		return nil, err
	}
	out, dir := *found, filepath.Dir(f.Path)
	out.List = strings.TrimPrefix(filepath.Base(out.List), uploads.ListPrefix)
	out.Findings = nil
	for _, found := range found.Findings {
		found.Where, found.What = uploads.WithoutPath(found.Where, dir), uploads.WithoutPath(found.What, dir)
		found.Remedy = uploads.WithoutPath(found.Remedy, dir)
		out.Findings = append(out.Findings, found)
	}
	if found.Launch != nil {
		launch := *found.Launch
		launch.Sentence = uploads.WithoutPath(launch.Sentence, dir)
		out.Launch = &launch
	}
	return &out, nil
}
