package recipients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"
)

func TestKeyFoldsWhatThePlatformInterchanges(t *testing.T) {
	tests := map[string]int64{
		"+2348031234567":    2348031234567,
		"2348031234567":     2348031234567,
		"+5531987654321":    553187654321,  // Brazil: the ninth digit of a mobile
		"+553187654321":     553187654321,  // as the platform's ids have it
		"+5531932654321":    5531932654321, // dropping the 9 would make it somebody's landline
		"+553132654321":     553132654321,  // that landline
		"+5215512345678":    525512345678,  // Mexico: the 1 of mobiles
		"+525512345678":     525512345678,
		"+5491112345678":    5491112345678, // Argentina is not folded
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
			t.Fatalf("%s: %d and %d", s, key, Key(s))
		}
		if again := Key(fmt.Sprintf("+%d", key)); again != key {
			t.Fatalf("%s: the key of key %d is %d", s, key, again)
		}
		if fmt.Sprint(key) != s && !strings.HasPrefix(s, "55") && !strings.HasPrefix(s, "52") {
			t.Fatalf("%s became %d", s, key)
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
		{"", "", "+2349991234567", "is no number that is given out under +234"},
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
		{"", "DE", "2348031234567", "has lost its leading 0, or its + and country code"}, // so is this Nigerian mobile
		{"", "IT", "06 1234 5678", "+390612345678"},
		{"", "ES", "612 345 678", "+34612345678"}, // no trunk prefix to lose
		{"", "IN", "98765 43210", "+919876543210"},
		{"none", "DE", "0151", "is no number as dialled in DE"},
		{"none", "US", "4915123456789", "is no number as dialled in US"},
		{"", "DE", "DE", "holds a letter (D)"},
		{"", "", "-", "minus sign"},
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

// Punctuation never changes who gets the message.
func TestPunctuationNeverChangesTheNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		region := rapid.SampledFrom([]string{"NG", "DE", "US", "BR", "MX", "IN", "KE", "IT", "CI"}).Draw(t, "region")
		digits := strings.TrimPrefix(phonenumbers.Format(phonenumbers.GetExampleNumberForType(region, phonenumbers.MOBILE), phonenumbers.E164), "+")
		var b strings.Builder
		b.WriteByte('+')
		for i := range len(digits) {
			// Not "(0)", which marks a trunk prefix, and no zero alone after a point, as spreadsheets write it.
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

// FuzzPhone: whatever a cell holds, it is a number whose digits stand in the cell, or a fault with a
// sentence. The library may reject more than it was asked, but never be contradicted on the same digits.
func FuzzPhone(f *testing.F) {
	for _, s := range []string{"+2348031234567", "+44 (0)20 7946 0958", "9.18E+11", "+234\u00a08031234567", "08031234567", "+5215512345678", "\u202a+49", "00491512", "+1 (202) 555-0123"} {
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
		digits, plus := strip(cell)
		if plus && to != "+"+digits {
			t.Fatalf("%q was repaired to %s", cell, to)
		}
		if !plus && p.region == "" {
			t.Fatalf("%q was given a country: %s", cell, to)
		}
		n, err := phonenumbers.Parse(to, "")
		if err == nil && phonenumbers.Format(n, phonenumbers.E164) == to && !phonenumbers.IsValidNumber(n) && !strings.HasPrefix(to, "+521") {
			t.Fatalf("%q: %s is not valid", cell, to)
		}
		if again, _, fault := p.Parse(to); fault != nil || again != to {
			t.Fatalf("%s is not accepted again: %v", to, fault)
		}
	})
}
