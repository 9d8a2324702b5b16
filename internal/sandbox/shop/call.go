package shop

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// call is one request, after its credential and company were checked.
type call struct {
	p        *Platform
	r        *http.Request
	route    route
	values   map[string]string // of the path
	query    url.Values
	header   http.Header // of the answer
	base     string      // such as http://127.0.0.1:8090
	now      value.Stamp
	company  *company  // nil on an open route
	shop     *shop     // the active shop, or nil
	customer *customer // of the customer token, or nil
	admin    bool      // the credential is an API key or an access token
	status   int       // of the answer; 0 is 200
	faults   *scenario.Faults
}

// path is a value of the path, such as {order}.
func (c *call) path(name string) string { return c.values[name] }

// The credentials of a request. Several may be given; each must be good and of the same company.
const (
	headerKey     = "X-API-Key"
	headerCompany = "X-Company"
)

// authenticate checks the credential, then the company and the shop
// (docs/commerce.md#authentication).
func (p *Platform) authenticate(c *call) error {
	var given []*credential
	if key := c.r.Header.Get(headerKey); key != "" {
		cred := p.keys[key]
		if err := p.usable(cred); err != nil {
			return err
		}
		given = append(given, cred)
	}
	if text := c.r.Header.Get("Authorization"); text != "" {
		token, bearer := strings.CutPrefix(text, "Bearer ")
		cred := p.publics[text]
		if bearer {
			if cred = p.tokens[strings.TrimSpace(token)]; cred == nil {
				return refuse(http.StatusUnauthorized, "Unauthenticated.")
			}
		} else if err := p.usable(cred); err != nil {
			return err
		}
		given = append(given, cred)
	}
	if err := c.permit(given); err != nil {
		return err
	}
	if err := p.findCompany(c, given); err != nil {
		return err
	}
	return c.findShop()
}

// usable refuses a key that is unknown, expired or revoked, and a sandbox key on a live platform.
func (p *Platform) usable(cred *credential) error {
	switch {
	case cred == nil, cred.key.State != "active":
		return refuse(http.StatusUnauthorized, "Invalid API key")
	case cred.key.Kind == "sandbox" && p.mode == "live":
		return refuse(http.StatusForbidden, "Sandbox key not allowed for live operation")
	}
	return nil
}

// permit checks that the credentials give the right of the route.
func (c *call) permit(given []*credential) error {
	has := func(kind right) bool {
		return slices.ContainsFunc(given, func(cred *credential) bool { return cred.kind == kind })
	}
	c.admin = has(admin)
	switch {
	case c.route.right == storefront, has(c.route.right):
		return nil
	case len(given) > 0:
		return refuse(http.StatusForbidden, "Access denied")
	}
	return refuse(http.StatusUnauthorized, "API key is missing")
}

// findCompany finds the company of X-Company. An admin route may leave that header out.
func (p *Platform) findCompany(c *call, given []*credential) error {
	id := c.r.Header.Get(headerCompany)
	switch {
	case id == "" && c.route.right != admin:
		return say(http.StatusUnprocessableEntity, "Please provide a Company Id")
	case id == "":
		c.company = given[0].company
	default:
		c.company = p.company[id]
	}
	for _, cred := range given {
		if cred.company != c.company {
			return refuse(http.StatusForbidden, "Access denied")
		}
		if cred.customer != "" {
			c.customer, _ = c.company.customers.Get(cred.customer)
		}
	}
	if c.company == nil {
		return say(http.StatusNotFound, "Company not found")
	}
	return nil
}

// findShop finds the shop of X-ShopId, or else of X-Shop.
func (c *call) findShop() error {
	id := cmp.Or(c.r.Header.Get("X-ShopId"), c.r.Header.Get("X-Shop"))
	if id == "" {
		return nil
	}
	var ok bool
	if c.shop, ok = c.company.shops.Get(id); !ok {
		return say(http.StatusNotFound, "Shop not found")
	}
	return nil
}

// asked is what a list reads of the request.
func (c *call) asked() records.Request {
	return records.Request{Query: c.query, URL: c.base + c.r.URL.EscapedPath(), Bracketed: c.route.right == admin}
}
