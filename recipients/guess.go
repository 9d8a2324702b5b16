package recipients

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// The words by which a message recognises columns of exports that have no name of toAliases or
// countryAliases: Phone, Default Address Phone and Default Address Country Code (Shopify),
// billing_phone and billing_country (WooCommerce), Mobile Phone Number and Country/Region
// (HubSpot), Mobile and Mailing Country (Salesforce), Phone 1 - Value (Google Contacts), Telefon,
// Handy, Land, Téléphone portable, Pays, Celular, Teléfono móvil, País, Telemóvel. Such a column is
// never taken by itself: an export has several, and one that is read by mistake is of another
// person.
var (
	mobileWords = []string{"mobile", "mobil", "mobilnummer", "mobilfunk", "mobiltelefon", "handy", "handynummer", "cell", "cellphone",
		"cellular", "whatsapp", "movil", "celular", "telemovel", "portable", "gsm", "msisdn", "sms"}
	whatsAppWords = []string{"whatsapp"}
	phoneWords    = []string{"phone", "phonenumber", "telephone", "tel", "telefon", "telefonnummer", "rufnummer", "festnetz", "telefono",
		"telefone",
		"telephon", "fon", "numero"}
	countryWords = []string{"country", "countrycode", "land", "pays", "pais", "paese", "nation"}
	// otherWords are in names of columns that say something about a number or a country.
	otherWords = []string{"label", "type", "typ", "fax", "extension", "ext", "consent", "carrier", "verified", "status", "opt", "optin",
		"optout",
		"assistant", "timezone", "provider", "date", "timestamp", "id", "marketing", "subscription", "subscribed", "accepts", "permission",
		"source", "app", "birth", "language", "calling", "dial", "customer", "order", "invoice", "street", "house"}
)

// words are the words of a column's name, in lower case and without accents.
func words(name string) []string {
	var b strings.Builder
	small := false
	name = strings.ReplaceAll(name, "WhatsApp", "Whatsapp") // one word
	for _, r := range norm.NFD.String(name) {
		switch {
		case unicode.Is(unicode.Mn, r):
			continue
		case unicode.IsUpper(r) && small: // billingPhone
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

func hasWord(name []string, list []string) bool {
	return slices.ContainsFunc(name, func(w string) bool { return slices.Contains(list, w) })
}

// likelyPhones are the columns that probably hold a phone number: those of WhatsApp first, then
// mobile ones.
func likelyPhones(names []string) (columns []int) {
	var mobile, other []int
	for i, name := range names {
		switch w := words(name); {
		case hasWord(w, otherWords) || hasWord(w, countryWords):
		case hasWord(w, whatsAppWords):
			columns = append(columns, i)
		case hasWord(w, mobileWords):
			mobile = append(mobile, i)
		case hasWord(w, phoneWords) || slices.Contains(toAliases, foldName(name)):
			other = append(other, i)
		}
	}
	return append(append(columns, mobile...), other...)
}

// likelyCountry is the first column that probably holds a country; -1: none.
func likelyCountry(names []string) int {
	return slices.IndexFunc(names, func(name string) bool {
		w := words(name)
		return hasWord(w, countryWords) && !hasWord(w, otherWords) && !hasWord(w, phoneWords) && !hasWord(w, mobileWords)
	})
}

// Suggest returns the recipients.columns that fit a list with these columns, as YAML on one line:
// the phone, and the country unless it is found by its name. "" if no column looks like a phone.
func Suggest(names []string) string {
	phones := likelyPhones(names)
	if len(phones) == 0 {
		return ""
	}
	to := make([]string, 0, len(phones))
	for _, i := range phones[:min(len(phones), 4)] {
		to = append(to, YAMLText(names[i]))
	}
	s := "{to: " + to[0]
	if len(to) > 1 {
		s = "{to: [" + strings.Join(to, ", ") + "]"
	}
	if i := likelyCountry(names); i >= 0 && !slices.Contains(countryAliases, foldName(names[i])) {
		s += ", country: " + YAMLText(names[i])
	}
	return s + "}"
}

// plainYAML matches names that YAML takes for text without quotes, also in flow style.
var plainYAML = regexp.MustCompile(`^[\pL_][\pL\pN_ ./()-]*$`)

// YAMLText returns the name of a column as a campaign file has it, in quotes where YAML needs them.
func YAMLText(name string) string {
	switch strings.ToLower(name) {
	case "yes", "no", "on", "off", "true", "false", "null", "y", "n":
	default:
		if plainYAML.MatchString(name) {
			return name
		}
	}
	return strconv.Quote(name)
}
