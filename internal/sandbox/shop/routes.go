package shop

import (
	"net/http"
	"slices"
)

const (
	get  = http.MethodGet
	post = http.MethodPost
	put  = http.MethodPut
	del  = http.MethodDelete
)

// routes are all routes: method, path, right, and the function whose types are the body and the
// answer (docs/commerce.md#routes). If two rows fit a request, the first one answers.
func routes() []route {
	at := func(method, path string, who right, do action) route { return route{method, prefix + path, who, do} }
	return slices.Concat([]route{
		at(get, "/company/from-domain", open, give((*Platform).companyFromDomain)),
		at(get, "/companies/{company}", open, give((*Platform).companyByID)),
		at(get, "/company", storefront, give((*Platform).scopedCompany)),
		at(get, "/company/filters", storefront, give((*Platform).companyFilters)),

		at(get, "/shops", storefront, give((*Platform).listShops)),
		at(get, "/shops/count", storefront, give((*Platform).countShops)),
		at(get, "/shops/handle/{slug}", storefront, give((*Platform).showShopByHandle)),
		at(get, "/shops/{shop}", storefront, give((*Platform).showShop)),

		at(get, "/products", storefront, give((*Platform).listProducts)),
		at(get, "/products/count", storefront, give((*Platform).countProducts)),
		at(get, "/products/handle/{handle}", storefront, give((*Platform).showProduct)),
		at(get, "/products/handle/{handle}/similar", storefront, give((*Platform).similarProducts)),
		at(get, "/products/{product}", storefront, give((*Platform).showProduct)),
		at(get, "/products/{product}/similar", storefront, give((*Platform).similarProducts)),
		at(get, "/productVariants", storefront, give((*Platform).listVariants)),
		at(get, "/productVariants/{productVariant}", storefront, give((*Platform).showVariant)),

		at(post, "/customers/register", storefront, take((*Platform).register)),
		at(post, "/customers/login", storefront, take((*Platform).login)),
		at(post, "/customers/logout", storefront, give((*Platform).logout)),
		at(post, "/customers/password/reset-link", storefront, take((*Platform).resetLink)),
		at(post, "/customers/password/forgot", storefront, take((*Platform).forgot)),
		at(post, "/customers/password/reset", storefront, take((*Platform).resetPassword)),

		at(get, "/customers/profile", loggedIn, give((*Platform).showProfile)),
		at(put, "/customers/profile", loggedIn, take((*Platform).updateProfile)),
		at(put, "/customers/profile/password", loggedIn, take((*Platform).changePassword)),
		at(get, "/customers/addresses", loggedIn, give((*Platform).listAddresses)),
		at(post, "/customers/addresses", loggedIn, take((*Platform).createAddress)),
		at(get, "/customers/addresses/{address}", loggedIn, give((*Platform).showAddress)),
		at(put, "/customers/addresses/{address}", loggedIn, take((*Platform).updateAddress)),
		at(del, "/customers/addresses/{address}", loggedIn, give((*Platform).deleteAddress)),

		at(get, "/shipping-fees", storefront, give((*Platform).listFees)),
		at(get, "/pickup-locations", storefront, give((*Platform).listPickups)),

		at(get, "/admin/customers", admin, shifting(give((*Platform).listCustomers))),
		at(post, "/admin/customers", admin, take((*Platform).createCustomer)),
		at(get, "/admin/products", admin, give((*Platform).listProducts)),
		at(get, "/admin/products/{serviceId}", admin, give((*Platform).showStatistics)),
		at(del, "/admin/products/{product}", admin, give((*Platform).deleteProduct)),

		{post, "/oauth/token", open, takeForm((*Platform).exchange)},
		{post, "/oauth/2023-11/token", open, takeForm((*Platform).exchange)},

		{post, "/sandbox/commerce/install", control, take((*Platform).install)},
		{get, "/sandbox/commerce/truth", control, give((*Platform).truth)},
		{get, "/sandbox/commerce/faults", control, give((*Platform).showFaults)},
		{put, "/sandbox/commerce/faults", control, take((*Platform).setFaults)},
	}, orderRoutes(), orderControls())
}
