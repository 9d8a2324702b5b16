package portable

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlAnyWish  = `SELECT EXISTS (SELECT 1 FROM wish)`
	sqlWishPage = `SELECT w.id, (SELECT true FROM outcome WHERE mh = w.mh AND mh <> 0 LIMIT 1) IS TRUE
			OR (SELECT true FROM user_pair WHERE user_id = w.user_id LIMIT 1) IS TRUE, ` + ledger.WishColumns + `
		FROM wish w WHERE w.id > $1 ORDER BY w.id LIMIT $2`
)

// SweepWishes attributes wishes whose receipt or pair was stored at the same time as they, and
// counts those that wait. Each sweep looks at ledger.WishStep of them. apply is Apply of the
// ledger.
func (l *Ledger) SweepWishes(
	ctx context.Context, done *campaign.Swept, apply func(context.Context, campaign.Events) (campaign.Applied, error),
) error {
	var some bool
	if _, err := l.row(ctx, Webhooks, []any{&some}, sqlAnyWish); err != nil || !some {
		return err
	}
	page, err := list(ctx, l.db, Reports, ledger.ScanWishRow, sqlWishPage, l.wishAt.Load(), ledger.WishStep)
	if err != nil {
		return err
	}
	next := int64(0) // the last page is followed by the first
	if len(page) == ledger.WishStep {
		next = page[len(page)-1].ID
	}
	l.wishAt.Store(next)
	var found []campaign.Wish
	for _, r := range page {
		if r.Found {
			found = append(found, r.Wish)
		}
	}
	if len(found) > 0 {
		if _, err := apply(ctx, campaign.Events{Wishes: found}); err != nil {
			return err
		}
	}
	u, err := l.Unattributed(ctx)
	done.Unattributed = int(u.N)
	return err
}
