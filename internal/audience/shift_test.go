package audience_test

import (
	"encoding/csv"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"campaignd/campaign/file"
	"campaignd/internal/audience"
	"campaignd/internal/commerce"
	"campaignd/internal/sandbox/shop"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/secret"
)

// The list has each of 10,000 customers once, although new ones come in front of those that are
// still to be read.
func TestEachCustomerIsListedOnceWhileRowsShift(t *testing.T) {
	const customers = 10_000
	platform, err := shop.New(scenario.Commerce{Faults: scenario.Faults{Shift: 0.1}, Companies: []scenario.Company{{
		ID: scenario.DemoCompany, Name: "Shop", Handle: "shop", Currency: "EUR",
		Keys:     []scenario.Key{{Key: scenario.DemoKey, PublicKey: "public"}},
		Generate: scenario.Generate{Customers: customers}}}}, shop.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(platform)
	defer server.Close()
	client, err := commerce.New(commerce.Options{
		BaseURL: server.URL, Company: scenario.DemoCompany, APIKey: secret.New(scenario.DemoKey), Rate: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	d, err := file.Parse("c.yaml", []byte(
		"name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en}\naudience: {from: customers}\n"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "list.csv")
	counts, err := audience.Write(t.Context(), client, d, path, nil)
	if err != nil {
		t.Fatalf("the list: %v; want no error", err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, r := range rows[1:] {
		if listed[r[0]]++; listed[r[0]] > 1 {
			t.Errorf("%s is in %d rows, want one", r[0], listed[r[0]])
		}
	}
	if len(listed) <= customers || counts.Customers != int64(len(listed)) {
		t.Errorf("got %d customers in the list and %d counted, want more than %d, because some came meanwhile", len(listed), counts.Customers,
			customers)
	}
}
