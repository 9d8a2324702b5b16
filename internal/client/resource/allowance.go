package resource

import (
	"fmt"
	"time"
)

// Allowance is the messages that the plan of a company allows in a period, such as a month.
type Allowance struct {
	Company  string    `json:"company,omitempty"`
	Messages int64     `json:"messages"`
	Used     int64     `json:"used"` // as the ledger counts them and, with the source billing_usage, the service
	Until    time.Time `json:"until"`
	// Source is plan.monthly_messages of the configuration, or billing_usage of the service.
	Source string `json:"source"`
}

// String is the allowance in a sentence.
func (a Allowance) String() string {
	source := "as plan.monthly_messages says"
	if a.Source == "billing_usage" {
		source = "as the service's billing tells (billing_usage)"
	}
	company := ""
	if a.Company != "" {
		company = " of " + a.Company
	}
	return fmt.Sprintf("the plan%s allows %d messages until %s, %s; %d are used", company, a.Messages,
		a.Until.Format("2006-01-02 15:04:05 MST"), source, a.Used)
}
