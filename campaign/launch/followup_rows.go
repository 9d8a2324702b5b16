package launch

import (
	"context"
	"fmt"
	"slices"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/recipients"
)

// freeze copies the selected rows into the run. After an interruption the selection may be smaller,
// since a webhook may have proven a doubt. Therefore rows that the run already holds are
// recognised by the keys of their recipients, not counted.
func (f *followUp) freeze(ctx context.Context, def *file.Definition) (FollowedUp, error) {
	l, no := f.in.Ledger, f.run.No
	var have recipients.KeySet
	for line, err := range l.Lines(ctx, no) {
		if err != nil {
			return FollowedUp{}, fmt.Errorf("read %s: %w", f.run.ID(), err)
		}
		have.Add(recipients.Fold(line.Key))
	}
	groups, err := f.groups(ctx)
	if err != nil {
		return FollowedUp{}, err
	}
	segments, err := l.SegmentStates(ctx, no)
	if err != nil {
		return FollowedUp{}, fmt.Errorf("read the segments of %s: %w", f.run.ID(), err)
	}
	numbers, err := newSticky(ctx, l, def)
	if err != nil {
		return FollowedUp{}, err
	}
	var sendable int64
	if err := f.chosen(ctx, func(*campaign.Line) error { sendable++; return nil }); err != nil {
		return FollowedUp{}, err
	}
	at, seqs := f.run.Rows, newBlocks(no, campaign.SegmentFor(sendable, len(def.Connections)), segments)
	rows, ids := make([]campaign.Delivery, 0, importChunk), make([]blockID, 0, importChunk)
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		if err := numbers.bind(ctx, rows, ids); err != nil {
			return err
		}
		if err := appendChunk(ctx, ImportInput{Ledger: l, Run: f.run}, at, chunk{rows, seqs.assign(rows, ids)}); err != nil {
			return err
		}
		at += int64(len(rows))
		rows, ids = rows[:0], ids[:0]
		return ctx.Err()
	}
	if err := f.chosen(ctx, func(line *campaign.Line) error {
		if !have.Add(recipients.Fold(line.Key)) {
			return nil
		}
		rows = append(rows, campaign.Delivery{
			Run: no, Row: at + int64(len(rows)) + 1, To: line.To, Key: line.Key, Cells: slices.Clone(line.Cells),
		})
		ids = append(ids, blockID{group: groups[line.Seq/campaign.SegmentSize]})
		if len(rows) < importChunk {
			return nil
		}
		return flush()
	}); err != nil {
		return FollowedUp{}, err
	}
	if err := flush(); err != nil {
		return FollowedUp{}, err
	}
	return f.finish(ctx, def, at)
}

// groups are the window groups of the parent's segments, by index. A recipient's zone does not
// change.
func (f *followUp) groups(ctx context.Context) (map[int64]string, error) {
	states, err := f.in.Ledger.SegmentStates(ctx, f.in.Parent.No)
	if err != nil {
		return nil, fmt.Errorf("read the segments of %s: %w", f.in.Parent.ID(), err)
	}
	groups := map[int64]string{}
	for _, s := range states {
		groups[s.Index] = s.Group
	}
	return groups, nil
}

func (f *followUp) finish(ctx context.Context, def *file.Definition, rows int64) (FollowedUp, error) {
	l := f.in.Ledger
	if p := f.in.Parent; p.Asset != "" {
		assets, err := l.Assets(ctx, p.No)
		if err == nil {
			err = l.SetAssets(ctx, f.run.No, assets)
		}
		if err != nil {
			return FollowedUp{}, fmt.Errorf("header of %s: %w", f.run.ID(), err)
		}
	}
	family, err := f.family(ctx)
	if err != nil {
		return FollowedUp{}, err
	}
	if err := addRepeats(ctx, l, f.run, f.in.SentWithin, family, f.SentBefore.warning(f.run)); err != nil {
		return FollowedUp{}, err
	}
	run, err := endImport(ctx, l, f.run, def, rows, rows)
	if err != nil {
		return FollowedUp{}, err
	}
	f.FollowedUp.Run, f.Chosen = run, rows
	return f.FollowedUp, nil
}
