package shop

import (
	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// customerList is the list of customers for a request.
func customerList(c *call) *records.List[*customer] {
	return &records.List[*customer]{
		Filters: map[string]records.Filter[*customer]{
			"search": records.Searching(func(c *customer) []string {
				return []string{c.FirstName + " " + c.LastName, c.Email, c.Phone, c.ID}
			}),
			"created_at": records.Between(func(c *customer) value.Stamp { return c.CreatedAt }),
			"updated_at": records.Between(func(c *customer) value.Stamp { return c.updated }),
		},
		Sorts: map[string]func(a, b *customer) int{
			records.Birth: records.ByTime(func(c *customer) value.Stamp { return c.CreatedAt }),
			"updated_at":  records.ByTime(func(c *customer) value.Stamp { return c.updated }),
			"first_name":  records.ByFold(func(c *customer) string { return c.FirstName }),
			"last_name":   records.ByFold(func(c *customer) string { return c.LastName }),
			"email":       records.ByFold(func(c *customer) string { return c.Email }),
		},
		Includes: []string{"addresses"},
		View: func(c *customer, in records.Includes) any {
			v := c.view()
			if in.Has("addresses") {
				v.Addresses = c.storefront().Addresses
			}
			return v
		},
		Found: c.company.customers.Get,
	}
}

// listCustomers is GET /admin/customers.
func (p *Platform) listCustomers(c *call) (records.Page, error) {
	return customerList(c).Page(c.asked(), &c.company.customers)
}

// newCustomerRequest is the body of POST /admin/customers.
type newCustomerRequest struct {
	FirstName string     `json:"first_name"`
	LastName  string     `json:"last_name"`
	Email     string     `json:"email"`
	Phone     string     `json:"phone"`
	Medias    []newMedia `json:"medias"`
	Tags      []named    `json:"tags"`
}

// newMedia is a picture of a new customer.
type newMedia struct {
	Name string `json:"name"`
	Src  string `json:"src"`
}

// media is the media object of the document.
type media struct {
	ID             int         `json:"id"`
	CollectionName string      `json:"collection_name"`
	FileName       string      `json:"file_name"`
	MimeType       value.Text  `json:"mime_type"`
	Size           int         `json:"size"`
	Link           string      `json:"link"`
	Large          string      `json:"large"`
	Thumb          string      `json:"thumb"`
	Micro          string      `json:"micro"`
	Webp           string      `json:"webp"`
	CreatedAt      value.Stamp `json:"created_at"`
	UpdatedAt      value.Stamp `json:"updated_at"`
}

// createCustomer is POST /admin/customers. Several customers may share an e-mail address or a phone
// number. The company is the company of the credential, whatever company_id says.
func (p *Platform) createCustomer(c *call, in newCustomerRequest) (customerView, error) {
	var f flaws
	f.contact(in.Email, in.Phone)
	if err := f.err(); err != nil {
		return customerView{}, err
	}
	from := scenario.Customer{FirstName: in.FirstName, LastName: in.LastName, Email: in.Email, Phone: in.Phone}
	for _, t := range in.Tags {
		from.Tags = append(from.Tags, t.Name)
	}
	who, err := p.addCustomer(c.company, from, c.now)
	if err != nil {
		return customerView{}, err
	}
	for i, m := range in.Medias {
		who.medias = append(who.medias, media{
			ID: i + 1, CollectionName: "medias", FileName: m.Name, Link: m.Src, Large: m.Src, Thumb: m.Src, Micro: m.Src,
			Webp: m.Src, CreatedAt: c.now, UpdatedAt: c.now,
		})
	}
	return who.view(), nil
}
