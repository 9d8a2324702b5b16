package commerce

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Assumed has our assumptions where the document of the platform shows nothing
// (docs/commerce.md#assumptions). The zero value means the defaults.
type Assumed struct {
	// CompanyHeader names the company on admin routes. Default X-Company.
	CompanyHeader string
	// CustomersPath and OrdersPath list all customers and all orders of the company. Defaults:
	// /2023-11/admin/customers and /2023-11/admin/orders.
	CustomersPath, OrdersPath string
	// PageSizeParameter and PageSize ask for pages of a size. Defaults: page[size] and 100.
	PageSizeParameter string
	PageSize          int
	// SearchFilter, OrderFilter and TypeFilter are parameters of lists. Defaults: filter[search],
	// filter[order_id] and filter[type].
	SearchFilter, OrderFilter, TypeFilter string
	// SignatureHeader is the header with the signature of an event. Default X-Commerce-Signature.
	SignatureHeader string
}

// WithDefaults returns a with the default of every field that is zero.
func (a Assumed) WithDefaults() Assumed {
	for _, d := range []struct {
		at       *string
		standard string
	}{
		{&a.CompanyHeader, "X-Company"},
		{&a.CustomersPath, "/2023-11/admin/customers"},
		{&a.OrdersPath, "/2023-11/admin/orders"},
		{&a.PageSizeParameter, "page[size]"},
		{&a.SearchFilter, "filter[search]"},
		{&a.OrderFilter, "filter[order_id]"},
		{&a.TypeFilter, "filter[type]"},
		{&a.SignatureHeader, "X-Commerce-Signature"},
	} {
		if *d.at == "" {
			*d.at = d.standard
		}
	}
	a.PageSize = cmp.Or(a.PageSize, 100)
	return a
}

var (
	headerName    = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	parameterName = regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]+$`)
)

// Validate returns the first fault, with its key below commerce.assumed.
func (a Assumed) Validate() error {
	a = a.WithDefaults()
	for _, h := range []struct{ key, value string }{
		{"company_header", a.CompanyHeader}, {"signature_header", a.SignatureHeader},
	} {
		if !headerName.MatchString(h.value) {
			return fmt.Errorf("%s: %q is not the name of a header", h.key, h.value)
		}
		if name := http.CanonicalHeaderKey(h.value); name == "Authorization" || name == "X-Api-Key" {
			return fmt.Errorf("%s: %s is the header of the key", h.key, name)
		}
	}
	for _, p := range []struct{ key, value string }{{"customers_path", a.CustomersPath}, {"orders_path", a.OrdersPath}} {
		if !strings.HasPrefix(p.value, "/") || strings.HasPrefix(p.value, "//") || strings.ContainsAny(p.value, "?#% \r\n") {
			return fmt.Errorf("%s: %q is not a path such as /2023-11/admin/orders", p.key, p.value)
		}
	}
	for _, p := range []struct{ key, value string }{
		{"page_size_parameter", a.PageSizeParameter}, {"search_filter", a.SearchFilter},
		{"order_filter", a.OrderFilter}, {"type_filter", a.TypeFilter},
	} {
		if !parameterName.MatchString(p.value) {
			return fmt.Errorf("%s: %q is not the name of a parameter such as filter[search]", p.key, p.value)
		}
	}
	if a.PageSize < 1 || a.PageSize > 1000 {
		return fmt.Errorf("page_size: %d is out of bounds; give 1 to 1000", a.PageSize)
	}
	return nil
}
