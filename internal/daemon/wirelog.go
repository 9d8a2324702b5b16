package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/wirelog"
)

// openWireLog opens the wire log of an owner. It is nil without a folder for it, and on a system
// that has none.
func openWireLog(cfg *config.Config, l campaign.Ledger, owner string, log *slog.Logger) (*wirelog.Log, error) {
	dir, name := cfg.WireLog()
	if dir == "" {
		return nil, nil
	}
	w, err := wirelog.Open(wirelog.Options{Dir: dir, Name: name, Ledger: l.LedgerID(), Owner: owner, Log: log})
	if errors.Is(err, wirelog.ErrUnsupported) {
		log.Debug("no wire log on this system")
		return nil, nil
	}
	return w, err
}

// openWire opens the wire log, and makes the statements of the logs that dead processes left there
// (docs/protocol.md#wire-log). A statement that the ledger does not take now is made by restate.
func (d *Daemon) openWire(ctx context.Context) (err error) {
	if d.wire, err = openWireLog(d.cfg, d.ledger, d.owner, d.log); d.wire == nil || err != nil {
		return err
	}
	d.closers = append(d.closers, d.wire.Close)
	d.unstated = d.wire.Dead()
	if err := d.state(ctx); err != nil && (errors.Is(err, ledger.ErrRestored) || ctx.Err() != nil) {
		return err
	} else if err != nil {
		d.log.Warn("the ledger cannot store what a wire log proves: trying again", "err", err)
	}
	return nil
}

// state makes the statements that are left.
func (d *Daemon) state(ctx context.Context) error {
	for len(d.unstated) > 0 {
		dead := d.unstated[0]
		n, err := d.ledger.Unposted(ctx, dead.WireLog)
		if err != nil {
			return fmt.Errorf("wire log of %s: %w", dead.Owner, err)
		}
		if n > 0 {
			d.log.Info("deliveries that a dead process was granted and had not posted are queued again", "owner", dead.Owner, "deliveries", n)
		}
		if err := d.wire.Stated(dead); err != nil {
			d.log.Warn("wire log not removed: its statement is made again at the next start", "err", err)
		}
		d.unstated = d.unstated[1:]
	}
	return nil
}

// restateEvery is how often a ledger that took no statement is asked again.
const restateEvery = 2 * time.Second

// restate makes the statements that are left, until the ledger has taken them or ctx ends.
func (d *Daemon) restate(ctx context.Context) error {
	for len(d.unstated) > 0 {
		select {
		case <-ctx.Done():
			return nil // the next start makes them
		case <-time.After(restateEvery):
		}
		if err := d.state(ctx); errors.Is(err, ledger.ErrRestored) {
			return err
		}
	}
	return nil
}
