package area

import (
	"fmt"
	"time"
)

// The subscription: the service charges for each connected number, and never the platform's own
// rates (docs/service.md#assumed-operations). Price and currency are our figures.
const (
	pricePerConnection = 15
	currency           = "USD"
	invoicesShown      = 12
	mostConnections    = 1 << 14
)

func (a *Areas) billingHandlers() map[string]Handler {
	return map[string]Handler{
		"billing_subscription": a.showSubscription,
		"billing_plan":         a.showPlan,
		"billing_limits":       a.showLimits,
		"billing_usage":        a.showUsage,
		"billing_invoices":     a.listInvoices,
	}
}

// period is a calendar month in UTC, first and last day. back is the number of months before now.
type period struct {
	Start string `json:"periodStart"`
	End   string `json:"periodEnd"`
}

func periodOf(now time.Time, back int) (period, time.Time) {
	now = now.UTC()
	first := time.Date(now.Year(), now.Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
	return period{first.Format(time.DateOnly), first.AddDate(0, 1, -1).Format(time.DateOnly)}, first
}

func (a *Areas) showSubscription(c *Call) (any, *Refusal) {
	current, _ := periodOf(c.Now, 0)
	return struct {
		ID          string `json:"id"`
		Status      string `json:"status"`
		Connections int    `json:"connections"`
		Price       int    `json:"pricePerConnection"`
		Currency    string `json:"currency"`
		period
	}{"sub_1", "active", len(a.Connections), pricePerConnection, currency, current}, nil
}

func (a *Areas) showPlan(*Call) (any, *Refusal) {
	_, limit := a.Usage("")
	_, storage, _ := a.storage("")
	return struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Messages int64  `json:"messagesPerMonth"` // 0: none
		Storage  int64  `json:"storageBytes"`
	}{"plan_1", "Sandbox", limit, storage}, nil
}

func (a *Areas) showLimits(*Call) (any, *Refusal) {
	_, limit := a.Usage("")
	_, storage, _ := a.storage("")
	return struct {
		Messages    int64 `json:"messages"` // 0: none
		Storage     int64 `json:"storageBytes"`
		Connections int   `json:"connections"`
	}{limit, storage, mostConnections}, nil
}

// showUsage is about the plan of companyId, or of the account.
func (a *Areas) showUsage(c *Call) (any, *Refusal) {
	company := c.Query.Get("companyId")
	if company != "" && a.companies[company] == nil {
		return nil, notFound("company")
	}
	used, limit := a.Usage(company)
	bytes, _, _ := a.storage(company)
	current, _ := periodOf(c.Now, 0)
	return struct {
		Used    int64 `json:"messagesUsed"`
		Limit   int64 `json:"messagesLimit"` // 0: none
		Storage int64 `json:"storageUsedBytes"`
		period
	}{used, limit, bytes, current}, nil
}

// listInvoices lists the invoices of the last 12 finished months, newest first.
func (a *Areas) listInvoices(c *Call) (any, *Refusal) {
	type invoice struct {
		ID       string `json:"id"`
		Number   string `json:"number"`
		Status   string `json:"status"`
		Amount   int    `json:"amount"`
		Currency string `json:"currency"`
		period
	}
	rows := []invoice{}
	for back := 1; back <= invoicesShown; back++ {
		p, first := periodOf(c.Now, back)
		number := first.Format("2006-01")
		rows = append(rows, invoice{fmt.Sprint("inv_", number), "INV-" + number, "paid", len(a.Connections) * pricePerConnection, currency, p})
	}
	return list(rows), nil
}
