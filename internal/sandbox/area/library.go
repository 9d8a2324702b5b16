package area

import "strings"

// library is the operator's library of approved templates.
var library = []Template{
	{Name: "order_confirmed", Language: "en_US", Category: "UTILITY", Components: libraryBody(
		"Hello {{1}}, we have received your order {{2}} and prepare it now.", "Ada", "1001")},
	{Name: "delivery_update", Language: "en_US", Category: "UTILITY", Components: libraryBody(
		"Hello {{1}}, your parcel {{2}} arrives on {{3}} between nine and noon.", "Ada", "P-77", "Monday")},
	{Name: "payment_received", Language: "en_US", Category: "UTILITY", Components: libraryBody(
		"Thank you, {{1}}. Your payment of {{2}} has arrived in our account.", "Ada", "20 USD")},
	{Name: "appointment_reminder", Language: "en_US", Category: "UTILITY", Components: libraryBody(
		"Hello {{1}}, this is a reminder of your appointment on {{2}} at our office.", "Ada", "Monday")},
	{Name: "feedback_request", Language: "en_US", Category: "MARKETING", Components: libraryBody(
		"Hello {{1}}, how did you like your last visit? Tell us in a word.", "Ada")},
	{Name: "verification_code", Language: "en_US", Category: "AUTHENTICATION", Components: append(
		libraryBody("{{1}} is your verification code.", "123456"),
		Component{Type: "BUTTONS", Buttons: []Button{{Type: "OTP", Text: "Copy code"}}})},
}

func libraryBody(text string, examples ...string) []Component {
	return []Component{{Type: "BODY", Text: text, Example: &Example{BodyText: [][]string{examples}}}}
}

// listLibrary lists the templates whose name contains ?search=.
func (a *Areas) listLibrary(c *Call) (any, *Refusal) {
	type entry struct {
		Name       string      `json:"name"`
		Language   string      `json:"language"`
		Category   string      `json:"category"`
		Components []Component `json:"components"`
	}
	search, rows := c.Query.Get("search"), []entry{}
	for _, t := range library {
		if strings.Contains(t.Name, search) {
			rows = append(rows, entry{t.Name, t.Language, t.Category, t.Components})
		}
	}
	return list(rows), nil
}
