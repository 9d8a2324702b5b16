package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"

	"campaignd/campaign/launch"
	"campaignd/internal/command"
	"campaignd/reporting"
)

// rejectsInto makes the preflight write its rejected rows into the file path, which it empties
// first. It refuses a file that the check reads. The caller calls done after the preflight.
func rejectsInto(path string, in *launch.PreflightInput) (done func() error, err error) {
	list, err := launch.OpenList(in.List, in.Definition.ListOptions(in.List))
	if err != nil {
		return nil, err
	}
	header, comma := slices.Clone(list.Header()), list.Dialect().Delimiter
	if err := list.Close(); err != nil {
		return nil, err
	}
	f, err := rejectsFile(path, in.List, in.File)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriter(f)
	rejects, err := reporting.NewRejects(w, header, comma)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	in.Rejects = rejects.Add
	return func() error {
		err := rejects.Close()
		if err == nil {
			err = w.Flush() // its error stays, so a second one would be the same
		}
		return errors.Join(err, f.Close())
	}, nil
}

// rejectsFile empties the file of --rejects. It refuses one of the files that the check reads.
func rejectsFile(path string, reads ...string) (*os.File, error) {
	if path == "-" {
		return nil, command.Invalid(errors.New("--rejects -: standard output has the result of the check; name a file"))
	}
	for _, read := range reads {
		if sameFile(path, read) {
			return nil, command.Invalid(fmt.Errorf("--rejects %s would overwrite %s; name another file", path, read))
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, command.Unwritable(path, fmt.Errorf("--rejects: %w", err))
	}
	return f, nil
}

// sameFile reports whether both paths lead to one existing file.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
