package operator

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
	"campaignd/internal/uploads"
	"campaignd/recipients"
)

// The bounds of drafts: how long one is kept, and how many an operator has.
const (
	draftFor   = uploads.KeptFor
	mostDrafts = 100
)

// NewDraft begins a draft of a campaign of the folder.
func (d *Session) NewDraft(ctx context.Context, f File) (campaign.Draft, error) {
	if err := d.ofEveryCompany("drafts"); err != nil {
		return campaign.Draft{}, err
	}
	now := time.Now().UTC()
	dr := campaign.Draft{ID: random(sessionBytes), Owner: d.By, Campaign: f.Definition.Name, Source: f.Source, CreatedAt: now}
	return dr, d.Ledger.AddDraft(ctx, dr, d.Expiry.Before(draftFor), mostDrafts)
}

func (d *Session) ofEveryCompany(what string) error {
	if d.Company != "" {
		return fmt.Errorf("%w: %s are for keys of every company", ErrForbidden, what)
	}
	return nil
}

// Draft returns a draft of the operator's own. Another one's is campaign.ErrNoDraft.
func (d *Session) Draft(ctx context.Context, id string) (campaign.Draft, error) {
	dr, err := d.Ledger.Draft(ctx, id)
	if err == nil && (d.Company != "" || dr.Owner != d.By || !dr.CreatedAt.After(d.Expiry.Before(draftFor))) {
		err = campaign.ErrNoDraft
	}
	if err != nil {
		return campaign.Draft{}, err
	}
	return dr, nil
}

// Drafts lists the operator's drafts that were not launched, the newest first.
func (d *Session) Drafts(ctx context.Context) (open []campaign.Draft, err error) {
	all, err := d.Ledger.Drafts(ctx, d.By)
	for _, dr := range all {
		if dr.Run == "" && dr.CreatedAt.After(d.Expiry.Before(draftFor)) {
			open = append(open, dr)
		}
	}
	return open, err
}

// ChangeDraft stores the campaign file, the name of the list and the run of a draft.
func (d *Session) ChangeDraft(ctx context.Context, dr campaign.Draft) error {
	return d.Ledger.ChangeDraft(ctx, dr)
}

// Prepared is a draft in a folder of its own, as check and launch read it.
type Prepared struct {
	File File
	List string // its path

	process *Process
	draft   campaign.Draft
	dir     string
}

// Prepare puts the campaign file of a draft, its header file and its list into a folder, which End
// removes. The error is an *uploads.Fault if the list is not there, or if enough lists are read.
func (p *Process) Prepare(ctx context.Context, dr campaign.Draft) (_ *Prepared, err error) {
	def, err := file.Parse(dr.Campaign+".yaml", dr.Source)
	if err != nil {
		return nil, err
	}
	dir, err := p.Uploads.Begin()
	if err != nil {
		return nil, err
	}
	out := &Prepared{process: p, draft: dr, dir: dir, List: filepath.Join(dir, uploads.ListPrefix+uploads.Plain(dr.ListName)),
		File: File{Path: filepath.Join(dir, uploads.CampaignPrefix+uploads.Plain(dr.Campaign)+".yaml"), Source: dr.Source, Definition: def}}
	err = os.WriteFile(out.File.Path, dr.Source, 0o600)
	if err == nil {
		err = p.copyHeader(dr.Campaign, def.Template.Header.File(), dir)
	}
	if err == nil {
		err = p.Uploads.Place(dr.Staged(), out.List)
	}
	if err != nil {
		out.End()
		return nil, err
	}
	return out, nil
}

// copyHeader copies the header file of a campaign of the folder.
func (p *Process) copyHeader(name, header, dir string) (err error) {
	if header == "" {
		return nil
	}
	files, err := p.Folder()
	if err != nil {
		return err
	}
	for i := range files {
		if def := files[i].Definition; def == nil || def.Name != name || !filepath.IsLocal(header) {
			continue
		}
		root, err := os.OpenRoot(filepath.Dir(files[i].Path))
		if err != nil {
			return err
		}
		defer root.Close()
		from, err := root.Open(header)
		if err != nil {
			return invalid("the header file %s of the campaign cannot be read: %v", header, err)
		}
		defer from.Close()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(header)), 0o700); err != nil {
			return err
		}
		to, err := os.OpenFile(filepath.Join(dir, header), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err = io.Copy(to, from); err != nil {
			_ = to.Close()
			return err
		}
		return to.Close()
	}
	return invalid("the campaign %s is no longer in the campaigns folder, and its header file is there", name)
}

// End removes the folder, unless a run needs it.
func (x *Prepared) End() {
	if err := x.process.Uploads.End(context.Background(), x.dir); err != nil {
		x.process.Log.Warn("an upload cannot be removed; it is tried again with the next launch", "err", err)
	}
}

// WithoutFolder removes the folder of a draft from a text.
func WithoutFolder(text string, x *Prepared) string { return uploads.WithoutPath(text, x.dir) }

// Check says what a launch would do. Its messages have no folder of the server.
func (x *Prepared) Check(ctx context.Context) (*launch.Preflight, error) {
	found, err := x.process.Check(ctx, x.File, x.List)
	if err != nil {
		return nil, err
	}
	for i := range found.Findings {
		f := &found.Findings[i]
		f.Where, f.What, f.Remedy = uploads.WithoutPath(f.Where, x.dir), uploads.WithoutPath(f.What, x.dir), uploads.WithoutPath(f.Remedy, x.dir)
	}
	if found.Launch != nil {
		found.Launch.Sentence = uploads.WithoutPath(found.Launch.Sentence, x.dir)
	}
	return found, nil
}

// Head returns the header and the first rows of the list, whether or not the campaign knows its
// columns.
func (x *Prepared) Head(rows int) (recipients.Head, error) {
	o := x.File.Definition.ListOptions(x.List)
	list, err := recipients.OpenFile(x.List, o.Within)
	if err != nil {
		return recipients.Head{}, err
	}
	defer list.Close()
	return recipients.ReadHead(list, x.List, o, rows)
}

// Foresee says when the draft would be done, which was checked.
func (x *Prepared) Foresee(ctx context.Context, found *launch.Preflight) (plan.Forecast, error) {
	return x.process.Foresee(ctx, x.File, found)
}

// Sample is the message of a row; 0: the first row that can be sent.
func (x *Prepared) Sample(ctx context.Context, row int64) (*launch.Sample, error) {
	return x.process.Sample(ctx, x.File.Path, x.List, row)
}

// SendTest sends the message of a row to a number of the operator, who is d.
func (x *Prepared) SendTest(ctx context.Context, d *Session, row int64, to string) (*launch.Sample, messaging.Receipt, error) {
	return x.process.SendTest(ctx, d, x.draft.Campaign, x.File.Path, x.List, row, to)
}

// Launch launches the draft, once: its id is the idempotency key. ctx is that of the process. The
// choices of the operator are in u.
func (x *Prepared) Launch(ctx context.Context, d *Session, u Upload) (resource.Launched, error) {
	u.Campaign, u.List, u.Staged = x.File.Path, x.List, x.draft.Staged()
	u.Idempotency, u.Draft, u.By, u.Over = x.draft.ID, x.draft.ID, d.By, "the console"
	launched, err := x.process.LaunchUpload(ctx, u)
	if err != nil {
		return launched, err
	}
	x.draft.Run = launched.Run.ID // also if an earlier launch made it
	if err := d.ChangeDraft(ctx, x.draft); err != nil {
		x.process.Log.Error("the draft of a launched list is still shown as open", "run", launched.Run.ID, "err", err)
	}
	return launched, nil
}
