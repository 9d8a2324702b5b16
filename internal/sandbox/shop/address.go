package shop

import "time"

// address is an address of a customer.
type address struct {
	Address
	id               string
	owner            *customer
	created, updated Stamp
}

func (a *address) key() string     { return a.id }
func (a *address) born() time.Time { return a.created.Time }

// addressView is the address of the document.
type addressView struct {
	ID string `json:"id"`
	Address
	AddressableID   string `json:"addressable_id"`
	AddressableType string `json:"addressable_type"`
	CompanyID       string `json:"company_id"`
	CreatedAt       Stamp  `json:"created_at"`
	UpdatedAt       Stamp  `json:"updated_at"`
}

func (a *address) view() addressView {
	return addressView{a.id, a.Address, a.owner.ID, "customer", a.owner.company.ID, a.created, a.updated}
}

// addresses are those of the customer, in the order of their creation.
func (c *customer) addresses() []*address {
	return c.company.book[c.ID]
}

// primary is the customer's default address, or nil.
func (c *customer) primary() *address {
	for _, a := range c.addresses() {
		if a.IsPrimary {
			return a
		}
	}
	return nil
}

// addAddress stores an address of the customer. A primary one takes the place of the one before.
func (c *customer) addAddress(p *Platform, from Address, now Stamp) (*address, error) {
	if err := c.company.customers.keep(p, c); err != nil {
		return nil, err
	}
	a := &address{Address: from, id: p.newID(), owner: c, created: now, updated: now}
	if err := c.company.addresses.add(p, a); err != nil {
		return nil, err
	}
	c.company.book[c.ID] = append(c.company.book[c.ID], a)
	a.settle()
	return a, nil
}

// settle leaves the customer one primary address: this one, if it is primary.
func (a *address) settle() {
	for _, other := range a.owner.addresses() {
		if a.IsPrimary && other != a {
			other.IsPrimary = false
		}
	}
}
