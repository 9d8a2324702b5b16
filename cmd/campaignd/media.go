package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sentence"
)

func (p *program) cmdMedia() *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "media",
		Short: "List, upload and delete the files that the service keeps",
		Long: `The service keeps a file for 30 days. A campaign file refers to one by its id (header: {image: {assetId: ID}}); a
run uploads the file of its header itself. These commands call the service with service.api_key. Over the Cloud API
only upload is available, and the file belongs to one number.`,
	}, p.cmdMediaList(), p.cmdMediaUpload(), p.cmdMediaPrune())
}

func (p *program) cmdMediaList() *cobra.Command {
	var connection string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the files that the service keeps",
		Example: "  campaignd media list\n  campaignd media list --connection conn_1 -o json",
		Args:    command.NoArguments,
	}
	cmd.Flags().StringVar(&connection, "connection", "", "only files of the company of this connection (default: all that the key reaches)")
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		far, err := p.Remote()
		if err != nil {
			return err
		}
		if far != nil {
			files, err := far.Media(cmd.Context(), connection)
			if err != nil {
				return command.RequestError(err)
			}
			return p.writeFiles(o, files)
		}
		list := func(_ *config.Config, c *service.Client) error {
			files, err := c.Files(cmd.Context(), connection)
			if err != nil {
				return notOffered(err, "media_list")
			}
			return p.writeFiles(o, files)
		}
		if connection == "" {
			return p.withService(list)
		}
		return p.withAccount(cmd.Context(), connection, func(_ *config.Config, c *connector.Set, _ account) error {
			files, err := c.Files(cmd.Context(), connection)
			if err != nil {
				return notOffered(err, "media_list")
			}
			return p.writeFiles(o, files)
		})
	}
	return cmd
}

// notOffered names the operation that the service does not have.
func notOffered(err error, operation string) error {
	switch {
	case errors.Is(err, connector.ErrOverCloud):
		return command.Invalid(fmt.Errorf("the Cloud API, over which this connection is reached, does not offer %s", operation))
	case service.NotOffered(err):
		return fmt.Errorf("the service does not offer %s here (see service.assumed.paths): %w", operation, err)
	}
	return err
}

func (p *program) writeFiles(o *command.Output, files []service.File) error {
	return command.WriteList(&p.Program, o, []string{"FILE", "BYTES", "UNTIL", "TYPE", "NAME"}, files, func(f service.File) []string {
		return []string{f.ID, fmt.Sprint(f.Size), f.ExpiresAt.Format(time.DateOnly),
			f.ContentType, f.Filename}
	})
}

// uploadedFile is the answer to an upload in JSON.
type uploadedFile struct {
	ID          string    `json:"assetId"`
	Filename    string    `json:"filename"`
	ContentType string    `json:"contentType"`
	Size        int64     `json:"size"`
	ExpiresAt   time.Time `json:"expiresAt"`
}

func (p *program) cmdMediaUpload() *cobra.Command {
	var connection string
	cmd := &cobra.Command{
		Use:   "upload FILE",
		Short: "Upload a file for message headers and print its id",
		Long: `Checks that the platform accepts the file (content, name and size), stores it at the service for the client of the
connection, and prints its id for header: {image: {assetId: ID}} in campaign files. Over the Cloud API only the
number of the connection can send the file.`,
		Example: "  campaignd media upload banner.jpg --connection conn_1\n  campaignd media upload banner.jpg --connection conn_1 -o json",
		Args:    command.OneArgument("FILE", "banner.jpg"),
	}
	cmd.Flags().StringVar(&connection, "connection", "",
		"connection whose company, or over the Cloud API whose number, gets the file (default: the only one)")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := os.Stat(args[0]); err != nil {
			return command.Invalid(err)
		}
		folder, name := filepath.Split(args[0])
		contentType, err := file.DetectMedia(filepath.Clean(folder), name)
		if err != nil {
			return command.Invalid(err)
		}
		return p.withConnectors(func(_ *config.Config, c *connector.Set) error {
			up, err := upload(cmd.Context(), c, args[0], connection, contentType)
			if err != nil {
				return err
			}
			return p.Say(o, up, up.ID)
		})
	}
	return cmd
}

func upload(ctx context.Context, c *connector.Set, path, connection, contentType string) (_ uploadedFile, err error) {
	if connection, err = onlyConnection(ctx, c, connection); err != nil {
		return uploadedFile{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return uploadedFile{}, err
	}
	defer command.Closing(f, &err)
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return uploadedFile{}, err
	}
	a, err := c.UploadMedia(ctx, connection, filepath.Base(path), contentType, f)
	return uploadedFile{a.ID, filepath.Base(path), contentType, size, a.ExpiresAt}, err
}

// onlyConnection is the connection that a flag names, or the only one that there is.
func onlyConnection(ctx context.Context, c *connector.Set, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	all, err := c.Connections(ctx)
	if err != nil {
		return "", err
	}
	if len(all) != 1 {
		return "", command.Invalid(fmt.Errorf("the configuration reaches %s: name one with --connection ID",
			sentence.Count(int64(len(all)), "connection", "connections")))
	}
	return all[0].ID, nil
}

// pruned is the outcome of a prune in JSON.
type pruned struct {
	Files   []service.File `json:"files"`
	Deleted int            `json:"deleted"`
	Gone    int            `json:"gone"` // deleted by somebody else meanwhile
}

func (p *program) cmdMediaPrune() *cobra.Command {
	var connection string
	var yes bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "List the files that no unfinished run uses, and delete them with --yes",
		Long: `Compares the files that the service keeps with the unfinished runs of the ledger. Files that a campaign file names
but no run uses yet are listed too, and so are files of runs in another ledger. Without --yes nothing is deleted.`,
		Example: "  campaignd media prune\n  campaignd media prune --yes",
		Args:    command.NoArguments,
	}
	cmd.Flags().StringVar(&connection, "connection", "", "only files of the company of this connection (default: all that the key reaches)")
	cmd.Flags().BoolVar(&yes, "yes", false, "delete the files that are listed")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withService(func(cfg *config.Config, c *service.Client) error {
			unused, err := unusedFiles(cmd.Context(), cfg, c, connection)
			if err != nil {
				return err
			}
			found := pruned{Files: unused}
			if yes {
				if err = found.delete(cmd.Context(), c, connection); service.NotOffered(err) {
					return err
				}
			}
			if o.JSON() {
				return errors.Join(err, command.WriteJSON(p.Stdout, found))
			}
			if err := p.writeFiles(o, unused); err != nil {
				return err
			}
			said := "nothing was deleted; --yes deletes them"
			if yes || len(unused) == 0 {
				said = sentence.Count(int64(found.Deleted), "file was", "files were") + " deleted"
			}
			if found.Gone > 0 {
				said += fmt.Sprintf("; %d had been deleted already", found.Gone)
			}
			_, failure := fmt.Fprintln(p.Stderr, said)
			return errors.Join(err, failure)
		})
	}
	return cmd
}

// mostFailures is how many deletions may fail one after the other: then the files are not at fault.
const mostFailures = 3

// delete deletes the files, and counts them. A failure ends it only if the service does not offer
// the operation, or if mostFailures came one after the other.
func (d *pruned) delete(ctx context.Context, c *service.Client, connection string) (first error) {
	failures := 0
	for _, f := range d.Files {
		gone, err := deleteFile(ctx, c, f.ID, connection)
		switch {
		case err != nil:
			failures++
			first = cmp.Or(first, fmt.Errorf("%s was not deleted, %d before it were: %w", f.ID, d.Deleted, err))
		case gone:
			d.Gone, failures = d.Gone+1, 0
		default:
			d.Deleted, failures = d.Deleted+1, 0
		}
		if failures == mostFailures || ctx.Err() != nil || service.NotOffered(err) {
			break
		}
	}
	return first
}

// deleteFile deletes a file of the service, or reports that it is gone already. A 404 has two
// meanings: the file is gone, or the service does not offer the operation, and then lists the file
// still.
func deleteFile(ctx context.Context, c *service.Client, id, connection string) (gone bool, err error) {
	err = c.DeleteFile(ctx, id)
	if !service.NotOffered(err) {
		return false, err
	}
	files, failed := c.Files(ctx, connection)
	if failed == nil && !slices.ContainsFunc(files, func(f service.File) bool { return f.ID == id }) {
		return true, nil
	}
	return false, notOffered(err, "media_delete")
}

// unusedFiles are the files at the service that no unfinished run of the ledger uses.
func unusedFiles(ctx context.Context, cfg *config.Config, c *service.Client, connection string) (_ []service.File, err error) {
	if err := backend.Lost(cfg); err != nil {
		return nil, err
	}
	if cfg.NoLedger() {
		return nil, command.Invalid(errors.New("there is no ledger, so it is not known which files runs use; check ledger in the configuration"))
	}
	// The files come first: a run that is launched meanwhile uploads a new one.
	files, err := c.Files(ctx, connection)
	if err != nil {
		return nil, notOffered(err, "media_list")
	}
	l, err := backend.Read(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	defer l.Close() //nolint:errcheck // read only
	used, err := launch.UsedAssets(ctx, l)
	if err != nil {
		return nil, err
	}
	unused := []service.File{}
	for _, f := range files {
		if used[f.ID] == "" {
			unused = append(unused, f)
		}
	}
	return unused, nil
}
