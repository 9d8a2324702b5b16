package launch

import (
	"context"
	"errors"
	"fmt"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
)

// marketing is the category of templates that opt-outs from marketing apply to, as the service
// writes it.
const marketing = "MARKETING"

// recategorize makes the run marketing if its template has become so since its check began: the
// event of that found no run yet. It returns an error if the service does not answer, because the
// run would then be sent to people who have opted out.
func (l Request) recategorize(ctx context.Context, def *file.Definition, run campaign.Run, checked *Preflight) error {
	if run.Marketing || l.Service == nil {
		return nil
	}
	is := checked.Marketing // by the check of an import that goes on
	for i := 0; i < len(def.Connections) && !is; i++ {
		all, err := l.Service.Templates(ctx, def.Connections[i])
		if errors.Is(err, messaging.ErrNotOffered) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ask the service once more for the templates of %s: %w", def.Connections[i], err)
		}
		t := file.FindTemplate(&def.Template, all, def.Connections[i], func(file.Kind, string, string, string) {})
		is = t != nil && t.Category == marketing
	}
	if !is {
		return nil
	}
	return makeMarketing(ctx, l.Ledger, run)
}

// recategorize makes the follow-up run marketing if its parent has become so since it was read.
func (f *followUp) recategorize(ctx context.Context) error {
	if f.run.Marketing {
		return nil
	}
	parent, err := f.in.Ledger.Run(ctx, f.in.Parent.No)
	if err != nil {
		return fmt.Errorf("read the parent of %s: %w", f.run.ID(), err)
	}
	if !parent.Marketing {
		return nil
	}
	return makeMarketing(ctx, f.in.Ledger, f.run)
}

func makeMarketing(ctx context.Context, l campaign.RunLedger, run campaign.Run) error {
	if err := l.MakeMarketing(ctx, run.No); err != nil {
		return fmt.Errorf("make %s marketing: %w", run.ID(), err)
	}
	return nil
}
