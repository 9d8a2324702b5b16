package launch

import (
	"context"
	"fmt"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// sticky binds the rows of an import to the connections that reached their recipients before
// (docs/limits.md#sticky-numbers). nil binds nobody.
type sticky struct {
	ledger      senderLedger
	connections []string
	keys        []int64 // reused by each bind
}

// senderLedger knows which connection reached whom.
type senderLedger interface {
	FoldSenders(ctx context.Context) error
	LastSenders(ctx context.Context, keys []int64, connections []string) (map[int64]string, error)
}

// newSticky returns nil unless the campaign asks for it and has several connections.
func newSticky(ctx context.Context, l senderLedger, d *file.Definition) (*sticky, error) {
	if d.Numbers != file.NumbersSticky || len(d.Connections) < 2 {
		return nil, nil
	}
	if err := l.FoldSenders(ctx); err != nil {
		return nil, fmt.Errorf("read which number reached whom: %w", err)
	}
	return &sticky{ledger: l, connections: d.Connections}, nil
}

// bind sets the connection of each key whose row has a recipient that one of the connections
// reached.
func (s *sticky) bind(ctx context.Context, rows []campaign.Delivery, blocks []blockID) error {
	if s == nil {
		return nil
	}
	s.keys = s.keys[:0]
	for i := range rows {
		if !blocks[i].kind.closed {
			s.keys = append(s.keys, rows[i].Key)
		}
	}
	by, err := s.ledger.LastSenders(ctx, s.keys, s.connections)
	if err != nil {
		return fmt.Errorf("read which number reached whom: %w", err)
	}
	for i := range rows {
		if !blocks[i].kind.closed {
			blocks[i].kind.bound = by[rows[i].Key]
		}
	}
	return nil
}
