package sandbox

import (
	"strings"
	"testing"
	"time"
)

// The windows of analytics move with the days: 90 of a template, 365 of an account. The archive has
// the day afterwards.
func TestADayLeavesItsWindowAndStaysArchived(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *scene) {
		id := ""
		for _, row := range told[[]struct{ ID, Name string }](t, c, "GET", "/templates?connectionId=conn_1", "") {
			if row.Name == "newsletter" {
				id = row.ID
			}
		}
		c.send(t, "conn_1", "+15555550199", "newsletter")
		first := time.Now().UTC().Format(time.DateOnly)
		of := "?connectionId=conn_1&end=" + first + "&start=" + first
		account := []string{"/analytics/messaging" + of, "/analytics/conversations" + of, "/analytics/pricing" + of}
		template := "/templates/" + id + "/analytics?end=" + first + "&start=" + first
		time.Sleep(90*24*time.Hour + 24*time.Hour - time.Second) // the last second of the 90th day after it
		if rows := told[[]struct{ Sent int }](t, c, "GET", template, ""); len(rows) != 1 || rows[0].Sent != 1 {
			t.Errorf("90 days ago: got %v of the template, want one day with 1 message", rows)
		}
		time.Sleep(time.Second)
		c.want(t, "GET", template, "", 400, "outside_window")
		time.Sleep(275*24*time.Hour - time.Second)
		for _, path := range account {
			c.want(t, "GET", path, "", 200, "")
		}
		day := told[[]struct{ Sent, Delivered int }](t, c, "GET", account[0], "")
		if len(day) != 1 || day[0].Sent != 1 || day[0].Delivered != 1 {
			t.Errorf("365 days ago: got %v, want one day with 1 message", day)
		}
		time.Sleep(time.Second)
		for _, path := range account {
			c.want(t, "GET", path, "", 400, "outside_window")
		}
		archived := told[[]struct{ Sent, Read int }](t, c, "GET", "/analytics/archive"+of, "")
		if len(archived) != 1 || archived[0].Sent != 1 || archived[0].Read != 1 {
			t.Errorf("366 days ago: got %v in the archive, want one day with 1 message", archived)
		}
	})
}

func TestAHeaderHandleLasts30Days(t *testing.T) {
	bubble(t, Options{Keys: []Key{{Token: "partner"}}}, func(t *testing.T, c *scene) {
		_, _, handle := upload(t, c.s, c.key, "conn_1", "template_header", 100)
		banner := func(name string) string {
			return creation(name, fineBody[:len(fineBody)-1]+`,{"type":"HEADER","format":"IMAGE","example":{"header_handle":["`+handle+`"]}}]`)
		}
		time.Sleep(30*24*time.Hour - time.Second)
		c.want(t, "POST", "/templates", banner("first"), 200, "PENDING")
		time.Sleep(time.Second)
		if _, what, code, _ := c.managed(t, "POST", "/templates", banner("second")); what != "invalid_template" || code != 2388047 {
			t.Errorf("after 30 days: got %s %d, want invalid_template 2388047", what, code)
		}
	})
}

// A month of the plan is a calendar month in UTC: its allowance, its invoice and its period change
// at the same instant.
func TestThePlansMonthEndsAtMidnightUTC(t *testing.T) {
	bubble(t, Options{Allowance: 1}, func(t *testing.T, c *scene) {
		c.send(t, "conn_1", "+15555550199", "newsletter")
		time.Sleep(31*24*time.Hour - time.Second)
		if code, _ := errorOf(t, c.send(t, "conn_1", "+15555550198", "newsletter")); code != "plan_limit_messages" {
			t.Errorf("in the last second of January: got %q, want plan_limit_messages", code)
		}
		periods := func() string {
			newest := told[[]struct{ PeriodStart, PeriodEnd string }](t, c, "GET", "/billing/invoices", "")[0]
			now := told[struct{ PeriodStart, PeriodEnd string }](t, c, "GET", "/billing/usage", "")
			return strings.Join([]string{newest.PeriodStart, newest.PeriodEnd, now.PeriodStart, now.PeriodEnd}, " ")
		}
		if got, want := periods(), "1999-12-01 1999-12-31 2000-01-01 2000-01-31"; got != want {
			t.Errorf("in January: got %s, want %s", got, want)
		}
		time.Sleep(time.Second)
		messageID(t, c.send(t, "conn_1", "+15555550198", "newsletter"))
		if got, want := periods(), "2000-01-01 2000-01-31 2000-02-01 2000-02-29"; got != want {
			t.Errorf("in February of a leap year: got %s, want %s", got, want)
		}
	})
}
