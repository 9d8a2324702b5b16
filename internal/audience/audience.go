// Package audience makes the list of a campaign from the commerce platform
// (docs/commerce.md#audiences): one row for each customer that the campaign file's audience
// chooses.
//
// Launches, firings, checks and `campaignd commerce audience` call it. It reads the lists of the
// platform once, keeps those who ordered on disk, and leaves no half-written list. Lists makes the
// lists of launches, and keeps no file that nobody needs.
package audience

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/commerce"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// columns are the header of a list.
var columns = []string{
	"customer_id", "first_name", "last_name", "company_name", "email", "phone", file.LanguageColumn, "type", file.ConsentColumn,
	"order_id", "reference", "amount_due", "currency", file.LinkColumn,
}

// Counts are what a list has.
type Counts struct {
	Customers int64 `json:"customers"` // rows of the list
	// NoConsent and OtherLanguage are the rows that the import will skip for these reasons, and
	// NoPhone those without a phone.
	NoConsent     int64 `json:"no_consent"`
	OtherLanguage int64 `json:"other_language"`
	NoPhone       int64 `json:"no_phone"`
	// NoCustomer counts the orders that name no customer; they are in no row.
	NoCustomer int64 `json:"orders_without_customer"`
	// Unread counts the records that are not in the documented form, and UnreadID is the id of the
	// first one, "" if it has none. They are in no row.
	Unread   int64  `json:"unread"`
	UnreadID string `json:"unread_id,omitempty"`

	offer launch.Offer
}

// Fault is a fault of a key of the campaign file. what names the remedy.
func Fault(key, what string) error {
	return &file.Error{Findings: []file.Finding{{Level: file.LevelError, Where: key, What: what}}}
}

// Write makes the list of d at path, with mode 0600, and without payment links. The file appears
// when it is complete; until then its rows are in PATH.part, and orders in a folder beside it.
// fetched, which may be nil, is called with the number of records that were read. The error is that
// of Fault, or wraps a *commerce.Error.
func Write(ctx context.Context, client *commerce.Client, d *file.Definition, path string, fetched func(rows int64)) (
	counts Counts, err error) {
	return write(ctx, client, d, path, fetched, noLink)
}

// write is Write with payment links.
func write(ctx context.Context, client *commerce.Client, d *file.Definition, path string, fetched func(int64), link linker) (
	counts Counts, err error) {
	ends, err := checkDiscount(ctx, client, d.Audience.Discount, time.Now())
	if err != nil {
		return counts, err
	}
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a killed process
		return counts, err
	}
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return counts, fmt.Errorf("write the list of the audience: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	counts, err = fill(ctx, client, &list{d: d, fetched: fetched, link: link}, f, filepath.Dir(path))
	counts.offer.Discount, counts.offer.DiscountEnds, counts.offer.Assumed = d.Audience.Discount, ends, assumedFor(d.Audience.From)
	counts.offer.Unread, counts.offer.UnreadID = counts.Unread, counts.UnreadID
	switch {
	case err != nil || counts.Customers > 0:
	case counts.Unread > 0:
		err = Fault("audience", fmt.Sprintf("is empty: %s that the commerce platform gave cannot be read%s; check commerce.base_url",
			sentence.Count(counts.Unread, "record", "records"), named(counts.UnreadID)))
	default:
		err = Fault("audience", "has nobody: the commerce platform has no such customer; check from, since and product")
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return counts, err
	}
	return counts, os.Rename(part, path)
}

// named adds the id of a record to a sentence; "" adds nothing.
func named(id string) string {
	if id == "" {
		return ""
	}
	return ", such as " + id
}

// fill writes the header and the rows.
func fill(ctx context.Context, client *commerce.Client, l *list, f io.Writer, dir string) (Counts, error) {
	buffer := bufio.NewWriterSize(f, 1<<16)
	l.out = csv.NewWriter(buffer)
	if err := l.out.Write(columns); err != nil {
		return l.counts, err
	}
	if err := l.read(ctx, client, dir); err != nil {
		return l.counts, explain(l.d.Audience, err)
	}
	l.out.Flush()
	return l.counts, errors.Join(l.out.Error(), buffer.Flush())
}

// list is a list that is being written.
type list struct {
	d      *file.Definition
	out    *csv.Writer
	counts Counts
	link   linker

	fetched func(rows int64) // may be nil
	rows    int64            // that were read, with the links
	removed map[recordKey]struct{}
}

// unread counts a record that cannot be read, once however often the platform gives it, and removes
// what an earlier reading said of it. It returns any other error.
func (l *list) unread(err error) error {
	e, odd := errors.AsType[*commerce.RecordError](err)
	if !odd {
		return err
	}
	if _, known := l.removed[keyOf(e.ID)]; e.ID == "" || !known {
		if l.counts.Unread++; l.counts.Unread == 1 {
			l.counts.UnreadID = e.ID
		}
	}
	if e.ID != "" {
		l.remove(e.ID)
	}
	return nil
}

// remove leaves a record out, whatever its readings say.
func (l *list) remove(id string) {
	if l.removed == nil {
		l.removed = map[recordKey]struct{}{}
	}
	l.removed[keyOf(id)] = struct{}{}
}

// fetch counts a record that was read.
func (l *list) fetch() {
	if l.rows++; l.fetched != nil {
		l.fetched(l.rows)
	}
}

// person is one reading of a customer, and of an order or none. The readings that count make a row.
type person struct {
	Customer, First, Last, Company, Email, Phone, Language, Type, Consent string
	Known                                                                 time.Time // updated_at of the customer
	Deleted                                                               bool      // the customer

	Order, Reference, Due, Currency, Link string
	Created, Expires                      time.Time // of the order; Expires is zero if it never does
	Changed                               time.Time // updated_at of the order
	Over                                  bool      // the order is not wanted any more: it is paid, say
}

func (l *list) personOf(c *commerce.Customer) person {
	p := person{Customer: c.ID, First: c.FirstName, Last: c.LastName, Company: c.CompanyName, Email: c.Email, Phone: c.Phone,
		Language: c.PreferredLanguage, Type: c.Type, Known: c.UpdatedAt.Time, Deleted: !c.DeletedAt.IsZero()}
	if rule := l.d.Audience.Consent; rule != nil {
		p.Consent = c.Metadata[rule.Member()]
	}
	return p
}

// add writes one row and counts it.
func (l *list) add(p person) error {
	l.counts.Customers++
	if !p.Expires.IsZero() && l.chosen(&p) {
		l.counts.offer.Expires(p.Expires)
	}
	reason, _ := l.d.Audience.Skip(p.Consent, p.Language, l.d.Template.Language)
	switch {
	case strings.TrimSpace(p.Phone) == "":
		l.counts.NoPhone++
	case reason == campaign.NoConsent:
		l.counts.NoConsent++
	case reason == campaign.OtherLanguage:
		l.counts.OtherLanguage++
	}
	cells := []string{p.Customer, p.First, p.Last, p.Company, p.Email, p.Phone, p.Language, p.Type, p.Consent,
		p.Order, p.Reference, p.Due, p.Currency, p.Link}
	for i := range cells {
		cells[i] = sentence.Clip(strings.ReplaceAll(cells[i], "\x00", ""), maxCell)
	}
	return l.out.Write(cells)
}

// maxCell is the most bytes of a cell. Customers write their names themselves, and a NUL byte or a
// row of more than 1 MiB would end the import of everybody's: 14 x 16 KiB, twice if all are quotes.
const maxCell = 16 << 10

// read asks the platform for the people.
func (l *list) read(ctx context.Context, client *commerce.Client, dir string) error {
	switch a := l.d.Audience; a.From {
	case file.FromTopCustomers:
		s, err := client.Statistics(ctx, a.Product)
		for _, one := range s.Unread {
			_ = l.unread(one) // counts it
		}
		for i := range s.TopCustomers {
			if err == nil && s.TopCustomers[i].DeletedAt.IsZero() {
				err = l.add(l.personOf(&s.TopCustomers[i].Customer))
			}
		}
		return err
	case file.FromPayments, file.FromUnpaidOrders:
		return l.readOrders(ctx, client, dir)
	default:
		return l.readCustomers(ctx, client, dir)
	}
}

// checkDiscount refuses a code that the platform does not know, or that is over. It returns when
// the discount ends; zero: never.
func checkDiscount(ctx context.Context, client *commerce.Client, code string, now time.Time) (ends time.Time, err error) {
	if code == "" {
		return ends, nil
	}
	d, err := client.Discount(ctx, code)
	var refused *commerce.Error
	switch {
	case errors.As(err, &refused) && refused.Code == commerce.CodeNotFound:
		return ends, Fault("audience.discount", fmt.Sprintf("%q is not valid at the commerce platform; correct the code, or take it out", code))
	case err != nil:
		return ends, explain(nil, err)
	case !d.EndsAt.IsZero() && !d.EndsAt.After(now):
		return ends, Fault("audience.discount", fmt.Sprintf("%q ended at %s; prolong it, or take it out", code, d.EndsAt.Format(time.RFC3339)))
	case d.StartsAt.After(now):
		return ends, Fault("audience.discount", fmt.Sprintf("%q begins at %s only; start the campaign then, or take it out", code,
			d.StartsAt.Format(time.RFC3339)))
	}
	return d.EndsAt.Time, nil
}

// explain adds to an error of the platform which key is to be changed.
func explain(a *file.Selection, err error) error {
	var refused *commerce.Error
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Code == commerce.CodeNotFound && a != nil {
		switch a.From {
		case file.FromTopCustomers:
			return Fault("audience.product", fmt.Sprintf("the commerce platform has no product %q; correct the id", a.Product))
		case file.FromCustomers:
			return fmt.Errorf("%w: set commerce.assumed.customers_path to the platform's list of customers", err)
		default:
			return fmt.Errorf("%w: set commerce.assumed.orders_path to the platform's list of orders", err)
		}
	}
	return fmt.Errorf("%w: %s", err, cmp.Or(messaging.Untrusted(err), refused.Code.Remedy()))
}

// assumedFor returns the keys of the configuration that an audience depends on where the document
// of the platform is silent (docs/commerce.md#assumptions).
func assumedFor(from string) []string {
	keys := []string{"company_header"}
	switch from {
	case file.FromCustomers:
		keys = append(keys, "customers_path", "page_size_parameter")
	case file.FromUnpaidOrders:
		keys = append(keys, "orders_path", "page_size_parameter")
	case file.FromPayments:
		keys = append(keys, "orders_path", "page_size_parameter", "type_filter")
	}
	for i := range keys {
		keys[i] = "commerce.assumed." + keys[i]
	}
	return keys
}
