package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"campaignd/campaign/file"
	"campaignd/internal/command"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// writeDraft writes the campaign file of d for the list, into the folder.
func (p *program) writeDraft(ctx context.Context, folder, list string, d file.Draft) (err error) {
	path := filepath.Join(folder, d.Template+".yaml")
	switch _, err := os.Lstat(path); {
	case err == nil:
		return command.Invalid(fmt.Errorf("%s exists already, so nothing was written: name another folder", path))
	case !errors.Is(err, fs.ErrNotExist):
		return command.Invalid(err)
	}
	if d.List, err = recipients.Look(list); err != nil {
		return command.Invalid(err)
	}
	known, err := p.askTemplate(ctx, &d)
	if err != nil {
		return err
	}
	d.Language = cmp.Or(d.Language, "en_US")
	inFolder, err := filepath.Rel(folder, list)
	if err == nil && filepath.IsLocal(inFolder) {
		d.File = filepath.ToSlash(inFolder)
	}
	text := d.YAML()
	if _, err := file.Parse(path, []byte(text)); err != nil {
		return command.Invalid(err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := writeNew(path, []byte(text)); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%s: the campaign of template %s for %s\n", path, d.Template, list)
	next := "campaignd check " + path
	if d.File == "" {
		next += " --recipients " + list
	}
	if !known {
		fmt.Fprintln(p.Stderr, "campaignd: the service does not answer, so the template's variables are not filled in")
	}
	fmt.Fprintf(p.Stderr, "campaignd: next: look at it, then `%s`\n", next)
	return nil
}

// askTemplate finds the template and a connection for it at the service. known is false when the
// service does not answer, or lists no templates.
func (p *program) askTemplate(ctx context.Context, d *file.Draft) (known bool, err error) {
	d.Connection = "conn_1"
	c, err := p.load()
	if err != nil {
		return false, err
	}
	client, err := p.client(c)
	if err != nil {
		return false, nil //nolint:nilerr // without a configured service the file is written too
	}
	defer client.Close()
	connections, err := client.Connections(ctx)
	if err != nil || len(connections) == 0 {
		return false, ctx.Err()
	}
	var names []string
	for _, one := range connections {
		records, err := client.Templates(ctx, one.ID)
		if err != nil {
			return false, ctx.Err()
		}
		for i := range records {
			t := &records[i]
			names = append(names, t.Name)
			if t.Name == d.Template && (d.Language == "" || t.Language == messaging.FoldLanguage(d.Language)) {
				d.Record, d.Connection, d.Language = t, one.ID, t.Language
				return true, nil
			}
		}
	}
	slices.Sort(names)
	return false, command.Invalid(fmt.Errorf("the service lists no template %s; %s",
		strings.TrimSpace(d.Template+" "+cmp.Or(d.Language, "")), sentence.DidYouMean(d.Template, slices.Compact(names))))
}
