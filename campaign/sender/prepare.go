package sender

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// prepared returns the compiled run. A run that this version cannot send stays as it is: another
// replica may be of the version that can, and its operator can cancel it.
func (e *Engine) prepared(ctx context.Context, s campaign.Run) (*run, bool) {
	r, err := e.run(ctx, s)
	if err != nil {
		if why := err.Error(); e.unsendable[s.No] != why { // once, not at each look
			e.unsendable[s.No] = why
			e.o.Log.Error("run cannot be prepared", "run", s.ID(), "err", err)
		}
		return nil, false
	}
	delete(e.unsendable, s.No)
	return r, true
}

// run returns the compiled run, compiling it when it is new.
func (e *Engine) run(ctx context.Context, s campaign.Run) (*run, error) {
	e.mu.Lock()
	r := e.runs[s.No]
	e.mu.Unlock()
	if r == nil {
		var err error
		if r, err = compile(s); err != nil {
			return nil, err
		}
		if r.started, err = e.launched(ctx, s); err != nil {
			return nil, err
		}
		e.mu.Lock()
		e.runs[s.No] = r
		e.mu.Unlock()
		e.o.Log.Info("run picked up", "run", s.ID(), "rows", s.Rows)
	}
	if r.observe(e.o.Expiry) {
		for _, w := range e.workersOf(r) {
			w.planner.poke.send()
		}
	}
	return r, nil
}

// launched is when the limits of a run begin to count: an automatic follow-up ends with the run
// that began its chain.
func (e *Engine) launched(ctx context.Context, s campaign.Run) (time.Time, error) {
	for s.Launch == launch.AutoFollowUp && s.Parent != 0 {
		parent, err := e.ledger.Run(ctx, s.Parent)
		if err != nil {
			return time.Time{}, fmt.Errorf("read the run that %s follows: %w", s.ID(), err)
		}
		s = parent
	}
	return s.CreatedAt, nil
}

// readAssets reads the uploaded headers of a run when they are new: they are renewed while a long
// run lasts.
func (e *Engine) readAssets(ctx context.Context, r *run, s campaign.Run) error {
	if s.AssetUntil.Equal(r.assetUntil) {
		return nil
	}
	assets, err := e.ledger.Assets(ctx, s.No)
	if err != nil {
		return fmt.Errorf("read the header media of %s: %w", s.ID(), err)
	}
	r.assets.Store(&assets)
	r.assetUntil = s.AssetUntil
	return nil
}
