package launch

import (
	"testing"
)

func TestRowsAreJudgedByNumberAndZone(t *testing.T) {
	for phone, want := range map[string]int64{"+234 803 123-45.67": 2348031234567, "(234) 8031234567": 2348031234567,
		"2348031234567": 2348031234567, "0803 1": 0, "": 0, "+234/8031234567": 0} {
		if got := senderKey(phone); got != want {
			t.Errorf("senderKey(%q) = %d, want %d", phone, got, want)
		}
	}
	for to, want := range map[string]string{"+5352345678": "Cuba", "+989121234567": "Iran", "+850191234567": "North Korea",
		"+963944567890": "Syria", "+85212345678": "", "+96212345678": "", "+97123456789": "", "+5491112345678": "", "53": ""} {
		if got := unsupportedCountry(to); got != want {
			t.Errorf("unsupportedCountry(%s) = %q, want %q", to, got, want)
		}
	}
}
