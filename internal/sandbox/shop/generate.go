package shop

import (
	"cmp"
	"iter"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/sandbox/draw"
	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// The purposes of the draws of generated records.
const (
	drawFirst = iota + 1
	drawLast
	drawConsent
	drawLanguage
	drawCustomer
	drawProduct
	drawQuantity
)

// The names of generated customers. They are invented.
var (
	firstNames = []string{"Ama", "Kofi", "Efua", "Yaw", "Abena", "Kwame", "Adwoa", "Kojo", "Esi", "Nana", "Zainab", "Chidi", "Ngozi", "Amadou"}
	lastNames  = []string{"Mensah", "Boateng", "Owusu", "Darko", "Eze", "Okafor", "Diallo", "Traore", "Mbarga", "Njoya", "Agbo", "Bello"}
)

// generatedFrom is the creation of the first generated record. One follows each 30 s, so that a
// million are created within a year.
var generatedFrom = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

const generatedEvery = 30 * time.Second

// The last 50 bits of a generated id are the kind and the number of the record.
const (
	generatedCustomer = 1 << 40
	generatedOrder    = 2 << 40
	generatedLine     = 3 << 40
)

// source computes the generated records of a company.
type source struct {
	c        *company
	seed     uint64
	variants []*variant // of the scenario, which orders are drawn from
}

// generate gives the company its generated customers and orders.
func (p *Platform) generate(c *company) {
	c.source = source{c: c, seed: draw.Mix(p.opt.Seed, value.DigitsOf(c.ID[:12]), value.DigitsOf(c.ID[12:24]), value.DigitsOf(c.ID[24:]))}
	s := &c.source
	for v := range c.variants.All() {
		s.variants = append(s.variants, v)
	}
	c.customers.Made = records.Generated[*customer]{Size: c.Generate.Customers, Compute: s.customer, NumberOf: s.numbers(generatedCustomer),
		Born: func(c *customer) value.Stamp { return c.CreatedAt }}
	orders := c.Generate.Orders
	if c.Generate.Customers+len(c.Customers) == 0 || len(s.variants) == 0 { // nobody could have ordered anything
		orders = 0
	}
	c.orders.Made = records.Generated[*order]{Size: orders, Compute: s.order, NumberOf: s.numbers(generatedOrder),
		Born: func(o *order) value.Stamp { return o.created }}
}

func (s *source) draw(purpose, i int) uint64 { return draw.Mix(s.seed, uint64(purpose), uint64(i)) }

func (s *source) at(i int) time.Time { return generatedFrom.Add(time.Duration(i) * generatedEvery) }

func (s *source) id(kind uint64, i int) string {
	return value.ULID(s.at(i), draw.Mix(s.seed, kind, uint64(i)), kind|uint64(i))
}

// numbers returns the function that finds the number of a generated id.
func (s *source) numbers(kind uint64) func(id string) int {
	return func(id string) int {
		i := int(value.NumberOf(id) &^ kind)
		if i < 1<<32 && s.id(kind, i) == id {
			return i
		}
		return -1
	}
}

// pick draws one of a list.
func pick[T any](h uint64, from []T) T { return from[h%uint64(len(from))] }

// customer computes the i-th generated customer.
func (s *source) customer(i int) *customer {
	number := sevenDigits(i)
	consent := "no"
	if draw.Unit(s.draw(drawConsent, i)) < s.c.Generate.Consent {
		consent = "yes"
	}
	from := scenario.Customer{
		ID: s.id(generatedCustomer, i), FirstName: pick(s.draw(drawFirst, i), firstNames), LastName: pick(s.draw(drawLast, i), lastNames),
		Email: "customer" + number + "@customers.example", Phone: "+23765" + number, Metadata: value.Object{"consent": consent},
		CreatedAt: value.Stamp{Time: s.at(i)},
	}
	if languages := s.c.Generate.Languages; len(languages) > 0 {
		from.PreferredLanguage = pick(s.draw(drawLanguage, i), languages)
	}
	return newCustomer(s.c, from, from.CreatedAt)
}

// order computes the i-th generated order with its sums.
func (s *source) order(i int) *order {
	o := s.bareOrder(i)
	o.charge()
	return o
}

// bareOrder computes the i-th generated order without its sums: one line of one variant, without
// discount, to be fetched nowhere.
func (s *source) bareOrder(i int) *order {
	v := pick(s.draw(drawProduct, i), s.variants)
	at := value.Stamp{Time: s.at(i)}
	o := &order{
		id: s.id(generatedOrder, i), number: i + 1, company: s.c, currency: cmp.Or(s.c.Currency, "XAF"), source: "generated",
		status: pending, customer: s.buyer(i), billing: billing{method: "cash"}, shipping: shipping{mode: "other", status: pending},
		created: at, updated: at,
	}
	quantity := 1 + int(s.draw(drawQuantity, i)%3)
	o.lines = []line{{id: s.id(generatedLine, i), product: v.product.ID, variant: v.ID, quantity: quantity, price: v.Price}}
	return o
}

// buyer is the id of the customer of the i-th generated order.
func (s *source) buyer(i int) string {
	if n := s.c.customers.Made.Size; n > 0 {
		return s.id(generatedCustomer, int(s.draw(drawCustomer, i)%uint64(n)))
	}
	return pick(s.draw(drawCustomer, i), s.c.Customers).ID
}

// eachOrder are all orders. Those that are generated and unchanged come without their sums, because
// a million of them are read for one answer.
func (c *company) eachOrder() iter.Seq[*order] {
	return func(yield func(*order) bool) {
		for o := range c.orders.Stored() {
			if !yield(o) {
				return
			}
		}
		for i := range c.orders.Made.Size {
			if _, ok := c.orders.Made.Kept[i]; !ok && !yield(c.source.bareOrder(i)) {
				return
			}
		}
	}
}

func sevenDigits(i int) string {
	text := strconv.Itoa(i)
	return strings.Repeat("0", max(0, 7-len(text))) + text
}

// numberIn is the number that a generated e-mail address or phone number ends with, or -1.
func numberIn(text string) int {
	text, _, _ = strings.Cut(text, "@")
	if len(text) < 7 {
		return -1
	}
	n := 0
	for _, c := range text[len(text)-7:] {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
