package shop

import (
	"net/http"
	"slices"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// address is an address of a customer.
type address struct {
	scenario.Address
	id               string
	owner            *customer
	created, updated value.Stamp
}

func (a *address) Key() string { return a.id }

// addressView is the address of the document.
type addressView struct {
	ID string `json:"id"`
	scenario.Address
	AddressableID   string      `json:"addressable_id"`
	AddressableType string      `json:"addressable_type"`
	CompanyID       string      `json:"company_id"`
	CreatedAt       value.Stamp `json:"created_at"`
	UpdatedAt       value.Stamp `json:"updated_at"`
}

func (a *address) view() addressView {
	return addressView{a.id, a.Address, a.owner.ID, "customer", a.owner.company.ID, a.created, a.updated}
}

// addresses returns the addresses of the customer, in the order of their creation.
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
func (c *customer) addAddress(p *Platform, from scenario.Address, now value.Stamp) (*address, error) {
	if err := c.company.customers.Keep(&p.room, c); err != nil {
		return nil, err
	}
	a := &address{Address: from, id: p.newID(), owner: c, created: now, updated: now}
	if err := c.company.addresses.Add(&p.room, a); err != nil {
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

var addressList = records.List[*address]{View: func(a *address, _ records.Includes) any { return a.view() }}

// listAddresses is GET /customers/addresses.
func (p *Platform) listAddresses(c *call) (records.Page, error) {
	return addressList.Page(c.asked(), records.TableOf(c.customer.addresses()))
}

// createAddress is POST /customers/addresses.
func (p *Platform) createAddress(c *call, in scenario.Address) (addressView, error) {
	if err := complete(in); err != nil {
		return addressView{}, err
	}
	a, err := c.customer.addAddress(p, in, c.now)
	if err != nil {
		return addressView{}, err
	}
	c.status = http.StatusCreated
	return a.view(), nil
}

// complete refuses an address without line1, city or country.
func complete(a scenario.Address) error {
	var f flaws
	f.require("line1", string(a.Line1))
	f.require("city", string(a.City))
	f.require("country", string(a.Country))
	return f.err()
}

// own finds the customer's address that the path names.
func (c *call) own() (*address, error) {
	id := c.path("address")
	a, ok := c.company.addresses.Get(id)
	if !ok || a.owner.ID != c.customer.ID {
		return nil, missing(c, "address", id)
	}
	return a, nil
}

// showAddress is GET /customers/addresses/{address}.
func (p *Platform) showAddress(c *call) (addressView, error) {
	a, err := c.own()
	if err != nil {
		return addressView{}, err
	}
	return a.view(), nil
}

// updateAddress is PUT /customers/addresses/{address}. Members that the body lacks stay.
func (p *Platform) updateAddress(c *call, in patch) (addressView, error) {
	a, err := c.own()
	if err != nil {
		return addressView{}, err
	}
	next := a.Address
	if err := in.onto(&next); err != nil {
		return addressView{}, err
	}
	if err := complete(next); err != nil {
		return addressView{}, err
	}
	a.Address, a.updated = next, c.now
	a.settle()
	return a.view(), nil
}

// deleteAddress is DELETE /customers/addresses/{address}. Orders keep what they were sent to.
func (p *Platform) deleteAddress(c *call) (said, error) {
	a, err := c.own()
	if err != nil {
		return said{}, err
	}
	c.company.addresses.Remove(&p.room, a.id)
	left := slices.DeleteFunc(c.company.book[c.customer.ID], func(x *address) bool { return x == a })
	c.company.book[c.customer.ID] = left
	return sentence("The address has been deleted.")
}
