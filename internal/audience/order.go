package audience

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"time"

	"campaignd/campaign/file"
	"campaignd/internal/commerce"
)

// readOrders adds the customers of orders, each once: of unpaid orders with the oldest of them, of
// payments with the oldest order that was paid for.
func (l *list) readOrders(ctx context.Context, client *commerce.Client, dir string) (err error) {
	a := l.d.Audience
	oldest := time.Time{}
	if a.Since != 0 {
		oldest = time.Now().Add(-a.Since.Std())
	}
	wanted := func(o *commerce.Order) bool {
		return o.AmountDue.IsPositive() && !o.Ended() && !o.CreatedAt.Before(oldest)
	}
	query := commerce.OrderQuery{Customer: true}
	if a.From == file.FromPayments {
		paid, err := l.paidOrders(ctx, client, oldest)
		if err != nil {
			return err
		}
		wanted = func(o *commerce.Order) bool { _, ok := paid[keyOf(o.ID)]; return ok }
	}
	s, err := newShards(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	for o, err := range client.Orders(ctx, query) {
		if err != nil {
			return err
		}
		l.fetch()
		switch {
		case !wanted(&o):
		case o.Customer == nil || o.Customer.ID == "":
			l.counts.NoCustomer++
		case o.Customer.DeletedAt.IsZero():
			p := l.personOf(o.Customer)
			p.Order, p.Reference, p.Due, p.Currency, p.Created = o.ID, o.Reference, o.AmountDue.String(), o.Currency, o.CreatedAt.Time
			if a.From == file.FromUnpaidOrders {
				p.Expires = o.ExpiresAt.Time
			}
			if err := s.add(p); err != nil {
				return err
			}
		}
	}
	return s.each(func(people []person) error {
		if err := l.linkAll(ctx, client, people); err != nil {
			return err
		}
		for i := range people {
			if err := l.add(people[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// orderKey is the beginning of an id's hash: a million of them take 40 MB.
type orderKey [16]byte

func keyOf(id string) orderKey {
	sum := sha256.Sum256([]byte(id))
	return orderKey(sum[:16])
}

// paidOrders returns the orders for which somebody paid since oldest.
func (l *list) paidOrders(ctx context.Context, client *commerce.Client, oldest time.Time) (map[orderKey]struct{}, error) {
	paid := map[orderKey]struct{}{}
	for p, err := range client.Payments(ctx, commerce.PaymentQuery{Type: "inbound"}) {
		if err != nil {
			return nil, err
		}
		l.fetch()
		at := p.PaidAt.Time
		if at.IsZero() {
			at = p.CreatedAt.Time
		}
		if id := p.OrderID(); id != "" && p.Status == "paid" && !at.Before(oldest) {
			paid[keyOf(id)] = struct{}{}
		}
	}
	return paid, nil
}

// parts is the number of files over which people are spread by customer: of a million, 16,000 are
// in memory at once.
const parts = 64

// shards keep people on disk. All rows of one customer are in one file.
type shards struct {
	dir   string
	files [parts]*os.File
	out   [parts]*bufio.Writer
}

func newShards(dir string) (*shards, error) {
	s := &shards{}
	var err error
	if s.dir, err = os.MkdirTemp(dir, ".audience-*"); err != nil { // of mode 0700
		return nil, fmt.Errorf("write the orders of the audience: %w", err)
	}
	for i := range s.files {
		if s.files[i], err = os.CreateTemp(s.dir, "part-*"); err != nil {
			return nil, errors.Join(err, s.remove())
		}
		s.out[i] = bufio.NewWriterSize(s.files[i], 8<<10)
	}
	return s, nil
}

func (s *shards) add(p person) error {
	h := fnv.New32a()
	_, _ = io.WriteString(h, p.Customer) // a hash takes every write
	return json.NewEncoder(s.out[h.Sum32()%parts]).Encode(p)
}

// each calls take with some customers after others, each once, with the oldest order.
func (s *shards) each(take func([]person) error) error {
	for i, f := range s.files {
		if err := s.out[i].Flush(); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		var people []person
		at := map[string]int{}
		for in := json.NewDecoder(f); ; {
			var p person
			if err := in.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("read the orders of the audience: %w", err)
			}
			if k, ok := at[p.Customer]; !ok {
				at[p.Customer] = len(people)
				people = append(people, p)
			} else if p.Created.Before(people[k].Created) {
				people[k] = p
			}
		}
		if err := take(people); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the files.
func (s *shards) remove() error {
	var err error
	for _, f := range s.files {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
