package recipients

import (
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/unicode/norm"
)

// otherNames are names of countries that the names of CLDR in x/text (release 32, 2017) do not have
// and that exports write: the short names of ISO 3166, later names, and those in common use.
var otherNames = map[string]string{
	"uk": "GB", "great britain": "GB", "england": "GB", "scotland": "GB", "wales": "GB", "northern ireland": "GB",
	"united kingdom of great britain and northern ireland": "GB", "el": "GR", "hellas": "GR",
	"usa": "US", "u.s.": "US", "united states of america": "US", "the united states": "US", "america": "US",
	"vereinigte staaten von amerika": "US",
	"uae":                            "AE", "emirates": "AE", "ksa": "SA", "xkx": "XK", "eire": "IE", "republic of ireland": "IE",
	"holland": "NL", "the netherlands": "NL", "kingdom of the netherlands": "NL", "turkiye": "TR", "republic of turkiye": "TR",
	"czech republic": "CZ", "tschechische republik": "CZ", "republica checa": "CZ", "slovak republic": "SK",
	"north macedonia": "MK", "republic of north macedonia": "MK", "nordmazedonien": "MK", "eswatini": "SZ",
	"ivory coast": "CI", "cape verde": "CV", "burma": "MM", "east timor": "TL", "vatican": "VA", "holy see": "VA",
	"russian federation": "RU", "korea": "KR", "republic of korea": "KR", "korea, republic of": "KR",
	"viet nam": "VN", "laos": "LA", "lao people's democratic republic": "LA", "brunei darussalam": "BN",
	"moldova, republic of": "MD", "republic of moldova": "MD", "tanzania, united republic of": "TZ", "united republic of tanzania": "TZ",
	"venezuela, bolivarian republic of": "VE", "bolivia, plurinational state of": "BO", "micronesia, federated states of": "FM",
	"taiwan, province of china": "TW", "taiwan, republic of china": "TW", "hong kong": "HK", "macao": "MO", "macau": "MO",
	"palestine": "PS", "palestine, state of": "PS", "palestinian territory, occupied": "PS",
	"congo": "CG", "republic of the congo": "CG", "democratic republic of the congo": "CD", "drc": "CD",
	"congo, the democratic republic of the": "CD", "congo, democratic republic of the": "CD",
	"gambia, the": "GM", "the gambia": "GM", "bahamas, the": "BS", "the bahamas": "BS", "the philippines": "PH",
	"brasil": "BR", "people's republic of china": "CN", "mainland china": "CN", "bosnia": "BA", "bosnia and herzegovina": "BA",
	"trinidad and tobago": "TT", "antigua and barbuda": "AG", "saint kitts and nevis": "KN", "saint vincent and the grenadines": "VC",
	"sao tome and principe": "ST", "turks and caicos islands": "TC",
}

// countryNames finds countries by their names; its keys are folded. Building it takes a
// millisecond, so a list without names of countries does not.
func countryNames() map[string]string {
	names := make(map[string]string, 1500)
	for region := range phonenumbers.GetSupportedRegions() {
		id, err := language.ParseRegion(region)
		if err != nil {
			continue
		}
		for _, d := range []*display.Dictionary{display.English, display.German, display.French, display.Spanish, display.Portuguese} {
			if name := foldCountry(d.Regions().Name(id)); name != "" {
				names[name] = region
			}
		}
	}
	for name, region := range otherNames {
		names[foldCountry(name)] = region
	}
	return names
}

// countryOf returns the ISO 3166 alpha-2 code of a country, which a list may write as its alpha-2
// or alpha-3 code or by its name in English, German, French, Spanish or Portuguese; "" when it is
// none.
func (p *Phones) countryOf(cell string) string {
	if region, known := p.countries[cell]; known {
		return region
	}
	text := strings.TrimSpace(cell)
	region := ""
	if len(text) == 2 || len(text) == 3 {
		if id, err := language.ParseRegion(text); err == nil && unicode.IsLetter(rune(text[0])) {
			region = id.Canonicalize().String()
		}
	}
	if !phonenumbers.GetSupportedRegions()[region] {
		if p.names == nil {
			p.names = countryNames()
		}
		region = p.names[foldCountry(text)]
	}
	if len(p.countries) < maxCountries {
		p.countries[strings.Clone(cell)] = region
	}
	return region
}

// maxCountries is how many spellings of countries are remembered: a column of free text may have as
// many as rows.
const maxCountries = 1000

// foldCountry is the form in which names of countries are compared: letters only, lower case,
// without accents.
func foldCountry(s string) string {
	if len(s) > 100 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(strings.ReplaceAll(s, "&", "and")))
}
