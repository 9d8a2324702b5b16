package audience

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/commerce"
)

// readCustomers adds the customers, each once.
func (l *list) readCustomers(ctx context.Context, client *commerce.Client, dir string) (err error) {
	s, err := newShards(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	for c, err := range client.Customers(ctx, "") {
		if err != nil {
			if err := l.unread(err); err != nil {
				return err
			}
			continue
		}
		l.fetch()
		if err := s.add(l.personOf(&c)); err != nil {
			return err
		}
	}
	return s.each(l, l.addAll)
}

func (l *list) addAll(people []person) error {
	for i := range people {
		if err := l.add(people[i]); err != nil {
			return err
		}
	}
	return nil
}

// readOrders adds the customers of orders, each once: of unpaid orders with the oldest of them, of
// payments with the oldest order that was paid for. The orders that change while the list is read
// are read again at its end.
func (l *list) readOrders(ctx context.Context, client *commerce.Client, dir string) (err error) {
	a := l.d.Audience
	oldest := time.Time{}
	if a.Since != 0 {
		oldest = time.Now().Add(-a.Since.Std())
	}
	wanted := func(o *commerce.Order) bool {
		return o.AmountDue.IsPositive() && !o.Ended() && !o.CreatedAt.Before(oldest)
	}
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
	changed := commerce.OrderQuery{Customer: true, Sort: "-updated_at"}
	var began time.Time // by the platform's clock: the newest change before the list was read
	for o, err := range client.Orders(ctx, changed) {
		if err == nil || !errors.As(err, new(*commerce.RecordError)) {
			began = o.UpdatedAt.Time
			break
		}
	}
	for o, err := range client.Orders(ctx, commerce.OrderQuery{Customer: true}) {
		if err == nil {
			l.fetch()
		}
		if err := l.keep(s, &o, err, wanted); err != nil {
			return err
		}
	}
	for o, err := range client.Orders(ctx, changed) {
		if began.IsZero() || err == nil && o.UpdatedAt.Before(began) {
			break
		}
		if err := l.keep(s, &o, err, wanted); err != nil {
			return err
		}
	}
	return s.each(l, func(people []person) error {
		if err := l.linkAll(ctx, client, people); err != nil {
			return err
		}
		return l.addAll(people)
	})
}

// keep stores one reading of an order, or the error of its record.
func (l *list) keep(s *shards, o *commerce.Order, err error, wanted func(*commerce.Order) bool) error {
	switch {
	case err != nil:
		return l.unread(err)
	case o.Customer == nil || o.Customer.ID == "":
		if _, known := l.removed[keyOf(o.ID)]; !known && wanted(o) { // once however often it is read
			l.counts.NoCustomer++
		}
		l.remove(o.ID)
		return nil
	}
	p := l.personOf(o.Customer)
	p.Order, p.Reference, p.Due, p.Currency, p.Created = o.ID, o.Reference, o.AmountDue.String(), o.Currency, o.CreatedAt.Time
	p.Changed, p.Over = o.UpdatedAt.Time, !wanted(o)
	if l.d.Audience.From == file.FromUnpaidOrders {
		p.Expires = o.ExpiresAt.Time
	}
	return s.add(p)
}

// recordKey is the beginning of an id's hash: a million of them take 40 MB.
type recordKey [16]byte

func keyOf(id string) recordKey {
	sum := sha256.Sum256([]byte(id))
	return recordKey(sum[:16])
}

// paidOrders returns the orders for which somebody paid since oldest.
func (l *list) paidOrders(ctx context.Context, client *commerce.Client, oldest time.Time) (map[recordKey]struct{}, error) {
	paid := map[recordKey]struct{}{}
	for p, err := range client.Payments(ctx, commerce.PaymentQuery{Type: "inbound"}) {
		if err != nil {
			if err := l.unread(err); err != nil {
				return nil, err
			}
			continue
		}
		l.fetch()
		at := p.PaidAt.Time
		if at.IsZero() {
			at = p.CreatedAt.Time
		}
		inbound := p.Type == "" || p.Type == "inbound" // the parameter that asks for them may have another name
		if id := p.OrderID(); id != "" && p.Status == "paid" && inbound && !at.Before(oldest) {
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

// each calls take with some customers after others, each once, with the oldest order that is still
// wanted. Of several readings of a customer or an order counts the newest.
func (s *shards) each(l *list, take func([]person) error) error {
	for i, f := range s.files {
		if err := s.out[i].Flush(); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		var read []person
		for in := json.NewDecoder(f); ; {
			var p person
			if err := in.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("read the records of the audience: %w", err)
			}
			read = append(read, p)
		}
		if err := take(l.newest(read)); err != nil {
			return err
		}
	}
	return nil
}

// newest returns one person for each customer of the readings, in their order.
func (l *list) newest(read []person) (people []person) {
	orders, customers := map[string]*person{}, map[string]*person{} // the readings that count
	for i := range read {
		p := &read[i]
		if was := orders[p.Order]; was == nil || p.Over || !older(p.Changed, was.Changed) {
			orders[p.Order] = p
		}
		if was := customers[p.Customer]; was == nil || l.refuses(p) || !older(p.Known, was.Known) {
			customers[p.Customer] = p
		}
	}
	at := map[string]int{}
	for i := range read {
		p, c := &read[i], customers[read[i].Customer]
		if p.Order != "" && (orders[p.Order] != p || p.Over) || p.Order == "" && c != p || c.Deleted || l.isRemoved(p) {
			continue
		}
		row := *c
		row.Order, row.Reference, row.Due, row.Currency, row.Created, row.Expires = p.Order, p.Reference, p.Due, p.Currency, p.Created, p.Expires
		if k, known := at[p.Customer]; !known {
			at[p.Customer] = len(people)
			people = append(people, row)
		} else if row.Created.Before(people[k].Created) {
			people[k] = row
		}
	}
	return people
}

// older reports whether a reading has an older version of its record than an earlier reading, by
// their updated_at. Such a reading counts only if it removes the row: whoever withdrew a consent,
// or paid, must not be written to because two pages of the platform disagree.
func older(version, was time.Time) bool {
	return !version.IsZero() && !was.IsZero() && version.Before(was)
}

// refuses reports whether a reading of a customer removes the row or skips it.
func (l *list) refuses(p *person) bool {
	reason, _ := l.d.Audience.Skip(p.Consent, p.Language, l.d.Template.Language)
	return p.Deleted || reason == campaign.NoConsent
}

// isRemoved reports whether the order of a person, or without one the customer, is left out
// whatever its readings say.
func (l *list) isRemoved(p *person) bool {
	_, removed := l.removed[keyOf(cmp.Or(p.Order, p.Customer))]
	return removed
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
