package sandbox

import (
	"fmt"

	"campaignd/internal/sandbox/shop/scenario"
)

// DemoKey and DemoSecret are the default key and the default webhook secret of a sandbox. No real
// service accepts them.
const (
	DemoKey    = "sandbox-key"
	DemoSecret = "sandbox-secret"
)

// DemoCompany and DemoCommerceKey are the company and the API key of the commerce platform, if the
// scenario does not have one.
const (
	DemoCompany     = scenario.DemoCompany
	DemoCommerceKey = scenario.DemoKey
)

// Demo returns the options of `campaignd demo`: four numbers of HIGH throughput, seven templates,
// one asset, and recipients like those of a real list. Some recipients are unreachable, some do not
// read their messages, and a few answer STOP. The messages to some others fail after the
// acceptance.
func Demo() Options {
	o := Options{
		Seed:              1,
		Keys:              []Key{{Token: DemoKey}},
		EnforceThroughput: true,
		Assets:            []Asset{{ID: "ast_1"}},
		WebhookSecret:     DemoSecret,
		Templates: []Template{
			{
				ID: "tpl_1", Name: "spring_sale", Language: "en_US", Category: "MARKETING",
				Components: []Component{
					{Type: "BODY", Text: "Hi {{1}}, our spring sale is on: {{2}} off everything until Sunday."},
					{Type: "FOOTER", Text: "Reply STOP to opt out"},
					{Type: "BUTTONS", Buttons: []Button{
						{Type: "URL", Text: "Shop now", URL: "https://shop.example/s/{{1}}"},
						{Type: "QUICK_REPLY", Text: "No more offers"},
					}},
				},
			},
			{
				ID: "tpl_2", Name: "spring_sale_banner", Language: "en_US", Category: "MARKETING",
				Components: []Component{
					{Type: "HEADER", Format: "IMAGE"},
					{Type: "BODY", Text: "Hi {{1}}, our spring sale is on: {{2}} off everything until Sunday."},
					{Type: "BUTTONS", Buttons: []Button{{Type: "URL", Text: "Shop now", URL: "https://shop.example/s/{{1}}"}}},
				},
			},
			{
				ID: "tpl_3", Name: "order_update", Language: "en_US", Category: "UTILITY",
				Components: []Component{{Type: "BODY", Text: "Hello {{1}}, your order {{2}} is on its way."}},
			},
			{
				ID: "tpl_4", Name: "newsletter", Language: "en_US", Category: "MARKETING",
				Components: []Component{{Type: "BODY", Text: "News from the shop, every month."}},
			},
			{
				ID: "tpl_5", Name: "coupon", Language: "en_US", Category: "MARKETING",
				Components: []Component{
					{Type: "BODY", Text: "{{1}}, here is a code just for you."},
					{Type: "BUTTONS", Buttons: []Button{{Type: "COPY_CODE", Text: "Copy code"}}},
				},
			},
			{
				ID: "tpl_6", Name: "login_code", Language: "en_US", Category: "AUTHENTICATION",
				Components: []Component{
					{Type: "BODY", Text: "{{1}} is your code."},
					{Type: "BUTTONS", Buttons: []Button{{Type: "OTP", Text: "Copy code"}}},
				},
			},
			{
				ID: "tpl_7", Name: "promo_weekend", Language: "en_US", Category: "MARKETING", Status: "paused",
				Components: []Component{{Type: "BODY", Text: "This weekend only: {{1}}."}},
			},
		},
		Statuses: StatusProfile{
			Unreachable: 0.01,
			Failed:      []Failure{{Code: 131049, Share: 0.02}, {Code: 131026, Share: 0.01}},
			Undelivered: 0.02,
			Unread:      0.35,
			Stop:        0.005,
		},
	}
	for i := 1; i <= 4; i++ {
		o.Connections = append(o.Connections, Connection{
			ID:          fmt.Sprintf("conn_%d", i),
			Phone:       fmt.Sprintf("+1555555010%d", i-1),
			DisplayName: fmt.Sprintf("Demo number %d", i),
			Company:     "co_1",
			Throughput:  "HIGH",
			Tier:        "TIER_UNLIMITED",
		})
	}
	return o
}
