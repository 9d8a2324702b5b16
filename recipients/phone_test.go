package recipients

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"
)

func TestKeyFoldsSpellingsThePlatformInterchanges(t *testing.T) {
	tests := map[string]int64{
		"+2348031234567":    2348031234567,
		"2348031234567":     2348031234567,
		"+5531987654321":    553187654321,  // Brazil: the ninth digit of a mobile
		"+553187654321":     553187654321,  // as the platform's ids have it
		"+5531932654321":    5531932654321, // without the 9 it would be another person's landline
		"+553132654321":     553132654321,  // that landline
		"+5215512345678":    525512345678,  // Mexico: the 1 of mobiles
		"+525512345678":     525512345678,
		"+5491123456789":    5491123456789, // Argentina: the 9 of mobiles
		"+541123456789":     5491123456789,
		"+5492214567890":    5492214567890,
		"+542214567890":     5492214567890,
		"+54911234567890":   54911234567890, // a digit too many
		"+5494123456789":    5494123456789,  // no area code begins with 4
		"+544123456789":     544123456789,
		"+2290197123456":    2290197123456, // Benin: 01 before every number since November 2024
		"+22997123456":      2290197123456,
		"+2290121312345":    2290121312345, // landlines, too
		"+22921312345":      2290121312345,
		"+22901234567":      22901234567, // 8 digits that were never a number
		"+2290101234567":    2290101234567,
		"+2250103123456":    2250103123456, // Ivory Coast: 01 before the numbers of Moov
		"+22503123456":      2250103123456,
		"+22540123456":      2250140123456,
		"+22504123456":      2250504123456, // 05 before those of MTN
		"+22596123456":      2250596123456,
		"+22507123456":      2250707123456, // 07 before those of Orange
		"+22568123456":      2250768123456,
		"+2250768123456":    2250768123456,
		"+2250107123456":    2250107123456, // a new number of Moov, whose 8 digits are those of a number of Orange
		"+22569123456":      22569123456,   // sources differ about 69, and 60 and 61 ended before
		"+22560123456":      22560123456,
		"+22520312345":      22520312345, // landlines of Ivory Coast are compared as they are
		"+1234567":          1234567,
		"+123456789012345":  123456789012345,
		"+123456":           0,
		"+1234567890123456": 0,
		"":                  0, "+": 0, "++12345678": 0, "+0123456789": 0, "0803123456": 0,
		"+234 803 123": 0, "+23480312x4567": 0, " +2348031234567": 0, "\uff0b2348031234567": 0, "+234803\u0661234567": 0,
	}
	for s, want := range tests {
		if got := Key(s); got != want {
			t.Errorf("Key(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestKeyIsTheNumberWithAndWithoutPlus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[1-9][0-9]{6,14}`).Draw(t, "digits")
		key := Key("+" + s)
		if key == 0 || Key(s) != key {
			t.Fatalf("%s: key %d with + and %d without, want the same", s, key, Key(s))
		}
		if again := Key(fmt.Sprintf("+%d", key)); again != key {
			t.Fatalf("%s: the key of key %d is %d, want the same", s, key, again)
		}
		if listed := regexp.MustCompile(`^(52|54|55|225|229)`); fmt.Sprint(key) != s && !listed.MatchString(s) {
			t.Fatalf("%s: key %d, want the digits themselves", s, key)
		}
	})
}

func TestPhonesReadsWhatTheSettingsAllow(t *testing.T) {
	tests := []struct {
		level, region, cell string
		want                string // E.164, or a part of the fault
	}{
		{"", "", "+2348031234567", "+2348031234567"},
		{"", "", "(+234) 803-123.4567", "+2348031234567"},
		{"", "", "+5215512345678", "+5215512345678"},
		{"possible", "", "+5215512345678", "+5215512345678"},
		{"", "", "+5215002345678901", "16 digits"},
		{"", "", "+390612345678", "+390612345678"}, // Italy keeps its zero
		{"", "", "+2349991234567", "is not an assigned number under +234"},
		{"possible", "", "+2349991234567", "+2349991234567"},
		{"possible", "", "+234999", "fewer than any international number"},
		{"possible", "", "+23499912", "is too short: 5 digits after +234"},
		{"none", "", "+23499912", "+23499912"},
		{"none", "", "+2101234567", "+2101234567"},
		{"possible", "", "+2101234567", "no country code that exists"},
		{"none", "", "2348031234567", "has no + and country code"},
		{"none", "", "002348031234567", "begins with 00"},
		{"none", "", "+44 (0)20 7946 0958", "keeps the 0 of national dialling"},
		{"none", "", "+234803123456.0", "ends in a decimal point"},
		{"", "", "+1.202.555.0123", "+12025550123"},
		{"", "", "+1 202 555.0100", "+12025550100"},
		{"", "US", "(202) 555-0123", "+12025550123"},
		{"", "US", "12025550123", "+12025550123"},
		{"", "us", "011 49 1512 3456789", "+4915123456789"},
		{"", "DE", "0049 234 567890", "+49234567890"},
		{"", "DE", "00234 803 123 4567", "+2348031234567"},
		{"", "DE", "0151 23456789", "+4915123456789"},
		{"", "DE", "15123456789", "has lost its leading 0, or its + and country code"},
		{"", "NG", "2348031234567", "+2348031234567"},
		{"", "DE", "4915123456789", "has lost its leading 0, or its + and country code"}, // +49 4915123456789 is a landline
		{"", "DE", "2348031234567", "has lost its leading 0, or its + and country code"}, // +49 2348031234567 is a landline, too
		{"", "IT", "06 1234 5678", "+390612345678"},
		{"", "ES", "612 345 678", "+34612345678"}, // no trunk prefix to lose
		{"", "IN", "98765 43210", "+919876543210"},
		{"none", "DE", "0151", "is not a number as dialled in DE"},
		{"none", "US", "4915123456789", "is not a number as dialled in US"},
		{"", "DE", "DE", "holds a letter (D)"},
		{"", "", "-", "minus sign"},
		{"", "", "+509 (0)34101234", "if +50934101234 is meant"},
		{"", "", "()", "holds no digits"},
		{"", "", "+", "holds no digits"},
		{"", "", "+1+2", "more than one +"},
		{"", "", "12345678+", "a + after its first digit"},
		{"", "", "+12025550123\n", "a line break (U+000A)"},
		{"", "", "+1202\t5550123", "a tab"},
		{"", "", "+1202\x1b5550123", "a control character"},
		{"", "", "+1202*5550123", "a character that numbers do not have (U+002A)"},
		{"", "", "+1202555012\u00b2", "a digit that is not 0 to 9"},
		{"", "", strings.Repeat("+1", 500), "longer than any phone number"},
		{"", "", "1E5", "rounded"},
		{"", "", " \t ", "the cell is empty"},
		// The whole sentence, with the cell as it was written.
		{"", "", "+", `"+" holds no digits; fill in the number or remove the row`},
		{"", "", "( )", `"( )" holds no digits; fill in the number or remove the row`},
		{"", "", "00 234 803", `"00 234 803" begins with 00, an international prefix of some countries only; ` +
			`write + instead of 00`},
		{"", "", "+0 123 4567", `"+0 123 4567" has a 0 after the +, where the country code begins; write + and the country code`},
		{"", "", "+5", `"+5" has 1 digit, fewer than any international number; complete it`},
		{"", "", "+1 0", `"+1 0" has 2 digits, fewer than any international number; complete it`},
		{"", "", "+1 202 555 012", `"+1 202 555 012" is too short: 9 digits after +1, where there should be 10; complete it`},
		{"", "", "+1 202 555 01234",
			`"+1 202 555 01234" is too long: 11 digits after +1, where there should be 10; write one number without an extension`},
		{"", "", "+1 000 555 0123", `"+1 000 555 0123" is not an assigned number under +1`},
		// both spellings of a number are read, and kept
		{"", "", "+55 11 8765-4321", "+551187654321"},
		{"", "", "+55 11 98765-4321", "+5511987654321"},
		{"possible", "", "+551187654321", "+551187654321"},
		{"", "BR", "011 8765-4321", "+551187654321"},
		{"", "", "+55 11 3265-4321", "+551132654321"},
		{"", "", "+229 97 12 34 56", "+22997123456"},
		{"", "", "+229 01 97 12 34 56", "+2290197123456"},
		{"", "BJ", "97 12 34 56", "+22997123456"},
		{"", "", "+225 07 12 34 56", "+22507123456"},
		{"possible", "", "+225 07 12 34 56", "+22507123456"},
		{"", "", "+225 07 07 12 34 56", "+2250707123456"},
		{"", "", "+225 60 12 34 56", "is too short"},
		{"", "", "+54 11 2345-6789", "+541123456789"},
		{"", "", "+54 9 11 2345-6789", "+5491123456789"},
		// the 1 before a mobile is Mexico's alone
		{"", "", "+234 18031234567", `"+234 18031234567" is not an assigned number under +234; check it`},
		{"possible", "NG", "0999 123 4567", "+2349991234567"},
		{"", "NG", "0999 123 4567", "is not a number as dialled in NG"},
		{"none", "NG", "0999 123 4567", "is not a number as dialled in NG"},
		{"", "", "+1" + strings.Repeat(" ", 52) + "2025550100", "+12025550100"}, // 64 bytes
		{"", "", "+1+2025550100", `"+1+2025550100" holds more than one +; write one number to a row`},
		{"", "", "0+12025550100", `"0+12025550100" has a + after its first digit; type it again as + and digits`},
		{"", "", "1+2025550100", `"1+2025550100" has a + after its first digit; type it again as + and digits`},
		{"", "", "+1" + strings.Repeat(" ", 53) + "2025550100", "longer than any phone number"},
	}
	for _, tt := range tests {
		p, err := NewPhones(tt.level, tt.region)
		if err != nil {
			t.Fatal(err)
		}
		to, key, fault := p.Parse(tt.cell)
		switch {
		case strings.HasPrefix(tt.want, "+"):
			if fault != nil || to != tt.want || key != Key(tt.want) {
				t.Errorf("%s/%s %q: %s %d %v, want %s", tt.level, tt.region, tt.cell, to, key, fault, tt.want)
			}
		case fault == nil:
			t.Errorf("%s/%s %q: accepted as %s, want %q", tt.level, tt.region, tt.cell, to, tt.want)
		case !strings.Contains(fault.Message, tt.want) || to != "" || key != 0:
			t.Errorf("%s/%s %q: %q, want %q", tt.level, tt.region, tt.cell, fault.Message, tt.want)
		}
	}
}

// Each character that does not belong in a number is named (Unicode 15, categories Pd, Nd, Cf;
// https://www.unicode.org/reports/tr9/).
func TestEveryStrangeCharacterIsNamed(t *testing.T) {
	const retype = "type it again as + and digits"
	for want, characters := range map[string]string{
		"a line break (%s); write one number to a row": "\n\r",
		"a tab (%s); remove it":                        "\t",
		"a plus sign that is not + (%s); " + retype:    "\u207a\ufe62\uff0b",
		"a digit that is not 0 to 9 (%s); " + retype: "\u0660\u0669\uff10" +
			"\uff19\u00b2\u2070\u2079\u2160\u0966",
		"a dash that is not - (%s); replace it by - or nothing": "\u2010\u2013\u2015\u2212\ufe63\uff0d",
		"a control character (%s); " + retype:                   "\x01\x1f\x7f\u0080\u009f",
		"a character that numbers do not have (%s); " + retype:  "*\u2028\u2029\u2065\u206a\u207b\u2211\u2213\uff0c:",
	} {
		for _, r := range characters {
			p, err := NewPhones("", "")
			if err != nil {
				t.Fatal(err)
			}
			cell := "+1202" + string(r) + "5550123"
			_, _, fault := p.Parse(cell)
			if want := strconv.QuoteToASCII(cell) + " holds " + fmt.Sprintf(want, fmt.Sprintf("U+%04X", r)); fault == nil || fault.Message != want {
				t.Errorf("%U: %+v, want %s", r, fault, want)
			}
		}
	}
	for r, want := range map[rune]string{
		',': "holds ','; write one number to a row, without separators", ';': "holds ';'; write one number to a row, without separators",
		'|': "holds '|'; write one number to a row, without separators", '&': "holds '&'; write one number to a row, without separators",
		'x':      "holds a letter (x); write the number in digits, without extension",
		'\u00e9': `holds a letter (\u00e9); write the number in digits, without extension`,
	} {
		p, _ := NewPhones("", "")
		cell := "+1202" + string(r) + "5550123"
		if _, _, fault := p.Parse(cell); fault == nil || fault.Message != strconv.QuoteToASCII(cell)+" "+want {
			t.Errorf("%q: %+v, want %s", r, fault, want)
		}
	}
}

// Each is what a program writes for one number, and is read as that number; what may be two numbers
// is not.
func TestNumbersAreReadAsProgramsWriteThem(t *testing.T) {
	for _, c := range []struct{ region, cell, want string }{
		{"", "'+447400123456", "+447400123456"},    // Shopify, and a spreadsheet that had the column as text
		{"", "'+44 7400 123456", "+447400123456"},  // our own reports
		{"DE", "'0151 46722372", "+4915146722372"}, // a text column of a spreadsheet
		{"", "'(+44) 7400 123456", "+447400123456"},
		{"", "''+447400123456", "text mark"}, {"", "'x", "text mark"}, {"", "'", "text mark"},
		{"", "tel:+447400123456", "+447400123456"}, {"", "TEL: +44-7400-123456", "+447400123456"},
		{"", "tel:+447400123456;ext=5", "holds ';'"}, {"", "tel:", "holds a letter (t)"},
		{"", "p:+447400123456", "+447400123456"}, {"", "whatsapp:+447400123456", "+447400123456"},
		{"DE", "tel:0151 46722372", "+4915146722372"}, {"", "tel:0151", "has no + and country code"},
		{"", "\u202a+447400123456\u202c", "+447400123456"}, {"", "\u2066tel:+44\u200e7400123456\u2069", "+447400123456"},
		{"", "\ufeff+44\u200b7400\u00ad123456", "+447400123456"}, {"", "\ufeff'+447400123456", "+447400123456"},
		{"", "+44\u00a07400\u2007123\u202f456", "+447400123456"}, {"", "\u00a0\u200b", "the cell is empty"},
		{"DE", "0151/46722372", "+4915146722372"}, {"DE", "0151 / 467 22 372", "+4915146722372"},
		{"", "+49 151/46722372", "+4915146722372"}, {"DE", "0049 151/46722372", "+4915146722372"},
		{"", "+49 30 901820/21", "holds '/'"},                    // 901820 or 901821
		{"DE", "030 901820/21234", "holds '/'"},                  // two numbers of one area
		{"DE", "0301234/0305678", "holds '/'"},                   // two numbers
		{"DE", "0151/46722372/5", "holds '/'"},                   // a slash behind the number as well
		{"", "+49151/+4915146722372", "holds '/'"},               // two numbers, the first cut off
		{"DE", "0/15146722372", "holds '/'"},                     // 0 is no area code
		{"DE", "0151/", "holds '/'"},                             // nothing behind it
		{"DE", "0049 151 467/22372", "holds '/'"},                // ten digits are no area code
		{"", "/12345678", "holds '/'"},                           // nothing before it
		{"", "+447400123456 ::: +447400123457", "+447400123456"}, // Google Contacts: one label, two numbers
		{"", "::: +447400123457", "the cell is empty"},
		{"", "+44:7400123456", "a character that numbers do not have (U+003A)"},
	} {
		p, err := NewPhones("", c.region)
		if err != nil {
			t.Fatal(err)
		}
		to, key, fault := p.Parse(c.cell)
		if strings.HasPrefix(c.want, "+") && (to != c.want || key != Key(c.want)) {
			t.Errorf("%+q in %q: got %s, %d, %+v, want %s", c.cell, c.region, to, key, fault, c.want)
		} else if !strings.HasPrefix(c.want, "+") && (fault == nil || !strings.Contains(fault.Message, c.want)) {
			t.Errorf("%+q in %q: got %s, %+v, want a fault: %s", c.cell, c.region, to, fault, c.want)
		}
	}
}

// Punctuation never changes the recipient of the message.
func TestPunctuationNeverChangesTheNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		region := rapid.SampledFrom([]string{"NG", "DE", "US", "BR", "MX", "IN", "KE", "IT", "CI"}).Draw(t, "region")
		digits := strings.TrimPrefix(phonenumbers.Format(phonenumbers.GetExampleNumberForType(region,
			phonenumbers.MOBILE), phonenumbers.E164), "+")
		var b strings.Builder
		b.WriteByte('+')
		for i := range len(digits) {
			// Neither "(0)", which marks a trunk prefix, nor a zero alone after a point, as spreadsheets
			// write it.
			b.WriteString(rapid.SampledFrom([]string{"", "", " ", "-", ") ", " ("}).Draw(t, "between"))
			b.WriteByte(digits[i])
		}
		if strings.Contains(b.String(), "(0)") {
			t.Skip("a trunk prefix")
		}
		p, err := NewPhones("", "")
		if err != nil {
			t.Fatal(err)
		}
		to, _, fault := p.Parse(b.String())
		if fault != nil || to != "+"+digits {
			t.Fatalf("Parse(%q) = %s, fault %v, want +%s", b.String(), to, fault, digits)
		}
	})
}

// FuzzPhone: each cell is either a number whose digits stand in the cell, or a fault with a
// sentence. A number that is accepted is valid for the library, too.
func FuzzPhone(f *testing.F) {
	for _, s := range []string{"+2348031234567", "+44 (0)20 7946 0958", "9.18E+11", "+234\u00a08031234567", "08031234567", "+5215512345678",
		"\u202a+49", "00491512", "+1 (202) 555-0123"} {
		f.Add(s, "")
		f.Add(s, "NG")
	}
	f.Fuzz(func(t *testing.T, cell, region string) {
		p, err := NewPhones("", region)
		if err != nil {
			return
		}
		to, key, fault := p.Parse(cell)
		if fault != nil {
			if to != "" || key != 0 || fault.Message == "" || strings.ContainsAny(fault.Message, "\n\r\x00") {
				t.Fatalf("Parse(%q) = %q, %d, fault %+v, want a fault of one line alone", cell, to, key, fault)
			}
			return
		}
		if key == 0 || key != Key(to) || to[0] != '+' {
			t.Fatalf("Parse(%q) = %q, %d, want a number and its key", cell, to, key)
		}
		digits, plus := strip(written(cell))
		if plus && to != "+"+digits {
			t.Fatalf("%q: got %s, want its own digits", cell, to)
		}
		if !plus && p.region == "" {
			t.Fatalf("%q: got %s, want a fault without a country code", cell, to)
		}
		n, err := phonenumbers.Parse(to, "")
		if err == nil && phonenumbers.Format(n, phonenumbers.E164) == to && !phonenumbers.IsValidNumber(n) && !p.spelled(to) {
			t.Fatalf("%q: got %s, want a number that the library calls valid", cell, to)
		}
		if again, _, fault := p.Parse(to); fault != nil || again != to {
			t.Fatalf("%s: read again got %s, %v; want the same number", to, again, fault)
		}
	})
}
