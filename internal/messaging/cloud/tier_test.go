package cloud

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"campaignd/internal/messaging"
)

// A number without a tier counts with that of a new number, or with that of its account, as far as
// another number tells it: with none, nobody would be counted.
func TestANumberWithoutATierHasThatOfANewOne(t *testing.T) {
	const none, notSet = `null`, `"TIER_NOT_SET"`
	for _, tt := range []struct {
		tiers   []string // as the listing has them; "": no such field
		limit   []int64
		assumed bool // of the numbers without a tier
	}{
		{[]string{"", none, notSet, `"a word"`}, []int64{250, 250, 250, 250}, true},
		{[]string{notSet, `"TIER_2K"`, `"TIER_250"`}, []int64{2000, 2000, 250}, false},
		{[]string{`"TIER_UNLIMITED"`, none, `"TIER_2K"`}, []int64{messaging.Unlimited, messaging.Unlimited, 2000}, false},
	} {
		var records []string
		for i, tier := range tt.tiers {
			record := `{"id":"30000000000000` + string(rune('1'+i)) + `","display_phone_number":"+1 555 010 000` + string(rune('1'+i)) + `"`
			if tier != "" {
				record += `,"whatsapp_business_manager_messaging_limit":` + tier
			}
			records = append(records, record+"}")
		}
		c := serverClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"data":[`+strings.Join(records, ",")+`]}`)
		}), Account{ID: ownAccount, Token: messaging.NewSecret("cloud_token_0123456789")})
		got, err := c.Numbers(t.Context())
		if err != nil || len(got) != len(tt.tiers) {
			t.Fatalf("%v: got %v, %v; want %d numbers", tt.tiers, got, err, len(tt.tiers))
		}
		for i, n := range got {
			if assumed := tt.assumed && messaging.TierLimit(n.Tier) == 0; n.TierLimit != tt.limit[i] || n.TierAssumed != assumed {
				t.Errorf("%v, number %d: got %d, assumed %v; want %d, %v", tt.tiers, i, n.TierLimit, n.TierAssumed, tt.limit[i], assumed)
			}
		}
	}
}
