package shop

// orderRoutes are the routes of discounts, orders, payments and treasury accounts.
func orderRoutes() []route {
	at := func(method, path string, who right, do action) route { return route{method, prefix + path, who, do} }
	return []route{
		at(get, "/discounts", storefront, give((*Platform).discountByCode)),
		at(post, "/discounts/automatic", storefront, take((*Platform).automaticDiscounts)),

		at(post, "/customers/orders", storefront, take((*Platform).createOrder)),
		at(get, "/customers/orders", loggedIn, give((*Platform).listMyOrders)),
		at(get, "/customers/orders/{orderId}", storefront, give((*Platform).showOrder)),
		at(put, "/customers/orders/{order}", loggedIn, take((*Platform).updateOrder)),
		at(post, "/customers/orders/{order}/payments", storefront, take((*Platform).makeLink)),
		{get, "/pay/{token}", open, give((*Platform).payPage)},

		at(put, "/admin/treasuryAccounts/{id}", admin, take((*Platform).updateTreasury)),
		at(get, "/admin/orders", admin, shifting(give((*Platform).listOrders))),
		at(post, "/admin/orders", admin, take((*Platform).createAdminOrder)),
		at(post, "/admin/orders/{id}/payments", admin, take((*Platform).addPayment)),
		at(get, "/admin/payments", admin, give((*Platform).listPayments)),
	}
}

// orderControls are the sandbox's own paths about orders and stock.
func orderControls() []route {
	return []route{
		{post, "/sandbox/commerce/pay", control, take((*Platform).payOrder)},
		{post, "/sandbox/commerce/orders/{order}/status", control, take((*Platform).setOrderStatus)},
		{post, "/sandbox/commerce/stock", control, take((*Platform).setStock)},
	}
}
