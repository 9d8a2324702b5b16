package messaging

import (
	"strings"
	"time"

	"campaignd/internal/rawjson"
)

// Change is what an event of KindNumber or KindAccount says of the state of a number, an account or
// a company (docs/service.md#account-events).
type Change struct {
	// Word is what happened, in upper case: the state of a ban (DISABLE), a restriction
	// (RESTRICTED_BIZ_INITIATED_MESSAGING), the new state (SUSPENDED, CONNECTED) or the name of the
	// event (ACCOUNT_DELETED).
	Word string
	// Company is the companyId; "" if the event names none.
	Company string
	// Until is when a restriction ends; zero if the event does not tell it.
	Until time.Time
}

// restrictedMessaging is the restriction that concerns campaigns. An event may list several.
const restrictedMessaging = "RESTRICTED_BIZ_INITIATED_MESSAGING"

// change reads the state of a number, an account or a company. Change stays nil if the event tells
// no state, for example an event about quality.
func (e *Event) change(v rawjson.Value) {
	c := &Change{}
	ban, restriction, state, event := "", "", "", ""
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "companyId", "company_id", "clientId":
			c.Company = Token(m.Val.Text())
		case "accountId", "account_id", "wabaId":
			e.Account = Token(m.Val.Text())
		case "ban_info":
			ban = m.Val.Get("waba_ban_state").Text()
		case "restriction_info":
			for r := m.Val.Members(); r.Next(); {
				kind := r.Val.Get("restriction_type").Text()
				if restriction == "" || kind == restrictedMessaging {
					restriction, c.Until = kind, r.Val.Get("expiration").Time()
				}
			}
		case "status", "state", "decision":
			state = m.Val.Text()
		case "event":
			event = m.Val.Text()
		case "expiration", "expiresAt", "until":
			c.Until = m.Val.Time()
		case "timestamp":
			if at := m.Val.Time(); !at.IsZero() {
				e.At = at
			}
		}
	}
	for _, word := range []string{ban, restriction, state, event} {
		if word != "" {
			c.Word = strings.ToUpper(Token(word))
			e.Change = c
			return
		}
	}
}
