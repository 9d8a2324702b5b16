package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sandbox"
)

func TestSuppressionsAndBlocksAreSynchronised(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) { o.WebhookURL = "" })
	url := d.env["CAMPAIGND_SERVICE_BASE_URL"]
	c, err := service.New(service.Options{BaseURL: url, APIKey: messaging.NewSecret(sandbox.DemoKey)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const blocked, wrote, silent, both = "+2348031200001", "+2348031200002", "+2348031200003", "+2348031200004"
	for _, m := range [][2]string{{"conn_1", blocked}, {"conn_1", wrote}, {"conn_2", blocked}, {"conn_1", both}} {
		resp, err := http.Post(url+"/sandbox/inbound", "application/json",
			strings.NewReader(`{"connectionId": "`+m[0]+`", "from": "`+m[1]+`", "text": "hello"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if r, err := c.BlockUsers(t.Context(), "conn_1", []string{blocked}); err != nil || len(r) != 1 || r[0].Status != "blocked" {
		t.Fatalf("got %+v, %v, want one blocked", r, err)
	}
	d.want(0, "suppressions", "add", wrote, silent, "--scope", "all")
	sync := func(suppressed, lifted, blocks, failed int) {
		t.Helper()
		var got resource.SyncedSuppressions
		if err := json.Unmarshal([]byte(d.want(0, "suppressions", "sync", "--connection", "conn_1", "-o", "json").stdout), &got); err != nil {
			t.Fatal(err)
		}
		if got.Suppressed != suppressed || got.Lifted != lifted || got.Blocked != blocks || len(got.Failed) != failed {
			t.Errorf("got %+v, want %d suppressed, %d lifted, %d blocked and %d failed", got, suppressed, lifted, blocks, failed)
		}
		for _, f := range got.Failed {
			if f.To != silent || f.Code != 131047 || !strings.Contains(f.Why, "24 hours") {
				t.Errorf("got the failure %+v, want that of %s who did not write", f, silent)
			}
		}
	}
	sync(1, 0, 1, 1)
	if list := d.want(0, "suppressions", "export").stdout; !strings.Contains(list, blocked+",all@co_1,service_block") {
		t.Errorf("got the list\n%s\nwant %s for the client, from service_block", list, blocked)
	}
	sync(0, 0, 0, 1) // everybody who can be blocked is
	if _, err := c.UnblockUsers(t.Context(), "conn_1", []string{blocked}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.BlockUsers(t.Context(), "conn_2", []string{blocked}); err != nil {
		t.Fatal(err)
	}
	sync(0, 0, 0, 1) // another number of the client blocks the person
	if _, err := c.UnblockUsers(t.Context(), "conn_2", []string{blocked}); err != nil {
		t.Fatal(err)
	}
	sync(0, 1, 0, 1)
	list := d.want(0, "suppressions", "export").stdout
	if strings.Contains(list, blocked) || !strings.Contains(list, wrote) || !strings.Contains(list, silent) {
		t.Errorf("got the list\n%s\nwant it without %s, and with the numbers of the operator", list, blocked)
	}
	if _, err := c.BlockUsers(t.Context(), "conn_1", []string{both}); err != nil {
		t.Fatal(err)
	}
	sync(1, 0, 0, 1)
	d.want(0, "suppressions", "import", d.write("crm.csv", "to,scope\n"+both+",all@co_1\n"))
	if _, err := c.UnblockUsers(t.Context(), "conn_1", []string{both}); err != nil {
		t.Fatal(err)
	}
	sync(0, 0, 1, 1) // the import outlives the block
	if list := d.want(0, "suppressions", "export").stdout; !strings.Contains(list, both+",all@co_1,import,") {
		t.Errorf("got the list\n%s\nwant %s in it, from the import", list, both)
	}
	d.want(2, "suppressions", "sync")
	d.want(2, "suppressions", "sync", "--connection", "nobody")
	d.env["CAMPAIGND_SERVICE_ASSUMED_PATHS_BLOCKED_USERS"] = "/api/v1/elsewhere"
	d.oneLineOf(1, []string{"does not offer blocked_users"}, "suppressions", "sync", "--connection", "conn_1")
}
