package recipients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/language"
)

func TestCountriesAreReadAsExportsWriteThem(t *testing.T) {
	for cell, want := range map[string]string{
		"GB": "GB", "gb": "GB", "GBR": "GB", "gbr": "GB", "UK": "GB", "United Kingdom": "GB", " united kingdom ": "GB", "Great Britain": "GB",
		"England": "GB", "Royaume-Uni": "GB", "Vereinigtes Königreich": "GB", "US": "US", "USA": "US", "U.S.A.": "US", "United States": "US",
		"United States of America": "US", "DE": "DE", "DEU": "DE", "Germany": "DE", "Deutschland": "DE", "Allemagne": "DE", "Alemania": "DE",
		"Alemanha": "DE", "NL": "NL", "The Netherlands": "NL", "Holland": "NL", "Côte d'Ivoire": "CI", "Cote d’Ivoire": "CI", "Ivory Coast": "CI",
		"Türkiye": "TR", "Turkey": "TR", "Korea, Republic of": "KR", "South Korea": "KR", "Viet Nam": "VN", "Vietnam": "VN", "Czechia": "CZ",
		"Czech Republic": "CZ", "Tanzania, United Republic of": "TZ", "UAE": "AE", "Hong Kong SAR China": "HK", "Hong Kong": "HK",
		"Trinidad & Tobago": "TT", "Bosnia and Herzegovina": "BA", "Brasil": "BR", "España": "ES", "Kosovo": "XK", "Nigeria": "NG", "NGA": "NG",
		"North Macedonia": "MK", "Österreich": "AT", "Suisse": "CH", "Burma": "MM", "Congo - Kinshasa": "CD", "Greece": "GR", "EL": "GR",
		"Atlantis": "", "XX": "", "ZZ": "", "ZZZ": "", "49": "", "+49": "", "276": "", "": "", "-": "", "EU": "", "001": "", "Korea, North": "",
		strings.Repeat("a", 5000): "", "\xff\xfe": "", "D": "",
	} {
		p, err := NewPhones("", "")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.countryOf(cell); got != want {
			t.Errorf("%q: got %q, want %q", cell, got, want)
		}
		if again := p.countryOf(cell); again != want {
			t.Errorf("%q, asked again: got %q, want %q", cell, again, want)
		}
	}
}

// Each region with telephone numbers is known by its codes and its English name.
func TestEveryRegionIsKnownByItsCodes(t *testing.T) {
	p, err := NewPhones("", "")
	if err != nil {
		t.Fatal(err)
	}
	for region := range phonenumbers.GetSupportedRegions() {
		id, err := language.ParseRegion(region)
		if err != nil {
			continue // AC and TA have no alpha-3 code
		}
		for _, cell := range []string{region, strings.ToLower(region), id.ISO3()} {
			if got := p.countryOf(cell); got != region && cell != "ZZZ" {
				t.Errorf("%q: got %q, want %q", cell, got, region)
			}
		}
	}
}

func TestAColumnOfFreeTextFillsNoMemory(t *testing.T) {
	p, err := NewPhones("", "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 * maxCountries {
		if _, _, fault := p.ParseIn("0151 46722372", fmt.Sprintf("street %d", i)); fault == nil || fault.Column != FieldCountry {
			t.Fatalf("street %d: got %+v, want a fault of the country", i, fault)
		}
	}
	if len(p.countries) > maxCountries {
		t.Errorf("%d countries are remembered, want at most %d", len(p.countries), maxCountries)
	}
	if to, _, fault := p.ParseIn("0151 46722372", "DE"); to != "+4915146722372" {
		t.Errorf("DE: got %q, %+v, want the number", to, fault)
	}
}

// A number that is in use in no country is counted with the area's first number by Region, and by
// Exactly as if it were alone.
func TestExactlyForgetsEarlierNumbers(t *testing.T) {
	const quebec, nobody = "+14182345678", "+14180000000"
	for _, first := range []string{quebec, nobody} {
		c := NewCountries()
		c.Region(first)
		for to, want := range map[string]string{quebec: "CA", nobody: "US"} {
			if got := c.Exactly(to); got != want {
				t.Errorf("%s after %s is in %q; want %q", to, first, got, want)
			}
		}
	}
}
