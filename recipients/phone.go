package recipients

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"campaignd/internal/sentence"
)

// Phones checks phone numbers as people write them. It is not safe for concurrent use: it
// caches the numbering plans that it has used.
//
// It accepts:
//   - + and an international number, with spaces, hyphens, dots, parentheses and characters that
//     nobody sees between the digits, and what written takes off;
//   - with a region, the row's own or the default one, a number as it is dialled there: national
//     (0803 123 4567), with the country code but without + (234803...), or with the region's own
//     international prefix (00..., 011...). Each must result in a valid number, since the reading
//     is a guess; at ValidatePossible in a possible one.
//   - with Options.International and without a region, a number whose country code has no + before
//     it, or 00.
//
// Everything else is a Fault. A number without + is never sent unchanged: the platform would put
// the business's own country code before it, and a stranger would get the message
// (docs/service.md#phone-numbers). Without a region, 00 is refused too: its meaning depends on the
// country where it is dialled.
type Phones struct {
	level     string // one of the Validate constants
	region    string // ISO 3166, or ""
	codes     bool   // Options.International: a number without + begins with its country code
	homeless  Homeless
	remedy    string // for a number of an unknown country
	plans     map[int]*numbering
	last      *numbering        // the plan used last: most lists have numbers of one country
	countries map[string]string // cell -> ISO 3166, "" if it is no country
	names     map[string]string // countryNames; nil until it is needed
}

// NewPhones makes a Phones of a level of validation ("" is ValidateValid) and a default region, an
// ISO 3166 alpha-2 code ("" is none). The error names the setting that is wrong.
func NewPhones(validate, defaultRegion string) (*Phones, error) {
	level, err := validateLevel(validate)
	if err != nil {
		return nil, err
	}
	region, err := regionCode(defaultRegion)
	if err != nil {
		return nil, err
	}
	return &Phones{level: level, region: region, plans: make(map[int]*numbering), countries: make(map[string]string),
		remedy: "write + and the country code, or set recipients.default_region if the whole list is of one country"}, nil
}

// Phones reads single numbers as a list with these options reads them.
func (o Options) Phones() (*Phones, error) {
	p, err := NewPhones(o.Validate, o.DefaultRegion)
	if err == nil {
		p.codes = o.International
	}
	return p, err
}

// Parse returns the E.164 form with + and its Key, or the Fault. Spaces and tabs around the number
// are ignored.
func (p *Phones) Parse(cell string) (to string, key int64, fault *Fault) { return p.ParseIn(cell, "") }

// ParseIn is Parse of a number whose row names its country, as a code or by a name; "" is the
// default region. The country counts for a number without +. A Fault of the country has
// FieldCountry as its Column.
func (p *Phones) ParseIn(cell, country string) (to string, key int64, fault *Fault) {
	s := strings.Trim(cell, " \t")
	// The usual case, checked first: only + and digits.
	if s != "" && s[0] == '+' {
		if key := Key(s); key != 0 {
			return p.international(s, s, key)
		}
	}
	if s = written(s); s == "" {
		return "", 0, &Fault{Kind: MissingPhone, Message: "the cell is empty; fill in the number or remove the row"}
	}
	if fault := damage(s); fault != nil {
		return "", 0, fault
	}
	digits, plus := strip(s)
	if digits == "" {
		return "", 0, invalid(s, "holds no digits", "fill in the number or remove the row")
	}
	if !plus {
		return p.local(s, digits, country)
	}
	e164 := "+" + digits
	key = Key(e164)
	switch {
	case key != 0 && !strings.Contains(s, "(0)"):
		return p.international(s, e164, key)
	case key != 0:
		without, _ := strip(strings.Replace(s, "(0)", "", 1))
		return "", 0, withTrunkPrefix(s, "+"+without)
	case digits[0] == '0':
		return "", 0, invalid(s, "has a 0 after the +, where the country code begins", "write + and the country code")
	case len(digits) < 7:
		return "", 0, invalid(s, fmt.Sprintf("has %s, fewer than any international number",
			sentence.Count(len(digits), "digit", "digits")), "complete it")
	}
	return "", 0, invalid(s, fmt.Sprintf("has %d digits, more than the 15 of E.164", len(digits)), "write one number without an extension")
}

// international checks an E.164 number. s is the cell of the list.
func (p *Phones) international(s, e164 string, key int64) (string, int64, *Fault) {
	if p.level == ValidateNone {
		return e164, key, nil
	}
	plan, national := p.plan(e164)
	if plan == nil {
		return "", 0, invalid(s, "begins with no country code that exists", "write + and the country code")
	}
	if plan.fits(national, p.level) || p.spelled(e164) {
		return e164, key, nil
	}
	return "", 0, misfit(s, e164, plan, national)
}

func (n *numbering) fits(national, level string) bool {
	if level == ValidatePossible {
		return n.isPossible(national)
	}
	return n.isValid(national)
}

// misfit explains why a number does not belong to its country.
func misfit(s, e164 string, plan *numbering, national string) *Fault {
	if n, err := phonenumbers.Parse(e164, ""); err == nil && national[0] == '0' && phonenumbers.IsValidNumber(n) {
		if without := phonenumbers.Format(n, phonenumbers.E164); without != e164 {
			return withTrunkPrefix(s, without)
		}
	}
	if plan.possible == 0 {
		return invalid(s, fmt.Sprintf("is not a number of +%d", plan.code), "check it")
	}
	least, most := plan.lengths()
	has, want := sentence.Count(len(national), "digit", "digits"), fmt.Sprintf("%d", least)
	if most > least {
		want = fmt.Sprintf("%d to %d", least, most)
	}
	switch {
	case len(national) < least:
		return invalid(s, fmt.Sprintf("is too short: %s after +%d, where there should be %s", has, plan.code, want), "complete it")
	case len(national) > most:
		return invalid(s, fmt.Sprintf("is too long: %s after +%d, where there should be %s", has, plan.code, want),
			"write one number without an extension")
	case !plan.isPossible(national):
		return invalid(s, fmt.Sprintf("has %s after +%d, a length that no number there has", has, plan.code), "check it")
	}
	return invalid(s, fmt.Sprintf("is not an assigned number under +%d", plan.code),
		"check it, or set recipients.validate: possible if it is new")
}

func withTrunkPrefix(s, without string) *Fault {
	return invalid(s, "keeps the 0 of national dialling after the country code", "if "+without+" is meant, write that")
}

// plan finds the numbering plan of an E.164 number, and the digits after the country code. Codes
// are prefix-free and have one to three digits (ITU-T E.164, section 6.2.1).
func (p *Phones) plan(e164 string) (*numbering, string) {
	digits := e164[1:]
	code := 0
	for i := range 3 {
		code = code*10 + int(digits[i]-'0')
		if p.last != nil && p.last.code == code {
			return p.last, digits[i+1:]
		}
		plan, met := p.plans[code]
		if !met {
			plan = newNumbering(code)
			p.plans[code] = plan
		}
		if plan != nil {
			p.last = plan
			return plan, digits[i+1:]
		}
	}
	return nil, ""
}

// local reads a number without +.
func (p *Phones) local(s, digits, country string) (string, int64, *Fault) {
	if p.codes { // what a person wrote comes before a column that was found by its name
		if to, key, fault := p.bare(s, strings.TrimPrefix(digits, "00")); fault == nil {
			return to, key, nil
		}
	}
	region := p.region
	if strings.TrimSpace(country) != "" {
		if region = p.countryOf(country); region == "" {
			return "", 0, &Fault{Kind: InvalidPhone, Column: FieldCountry, Message: shown(strings.TrimSpace(country)) +
				" is no country with telephone numbers; write a code of ISO 3166, such as GB, or + and the country code before the number"}
		}
	}
	switch {
	case region != "":
		return p.national(s, digits, region)
	case p.codes:
		return p.bare(s, strings.TrimPrefix(digits, "00"))
	}
	p.homeless.Rows++
	if _, _, fault := p.bare(s, strings.TrimPrefix(digits, "00")); fault == nil {
		p.homeless.Coded++
	}
	if strings.HasPrefix(digits, "00") {
		return "", 0, invalid(s, "begins with 00, an international prefix of some countries only", "write + instead of 00")
	}
	return "", 0, invalid(s, "has no + and country code, so its country is unknown", p.remedy)
}

// Homeless counts the numbers without + whose country is not known.
type Homeless struct {
	Rows  int64
	Coded int64 // those that Options.International would read
}

// bare reads a number that begins with its country code. It must be a valid one, since a national
// number may be taken for it.
func (p *Phones) bare(s, digits string) (string, int64, *Fault) {
	e164 := "+" + digits
	key := Key(e164)
	if key == 0 {
		return "", 0, invalid(s, "is no international number", "write + and the country code")
	}
	strict := *p
	if p.level == ValidateNone {
		strict.level = ValidateValid
	}
	if to, key, fault := strict.international(s, e164, key); fault == nil {
		return to, key, nil
	}
	return "", 0, invalid(s, "is not a number with its country code", "write + and the country code")
}

// national reads a number without + as it is dialled in a region.
func (p *Phones) national(s, digits, region string) (string, int64, *Fault) {
	n, err := phonenumbers.ParseAndKeepRawInput(digits, region)
	if err != nil {
		return "", 0, invalid(s, "is not a number as dialled in "+region, "write + and the country code")
	}
	e164 := phonenumbers.Format(n, phonenumbers.E164)
	key := Key(e164)
	good := key != 0 && (phonenumbers.IsPossibleNumberWithReason(n) == phonenumbers.IS_POSSIBLE &&
		(p.level == ValidatePossible || phonenumbers.IsValidNumber(n)) || p.spelled(e164))
	if !good {
		if strings.HasPrefix(digits, "00") {
			return "", 0, invalid(s, "begins with 00 and is not a number as dialled in "+region, "write + instead of 00")
		}
		return "", 0, invalid(s, "is not a number as dialled in "+region, "write + and the country code")
	}
	if !phonenumbers.IsNationalPrefixPresentIfRequired(n) {
		// Probably a spreadsheet took it for an integer. It may also be a number of another country
		// without its +.
		return "", 0, invalid(s, "has lost its leading 0, or its + and country code", "if "+e164+" is meant, write that")
	}
	return e164, key, nil
}

// strip returns the digits of a number that damage found no fault in, and whether a + leads them.
func strip(s string) (digits string, plus bool) {
	b := make([]byte, 0, 32)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			b = append(b, c)
		case c == '+':
			plus = true
		}
	}
	return string(b), plus
}

func invalid(s, what, remedy string) *Fault {
	return &Fault{Kind: InvalidPhone, Message: shown(s) + " " + what + "; " + remedy}
}

const retype = "type it again as + and digits"

var (
	scientific = regexp.MustCompile(`^[+-]?[0-9]+(?:[.,][0-9]*)?[eE][+-]?[0-9]+$`)
	decimal    = regexp.MustCompile(`^\+?[0-9 ]+[.,]0{1,2}$`)
)

// maxPhone is the most bytes of a cell that is read as a number.
const maxPhone = 64

// damage finds the changes that spreadsheets, word processors and forms make to numbers. Each is a
// fault: lost digits cannot be restored, and with a guess a stranger would get the message.
func damage(s string) *Fault {
	switch {
	case len(s) > maxPhone:
		return invalid(s, "is longer than any phone number", "write one number to a row")
	case scientific.MatchString(s):
		return invalid(s, "is a number that a spreadsheet rounded; its last digits are lost",
			"format the column as text and export it again from the source")
	case decimal.MatchString(s):
		return invalid(s, "ends in a decimal point and zeros, which a spreadsheet added", "format the column as text and export it again")
	case s[0] == '\'':
		return invalid(s, "begins with a spreadsheet's text mark (')", "remove it") // it is followed by no number: see written
	case s[0] == '=':
		return invalid(s, "is a formula", "export the column as text")
	case s[0] == '#':
		return invalid(s, "is a spreadsheet's error or a column that was too narrow", "export it again from the source")
	case s[0] == '-':
		return invalid(s, "begins with a minus sign", retype)
	}
	digits, plus := 0, false
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r == '+' && plus:
			return invalid(s, "holds more than one +", "write one number to a row")
		case r == '+' && digits > 0:
			return invalid(s, "has a + after its first digit", retype)
		case r == '+':
			plus = true
		case r == ' ' || r == '-' || r == '(' || r == ')' || r == '.':
		default:
			what, remedy := strange(r)
			return invalid(s, what, remedy)
		}
	}
	return nil
}

// strange describes a character that does not belong in a phone number.
func strange(r rune) (what, remedy string) {
	named := func(kind string) string { return fmt.Sprintf("holds %s (U+%04X)", kind, r) }
	switch {
	case r == '\n' || r == '\r':
		return named("a line break"), "write one number to a row"
	case r == '\t':
		return named("a tab"), "remove it"
	case r == '\uff0b' || r == '\ufe62' || r == '\u207a':
		return named("a plus sign that is not +"), retype
	case unicode.IsDigit(r) || unicode.Is(unicode.No, r) || unicode.Is(unicode.Nl, r):
		return named("a digit that is not 0 to 9"), retype
	case unicode.Is(unicode.Pd, r) || r == '\u2212':
		return named("a dash that is not -"), "replace it by - or nothing"
	case r == ',' || r == ';' || r == '/' || r == '|' || r == '&':
		return fmt.Sprintf("holds %q", r), "write one number to a row, without separators"
	case unicode.IsLetter(r):
		return fmt.Sprintf("holds a letter (%s)", strings.Trim(shown(string(r)), `"`)), "write the number in digits, without extension"
	case unicode.IsControl(r):
		return named("a control character"), retype
	}
	return named("a character that numbers do not have"), retype
}
