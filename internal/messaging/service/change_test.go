package service

import (
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func TestStatesOfNumbersAndAccountsOfEveryShape(t *testing.T) {
	platform := func(field, value string) string {
		return `{"object":"whatsapp_business_account","entry":[{"id":"2001","time":1790000000,"changes":[{"field":"` + field +
			`","value":` + value + `}]}]}`
	}
	service := func(typ, data string) string {
		return `{"type":"` + typ + `","createdAt":"2026-09-21T14:13:20Z","connectionId":"conn_1","data":` + data + `}`
	}
	ends := time.Unix(1790003600, 0).UTC()
	for _, c := range []struct {
		body    string
		kind    messaging.Kind
		account string
		want    messaging.Change
	}{
		{platform("account_update", `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"DISABLE","waba_ban_date":"2026-09-21"}}`),
			messaging.KindAccount, "2001", messaging.Change{Word: "DISABLE"}},
		{platform("account_update", `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"REINSTATE"}}`),
			messaging.KindAccount, "2001", messaging.Change{Word: "REINSTATE"}},
		{platform("account_update", `{"event":"ACCOUNT_RESTRICTION","restriction_info":[`+
			`{"restriction_type":"RESTRICTED_ADD_PHONE_NUMBER_ACTION"},`+
			`{"restriction_type":"RESTRICTED_BIZ_INITIATED_MESSAGING","expiration":"1790003600"},`+
			`{"restriction_type":"RESTRICTED_UTILITY_TEMPLATES"}]}`),
			messaging.KindAccount, "2001", messaging.Change{Word: "RESTRICTED_BIZ_INITIATED_MESSAGING", Until: ends}},
		{platform("account_update", `{"event":"ACCOUNT_RESTRICTION","restriction_info":[`+
			`{"restriction_type":"RESTRICTED_ADD_PHONE_NUMBER_ACTION"}]}`),
			messaging.KindAccount, "2001", messaging.Change{Word: "RESTRICTED_ADD_PHONE_NUMBER_ACTION"}},
		{platform("account_update", `{"event":"ACCOUNT_VIOLATION","violation_info":{"violation_type":"SCAM"}}`),
			messaging.KindAccount, "2001", messaging.Change{Word: "ACCOUNT_VIOLATION"}},
		{platform("account_update", `{"event":"ACCOUNT_DELETED"}`), messaging.KindAccount, "2001", messaging.Change{Word: "ACCOUNT_DELETED"}},
		{platform("phone_number_quality_update", `{"display_phone_number":"15555550100","event":"FLAGGED"}`),
			messaging.KindNumber, "2001", messaging.Change{Word: "FLAGGED"}},
		{service("account.updated", `{"companyId":"co_1","status":"suspended"}`), messaging.KindAccount, "",
			messaging.Change{Word: "SUSPENDED", Company: "co_1"}},
		{service("account.updated", `{"accountId":"2001","status":"active"}`), messaging.KindAccount, "2001", messaging.Change{Word: "ACTIVE"}},
		{service("number.updated", `{"phoneNumber":"+15555550100","status":"RESTRICTED","expiresAt":"2026-09-21T15:13:20Z"}`),
			messaging.KindNumber, "", messaging.Change{Word: "RESTRICTED", Until: ends}},
		{service("connection.updated", `{"status":"connected"}`), messaging.KindNumber, "", messaging.Change{Word: "CONNECTED"}},
	} {
		e := decodeOne(t, c.body)
		if e.Kind != c.kind || e.Account != c.account || e.Change == nil || *e.Change != c.want {
			t.Errorf("%s:\n got %s of account %q, %+v\nwant %s of %q, %+v", c.body, e.Kind, e.Account, e.Change, c.kind, c.account, c.want)
		}
		if want := time.Unix(1790000000, 0).UTC(); !e.At.Equal(want) {
			t.Errorf("%s: at %v, want its own time %v", c.body, e.At, want)
		}
	}
	// Quality and capability are no state.
	for _, body := range []string{service("number.updated", `{"qualityRating":"RED"}`),
		platform("business_capability_update", `{"max_daily_conversations_per_business":2000}`)} {
		if e := decodeOne(t, body); e.Change != nil {
			t.Errorf("%s: got %+v, want no change", body, e.Change)
		}
	}
}

func TestThrottlingCodesAreKnown(t *testing.T) {
	for code, want := range map[int]bool{
		4: true, 80007: true, 130429: true, 133016: true, 131056: false, 131026: false, 0: false, 424242: false,
	} {
		if got := messaging.Failed(code).Throttles; got != want {
			t.Errorf("Failed(%d).Throttles = %t, want %t", code, got, want)
		}
	}
}
