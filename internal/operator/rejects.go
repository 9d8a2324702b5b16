package operator

import (
	"context"
	"io"
	"slices"

	"campaignd/campaign/launch"
	"campaignd/reporting"
)

// Rejects returns a Writer of the rows of a list that a correction can help, as a list with the
// reason of each (reporting.Rejects). It asks neither the service nor the ledger.
// The error is that of a list that cannot be read.
func Rejects(ctx context.Context, f File, path string) (Writer, error) {
	list, err := launch.OpenList(path, f.Definition.ListOptions(path))
	if err != nil {
		return nil, err
	}
	header, comma := slices.Clone(list.Header()), list.Dialect().Delimiter
	if err := list.Close(); err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		out, err := reporting.NewRejects(w, header, comma)
		if err != nil {
			return err
		}
		in := launch.PreflightInput{Definition: f.Definition, Source: f.Source, File: f.Path, List: path, Rejects: out.Add}
		if _, err := launch.RunPreflight(ctx, in); err != nil {
			return err
		}
		return out.Close()
	}, nil
}
