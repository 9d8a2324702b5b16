package recipients

import (
	"slices"
	"testing"

	"github.com/nyaruka/phonenumbers"
)

// A plan that cannot be compiled asks the library, and says the same as one that can.
func TestAPlanOfTheLibraryAgreesWithTheCompiledOne(t *testing.T) {
	compiled, library := newNumbering(1), &numbering{code: 1, library: true}
	for national, want := range map[string]bool{
		"2025550123": true, "8005550123": true,
		"1025550123": false, "202555012": false, "20255501234": false, "": false, "0000000000": false,
		"12025550123": false, // the library reads the country code twice: other digits than those written
	} {
		if got := library.isValid(national); got != want {
			t.Errorf("+1%s by the library: valid %v, want %v", national, got, want)
		}
		if got := compiled.isValid(national); got != want {
			t.Errorf("+1%s compiled: valid %v, want %v", national, got, want)
		}
	}
}

// An expression that needs more than digits leaves its whole plan to the library.
func TestAnUnknownExpressionIsLeftToTheLibrary(t *testing.T) {
	all, err := phonenumbers.MetadataCollection()
	if err != nil {
		t.Fatal(err)
	}
	const code = 290
	i := slices.IndexFunc(all.GetMetadata(), func(m *phonenumbers.PhoneMetadata) bool {
		return m.GetCountryCode() == code && m.GetId() == "SH"
	})
	if i < 0 {
		t.Fatalf("no metadata of +%d, want that of SH", code)
	}
	desc := all.GetMetadata()[i].GetTollFree()
	before := desc.NationalNumberPattern
	defer func() { desc.NationalNumberPattern = before }()
	if plan := newNumbering(code); plan.library {
		t.Errorf("+%d is left to the library, want it compiled", code)
	}
	beyond := `2\b`
	desc.NationalNumberPattern = &beyond
	if plan := newNumbering(code); !plan.library || !plan.isValid("22158") || plan.isValid("2215") {
		t.Errorf("+%d with %s: library %v, 22158 valid %v, 2215 valid %v, want true, true, false",
			code, beyond, plan.library, plan.isValid("22158"), plan.isValid("2215"))
	}
}
