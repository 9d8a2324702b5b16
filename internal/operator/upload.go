package operator

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
	"campaignd/internal/uploads"
	"campaignd/recipients"
)

// Upload is a campaign file and its list, in a folder of their own.
type Upload struct {
	Campaign, List string // paths; List is "" for a campaign whose list is made
	Staged         string // the name of a list that arrived in parts; "": it did not
	Another        bool   // another run, although this list has one
	LeaveOutSent   bool   // without the people who got the template before
	SendAgain      bool   // to them too
	Idempotency    string // a repeated one finds the same run again; "": none
	Draft          string // the draft that it is launched from; "": none
	By             string // the operator
	Trail          *Trail // of the request
	Over           string // for the log, for example "the API"
}

// LaunchUpload launches an upload, and removes what the ledger has then. A failure of the log of
// actions or of removing a file does not stop the launch. ctx is that of the process.
func (p *Process) LaunchUpload(ctx context.Context, u Upload) (resource.Launched, error) {
	launched, err := p.Launch(ctx, u)
	for i, text := range launched.Warnings {
		launched.Warnings[i] = uploads.WithoutPath(text, filepath.Dir(u.Campaign))
	}
	if err != nil {
		return launched, err
	}
	run := launched.Run.ID
	if u.Staged != "" {
		if err := p.Uploads.Remove(u.Staged); err != nil {
			p.Log.Warn("an uploaded list cannot be removed; it is removed a day after its last part", "run", run, "err", err)
		}
	}
	if launched.Run.State != campaign.Importing && u.List != "" {
		// The ledger has its rows. The header file stays, to be uploaded again (campaign.RenewMedia).
		if err := os.Remove(u.List); err != nil {
			p.Log.Warn("an uploaded list cannot be removed", "run", run, "err", err)
		}
	}
	if launched.Ended {
		u.Trail.Idle()
		return launched, nil
	}
	session := p.Session
	session.Trail = u.Trail
	if err := session.Note(ctx, u.By, "launch", run, ""); err != nil {
		p.Log.Error("a launch is not in the log of actions", "run", run, "err", err)
		launched.Warnings = append(launched.Warnings, "the log of actions has no line of this launch")
	}
	name := "made from the audience"
	if u.List != "" {
		name = strings.TrimPrefix(filepath.Base(u.List), uploads.ListPrefix)
	}
	if launched.Resumed {
		p.Log.Info("a list of an unfinished run came again over "+u.Over, "run", run, "list", name)
		return launched, nil
	}
	p.Log.Info("a list was launched over "+u.Over, "run", run, "rows", launched.Run.Rows, "list", name)
	return launched, nil
}

// The bounds of the head of an uploaded list.
const (
	headRows = 20
	headCell = 1000 // characters
)

// ListHead returns the dialect, the header and the first rows of what has come of a list.
func (p *Process) ListHead(name string) (resource.ListHead, error) {
	list, err := p.Uploads.Open(name)
	if err != nil {
		return resource.ListHead{}, err
	}
	defer list.Close()
	h, err := recipients.ReadHead(list, "the list", recipients.Options{}, headRows)
	if err != nil {
		return resource.ListHead{}, err
	}
	out := resource.ListHead{Skip: h.Skip, Header: h.Header, To: h.To, Rows: []resource.HeadRow{}, Dialect: resource.ListDialect{
		Delimiter: string(h.Dialect.Delimiter), Encoding: h.Dialect.Encoding, Compression: h.Dialect.Compression, BOM: h.Dialect.BOM}}
	for _, row := range h.Rows {
		for i, cell := range row.Cells {
			row.Cells[i] = sentence.Clip(cell, headCell)
		}
		out.Rows = append(out.Rows, resource.HeadRow(row))
	}
	return out, nil
}
