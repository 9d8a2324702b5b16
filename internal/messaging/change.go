package messaging

import (
	"strings"
	"time"
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
func (e *Event) change(v value) {
	c := &Change{}
	ban, restriction, state, event := "", "", "", ""
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "companyId", "company_id", "clientId":
			c.Company = token(m.val.text())
		case "accountId", "account_id", "wabaId":
			e.Account = token(m.val.text())
		case "ban_info":
			ban = m.val.get("waba_ban_state").text()
		case "restriction_info":
			for r := m.val.members(); r.next(); {
				kind := r.val.get("restriction_type").text()
				if restriction == "" || kind == restrictedMessaging {
					restriction, c.Until = kind, r.val.get("expiration").stamp()
				}
			}
		case "status", "state", "decision":
			state = m.val.text()
		case "event":
			event = m.val.text()
		case "expiration", "expiresAt", "until":
			c.Until = m.val.stamp()
		case "timestamp":
			if at := m.val.stamp(); !at.IsZero() {
				e.At = at
			}
		}
	}
	for _, word := range []string{ban, restriction, state, event} {
		if word != "" {
			c.Word = strings.ToUpper(token(word))
			e.Change = c
			return
		}
	}
}
