package audience_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"campaignd/campaign/file"
	"campaignd/internal/audience"
	"campaignd/internal/commerce"
	"campaignd/internal/secret"
)

// The example makes a list of all customers, of whom one agreed to messages.
func Example() {
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"data":[{"id":"01J8","phone":"+237650000001","metadata":{"consent":"yes"}},
			{"id":"01J9","phone":"+237650000002","metadata":[]}],"links":{"next":null},"meta":{"total":2}}`)
	}))
	defer platform.Close()
	client, err := commerce.New(commerce.Options{BaseURL: platform.URL, Company: "01J0000000000000000000ACME", APIKey: secret.New("key")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	d, err := file.Parse("winback.yaml", []byte(`
name: winback
connections: [conn_1]
template: {name: spring_sale, language: en_US}
audience: {from: customers, consent: {field: metadata.consent, values: ["yes"]}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	counts, err := audience.Write(context.Background(), client, d, filepath.Join(dir, "list.csv"), nil)
	fmt.Println(counts.Customers, counts.NoConsent, err)
	// Output: 2 1 <nil>
}
