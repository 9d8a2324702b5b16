package file

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// consentColumns are the names that exports give to columns which say whether a person agreed to be
// written to, opted out, or must not be called. A name is compared without case, accents and
// punctuation. docs/lists.md#consent lists them.
var consentColumns = []struct {
	export string
	names  []string
}{
	{"ActiveCampaign", []string{"Unsubscribed Date"}},
	{"Brevo", []string{"DOUBLE_OPT-IN", "OPT_IN", "EMAIL_BLACKLISTED", "SMS_BLACKLISTED", "WHATSAPP_BLACKLISTED"}},
	{"Dynamics 365", []string{"donotphone", "donotbulkemail", "Send Marketing Materials", "Do not allow Phone Calls"}},
	{"HubSpot", []string{"Unsubscribed from all email", "Marketing contact status", "Legal basis for processing contact's data"}},
	{"Klaviyo", []string{"Email Marketing Consent", "SMS Marketing Consent", "Consent"}},
	{"Klaviyo for WooCommerce", []string{"kl_newsletter_checkbox", "kl_sms_consent_checkbox"}},
	{"Mailchimp", []string{"OPTIN_TIME", "CONFIRM_TIME", "UNSUB_TIME", "UNSUB_CAMPAIGN"}},
	{"Mailchimp for WooCommerce", []string{"mailchimp_woocommerce_is_subscribed"}},
	{"Pipedrive", []string{"Marketing status"}},
	{"Salesforce", []string{"Do Not Call", "DoNotCall", "Email Opt Out", "HasOptedOutOfEmail", "Fax Opt Out"}},
	{"Shopify", []string{"Accepts Email Marketing", "Accepts SMS Marketing", "Accepts Marketing"}},
	{"Zoho CRM", []string{"Email Opt Out", "SMS Opt Out"}},
	{"call centres", []string{"DNC"}},
}

// consentWords are what the names of such columns contain in lists that people make.
var consentWords = []struct {
	language string
	words    []string
}{
	{"English", []string{"consent", "opt in", "opt out", "opted in", "opted out", "unsubscribe", "do not call", "do not contact",
		"do not mail",
		"do not email", "do not disturb", "don't market", "accepts marketing", "marketing allowed", "marketing permission", "allow marketing",
		"blacklist", "blocklist", "gdpr"}},
	{"German", []string{"Einwilligung", "Einverständnis", "Zustimmung", "abgemeldet", "Abmeldung", "Widerruf", "Werbesperre", "Werbeerlaubnis",
		"keine Werbung", "nicht anrufen", "nicht kontaktieren", "Sperrliste", "DSGVO"}},
	{"French", []string{"consentement", "désabonné", "désabonnement", "désinscri", "ne pas appeler", "ne pas contacter", "ne pas solliciter",
		"accepte le marketing", "liste noire", "RGPD"}},
	{"Spanish", []string{"consentimiento", "dado de baja", "fecha de baja", "desuscri", "no llamar", "no contactar", "no molestar",
		"acepta marketing", "acepta publicidad", "lista negra", "lista Robinson"}},
	{"Portuguese", []string{"consentimento", "descadastr", "não ligar", "não contatar", "não contactar", "não perturbe", "aceita marketing",
		"aceita receber", "LGPD"}},
}

// plainName is a column's name without case, accents and punctuation.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(name))
}

// saysConsent reports whether a column looks like consent, an opt-out or do-not-call.
func saysConsent(column string) bool {
	plain := plainName(column)
	for _, e := range consentColumns {
		if slices.ContainsFunc(e.names, func(name string) bool { return plainName(name) == plain }) {
			return true
		}
	}
	for _, l := range consentWords {
		if slices.ContainsFunc(l.words, func(word string) bool { return strings.Contains(plain, plainName(word)) }) {
			return true
		}
	}
	return false
}

// UnusedConsent returns the columns of a list that look like consent and that the campaign neither
// filters by nor ignores. A column whose name continues that of a used one belongs to it, such as
// the time of a consent.
func (a *Audience) UnusedConsent(header []string) (columns []string) {
	var used []string
	for name := range a.Where {
		used = append(used, plainName(name))
	}
	for _, name := range a.Ignore {
		used = append(used, plainName(name))
	}
	for _, name := range header {
		plain := plainName(name)
		if saysConsent(name) && !slices.ContainsFunc(used, func(u string) bool { return strings.HasPrefix(plain, u) }) {
			columns = append(columns, name)
		}
	}
	return columns
}
