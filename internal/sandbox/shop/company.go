package shop

import (
	"net/http"
	"slices"
	"strings"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// company is a company of the scenario with all its records.
type company struct {
	scenario.Company
	pace      pace
	shops     records.Table[*shop]
	products  records.Table[*product]
	variants  records.Table[*variant]
	customers records.Table[*customer]
	addresses records.Table[*address]
	discounts records.Table[*discount]
	fees      records.Table[*fee]
	pickups   records.Table[*pickup]
	methods   records.Table[*method]
	treasury  records.Table[*treasuryAccount]
	taxes     map[string]scenario.Tax
	book      map[string][]*address // by customer
	source    source                // of generated records
	orderBook
}

// addCompany adds a company of a scenario that was checked.
func (p *Platform) addCompany(from scenario.Company) error {
	c := &company{Company: from, taxes: map[string]scenario.Tax{}, book: map[string][]*address{}}
	p.companies, p.company[from.ID] = append(p.companies, c), c
	for _, t := range from.Taxes {
		c.taxes[t.ID] = t
	}
	var err error
	put := func(next error) {
		if err == nil {
			err = next
		}
	}
	now := p.now()
	for _, s := range from.Shops {
		put(c.shops.Start(&p.room, newShop(c, s, now)))
	}
	for _, a := range from.TreasuryAccounts {
		put(c.treasury.Start(&p.room, &treasuryAccount{TreasuryAccount: a, company: c, created: now, updated: now}))
	}
	for _, m := range from.PaymentMethods {
		put(c.methods.Start(&p.room, &method{m, c}))
	}
	for _, pr := range from.Products {
		made := newProduct(c, pr, now)
		put(c.products.Start(&p.room, made))
		for _, v := range made.variants {
			put(c.variants.Start(&p.room, v))
		}
	}
	for _, cu := range from.Customers {
		put(c.customers.Start(&p.room, newCustomer(c, cu, now)))
	}
	for _, d := range from.Discounts {
		put(c.discounts.Start(&p.room, &discount{d, c}))
	}
	for _, f := range from.ShippingFees {
		put(c.fees.Start(&p.room, newFee(c, f, now)))
	}
	for _, l := range from.PickupLocations {
		put(c.pickups.Start(&p.room, &pickup{fee: newFee(c, l.ShippingFee, now), address: l.Address}))
	}
	for i := range from.Keys {
		k := &from.Keys[i]
		p.keys[k.Key] = &credential{company: c, kind: admin, key: k}
		if k.PublicKey != "" {
			p.publics[k.PublicKey] = &credential{company: c, kind: storefront, key: k}
		}
	}
	for _, w := range from.Webhooks {
		c.hooks = append(c.hooks, newHook(w))
	}
	for _, t := range from.Tokens {
		p.tokens[t.Token] = &credential{company: c, kind: admin}
	}
	p.generate(c)
	return err
}

// publicCompany is the public company of the document.
type publicCompany struct {
	ID                string              `json:"id"`
	Name              string              `json:"name"`
	Description       value.Text          `json:"description"`
	Type              value.Text          `json:"type"`
	Handle            string              `json:"handle"`
	CompanyCode       value.Text          `json:"company_code"`
	LogoURL           value.Text          `json:"logoUrl"`
	Logo              any                 `json:"logo"`
	Storefront        value.Object        `json:"storefront"`
	StoreFrontFilters filtersBlock        `json:"storeFrontFilters"`
	PaymentMethods    []methodView        `json:"paymentMethods"`
	Currency          *money              `json:"currency"`
	Currencies        []scenario.Currency `json:"currencies"`
	Variables         value.Object        `json:"variables"`
	Website           *website            `json:"website"`
	HasBlogs          bool                `json:"hasBlogs"`
	Contact           value.Object        `json:"contact"`
	Address           any                 `json:"address"`
	BusinessID        value.Text          `json:"business_id"`
	TaxID             value.Text          `json:"tax_id"`
}

// money is a currency.
type money struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

// website is a domain of a company or a shop.
type website struct {
	ID       string `json:"id"`
	Domain   string `json:"domain"`
	Main     bool   `json:"main"`
	IsActive bool   `json:"is_active"`
}

// filtersBlock is what a storefront offers as filters.
type filtersBlock struct {
	Collections []collectionView    `json:"collections"`
	MinPrice    *value.Amount       `json:"minPrice"`
	MaxPrice    *value.Amount       `json:"maxPrice"`
	Options     map[string][]string `json:"options"`
}

type collectionView struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Slug           string `json:"slug"`
	Medias         []any  `json:"medias"`
	SubCollections []any  `json:"sub_collections"`
}

func viewCollection(c scenario.Collection) collectionView {
	return collectionView{ID: c.ID, Name: c.Name, Slug: c.Slug, Medias: none, SubCollections: none}
}

func (c *company) view() publicCompany {
	v := publicCompany{
		ID: c.ID, Name: c.Name, Type: value.Text(c.Type), Handle: c.Handle, CompanyCode: value.Text(c.CompanyCode),
		StoreFrontFilters: c.filters(), PaymentMethods: []methodView{}, Currencies: c.Currencies,
	}
	if c.Currencies == nil {
		v.Currencies = []scenario.Currency{}
	}
	if c.Address.Country != "" {
		v.Address = c.Address
	}
	if c.Currency != "" {
		v.Currency = &money{c.Currency, c.Currency}
	}
	if len(c.Domains) > 0 {
		v.Website = &website{c.ID, c.Domains[0], true, true}
	}
	for m := range c.methods.All() {
		if on(m.Status) {
			v.PaymentMethods = append(v.PaymentMethods, m.view())
		}
	}
	return v
}

// filters are the collections, prices and options of the company's products that are published.
func (c *company) filters() filtersBlock {
	block := filtersBlock{Collections: []collectionView{}, Options: map[string][]string{}}
	for _, col := range c.Collections {
		block.Collections = append(block.Collections, viewCollection(col))
	}
	for p := range c.products.All() {
		if !on(p.Published) {
			continue
		}
		for _, v := range p.variants {
			if block.MinPrice == nil || v.Price.LessThan(block.MinPrice.Decimal) {
				block.MinPrice = &v.Price
			}
			if block.MaxPrice == nil || v.Price.GreaterThan(block.MaxPrice.Decimal) {
				block.MaxPrice = &v.Price
			}
			for name, value := range v.Options {
				if !slices.Contains(block.Options[name], value) {
					block.Options[name] = append(block.Options[name], value)
				}
			}
		}
	}
	return block
}

// fourWeeks is the cache of the public routes of a company (docs/commerce.md#assumptions).
const fourWeeks = "public, max-age=2419200"

// companyFromDomain is GET /company/from-domain?domain= or ?companyId=.
func (p *Platform) companyFromDomain(c *call) (publicCompany, error) {
	found := p.named(c.query.Get("domain"), c.query.Get("companyId"))
	if found == nil {
		return publicCompany{}, say(http.StatusNotFound, "Company not found")
	}
	c.header.Set("Cache-Control", fourWeeks)
	return found.view(), nil
}

// named finds a company by one of its domains, or else by its id.
func (p *Platform) named(domain, id string) *company {
	for _, c := range p.companies {
		if domain != "" && slices.ContainsFunc(c.Domains, func(d string) bool { return strings.EqualFold(d, domain) }) {
			return c
		}
	}
	if domain != "" {
		return nil
	}
	return p.company[id]
}

// companyByID is GET /companies/{company}.
func (p *Platform) companyByID(c *call) (publicCompany, error) {
	found := p.company[c.path("company")]
	if found == nil {
		return publicCompany{}, say(http.StatusNotFound, "Company not found")
	}
	c.header.Set("Cache-Control", fourWeeks)
	return found.view(), nil
}

// scopedCompany is GET /company?domain=. A domain of another company is unknown here.
func (p *Platform) scopedCompany(c *call) (publicCompany, error) {
	if domain := c.query.Get("domain"); domain != "" && p.named(domain, "") != c.company {
		return publicCompany{}, say(http.StatusNotFound, "Company not found")
	}
	return c.company.view(), nil
}

// companyFilters is GET /company/filters?companyId=.
func (p *Platform) companyFilters(c *call) (filtersBlock, error) {
	if id := c.query.Get("companyId"); id != "" && id != c.company.ID {
		return filtersBlock{}, say(http.StatusNotFound, "Company not found")
	}
	return c.company.filters(), nil
}
