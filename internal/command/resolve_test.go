package command

import (
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
)

func TestDoubtsAreListedAndCounted(t *testing.T) {
	rows := []launch.Doubtful{
		{Row: 4, To: "+1", Status: campaign.Unknown, Reason: "timeout", Attempts: 2, Connection: "conn_1", RequestID: "r"},
	}
	u := launch.Uncertainty{Run: "spring-2", Unknown: 2, InDoubt: 1, ByReason: map[string]int64{"timeout": 2, "reset": 1}, Rows: rows}
	const table = "spring-2: 2 rows unknown, 1 still in doubt\n  1 after reset\n  2 after timeout\n\n" +
		"ROW  TO  STATUS   REASON   ATTEMPTS  CONNECTION  REQUEST\n4    +1  unknown  timeout  2         conn_1      r\n" +
		"and 2 more: `campaignd report spring-2 --format csv` has them all\n"
	next := &resource.FollowedUp{Run: resource.Run{ID: "spring-3", State: campaign.Ready}, Rows: 2}
	for _, tt := range []struct {
		f    *resource.FollowedUp
		keep bool
		want string
	}{
		{nil, false, table + "\nDecide with --unknown resend (a recipient who got the message gets it twice) or --unknown keep.\n"},
		{nil, true, table + "\nKept as they are. A late webhook still moves them to what it proves.\n"},
		{next, false, table + "\nspring-3: 2 rows; `campaignd serve` sends it\n"},
	} {
		if got := said(t, func(p *Program) error { return p.writeResolved(u, tt.f, tt.keep) }); got != tt.want {
			t.Errorf("keep %v: got\n%s\nwant\n%s", tt.keep, got, tt.want)
		}
	}
	u.ByReason["accepted_no_id"] = 1
	const hint = "`campaignd follow-up spring-2 --where unknown=accepted_no_id`\nsends them all the same"
	if got := said(t, func(p *Program) error { return p.writeResolved(u, nil, false) }); strings.Count(got, hint) != 1 {
		t.Errorf("accepted without an id: got\n%s\nwant %q once", got, hint)
	}
	next.Released = 2
	const released = "; 2 of them were answered with a success before and may be received twice; "
	if got := followUpSentence(*next); !strings.Contains(got, released) {
		t.Errorf("released rows: got %q, want %q in it", got, released)
	}
	u.Unknown, u.InDoubt = 0, 2
	const more = "\nand 1 more: `campaignd report spring-2 --format csv` has them all\n"
	if got := said(t, func(p *Program) error { return p.writeResolved(u, nil, false) }); !strings.HasSuffix(got, more) {
		t.Errorf("one row of two is listed: got\n%s\nwant %q at its end", got, more)
	}
	open := launch.Uncertainty{Run: "spring-2", InDoubt: 1, Rows: rows}
	got := said(t, func(p *Program) error { return p.writeResolved(open, nil, false) })
	if strings.Contains(got, "more:") || strings.Contains(got, "Decide") {
		t.Errorf("every row is listed and none is unknown: got\n%s\nwant it without \"more:\" and \"Decide\"", got)
	}
}
