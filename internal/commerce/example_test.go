package commerce_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"campaignd/internal/commerce"
	"campaignd/internal/secret"
)

// The example lists the customers of a company, and asks for a discount that is not valid.
func Example() {
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2023-11/admin/customers" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		io.WriteString(w, `{"data":[{"id":"01J8","first_name":"Ama","metadata":{"consent":"yes"}}],
			"links":{"next":null},"meta":{"total":1}}`)
	}))
	defer platform.Close()

	client, err := commerce.New(commerce.Options{BaseURL: platform.URL, Company: "01J0000000000000000000ACME", APIKey: secret.New("key")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for customer, err := range client.Customers(context.Background(), "") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(customer.FirstName, customer.Metadata["consent"])
	}
	_, err = client.Discount(context.Background(), "TEN")
	fmt.Println(err)
	// Output:
	// Ama yes
	// the commerce platform has no such record or route (not_found, GET /2023-11/discounts, HTTP 404)
}
