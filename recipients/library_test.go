package recipients

import "testing"

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
