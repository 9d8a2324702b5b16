package scenario

import "campaignd/internal/sandbox/shop/value"

// The demo shop of a sandbox whose scenario has no section commerce. No real platform accepts its
// keys.
const (
	DemoCompany   = "01HDEM0000000000000000C0MP"
	DemoShop      = "01HDEM0000000000000000SH0P"
	DemoKey       = "commerce-key"
	DemoPublicKey = "commerce-public-key"
)

// Demo is one company with a shop, two products, a discount, a fee, a pickup location, and a
// payment method that makes payment links.
func Demo() Commerce {
	const (
		warehouse = "01HDEM00000000000000WAREH1"
		shoes     = "01HDEM00000000000000SH0ES1"
		vat       = "01HDEM0000000000000000VAT1"
		till      = "01HDEM0000000000000000T1M1"
	)
	price := func(text string) value.Amount {
		var a value.Amount
		_ = a.UnmarshalText([]byte(text)) // Validate would name a wrong one
		return a
	}
	return Commerce{
		Apps: []App{{
			ClientID: "demo-app", ClientSecret: "demo-app-secret", RedirectURI: "http://127.0.0.1:8080/commerce/callback",
			Codes: []Code{{Code: "demo-code", Company: DemoCompany}},
		}},
		Companies: []Company{{
			ID: DemoCompany, Name: "Demo shop", Handle: "demo", CompanyCode: "DEMO", Type: "retail",
			Domains: []string{"shop.example"}, Currency: "EUR",
			PaymentMethods: []PaymentMethod{{
				ID: "01HDEM00000000000000CARD01", Name: "Card", Processor: "cardpay", TreasuryAccount: till,
				Configurations: value.Object{"type": "card", "public_key": "card-public", "private_key": "card-private"},
			}},
			TreasuryAccounts: []TreasuryAccount{{ID: till, Label: "Till", Type: "cash", AccountingAccountCode: "571"}},
			Shops: []Shop{{
				ID: DemoShop, Name: "Main street", Slug: "main-street", Warehouses: []Warehouse{{ID: warehouse, Name: "Back room"}},
			}},
			Collections: []Collection{{ID: shoes, Name: "Shoes", Slug: "shoes"}},
			Taxes:       []Tax{{ID: vat, Name: "VAT", Rate: price("19.25")}},
			Products: []Product{
				{
					ID: "01HDEM00000000000000B00T01", Title: "Boot", Handle: "boot", Type: "physical_goods", Vendor: "Alpine",
					IsTaxable: true, IsShippable: true, Tags: []string{"winter"}, Taxes: []string{vat}, Collections: []string{shoes},
					Variants: []Variant{{
						ID: "01HDEM00000000000000B00TRD", Title: "Red", SKU: "BOOT-RED", Price: price("49.90"), FollowStock: true,
						Stocks: map[string]int{warehouse: 100}, Options: map[string]string{"color": "red"},
					}},
				},
				{
					ID: "01HDEM00000000000000SCARF1", Title: "Scarf", Handle: "scarf", Type: "physical_goods", IsShippable: true,
					Tags:     []string{"winter", "new"},
					Variants: []Variant{{ID: "01HDEM00000000000000SCARF2", Title: "Wool", SKU: "SCARF", Price: price("15")}},
				},
			},
			Customers: []Customer{
				{
					ID: "01HDEM00000000000000000AMA", FirstName: "Ama", LastName: "Mensah", Email: "ama@customers.example",
					Phone: "+237650000001", Password: "ama-password", PreferredLanguage: "fr", Metadata: value.Object{"consent": "yes"},
				},
				{
					ID: "01HDEM0000000000000000KWAM", FirstName: "Kwame", LastName: "Boateng", Email: "kwame@customers.example",
					Phone: "+237650000002", PreferredLanguage: "en", Metadata: value.Object{"consent": "no"},
				},
			},
			Discounts:    []Discount{{ID: "01HDEM0000000000000000TEN1", Code: "TEN", Name: "Ten per cent", Value: price("10")}},
			ShippingFees: []ShippingFee{{ID: "01HDEM0000000000000000FEE1", Name: "City", Amount: price("5")}},
			PickupLocations: []PickupLocation{{
				ShippingFee: ShippingFee{ID: "01HDEM00000000000000DESK01", Name: "Desk"},
				Address:     Address{Line1: "1 Harbour Road", City: "Douala", Country: "CM"},
			}},
			Keys: []Key{{Key: DemoKey, PublicKey: DemoPublicKey}},
		}},
	}
}
