package service

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"campaignd/internal/messaging"
)

// asEncodingJSON compares a single status in the service's own form with what encoding/json reads
// in the same body. Both take the last value of a repeated key. Bodies in which another name or
// another place may win have tests of their own.
func asEncodingJSON(t *testing.T, body []byte, events []messaging.Event) {
	t.Helper()
	var all map[string]any
	if len(events) != 1 || events[0].Kind != messaging.KindStatus || json.Unmarshal(body, &all) != nil {
		return
	}
	data, ok := all["data"].(map[string]any)
	for _, other := range []string{"events", "event", "payload"} {
		_, has := all[other]
		ok = ok && !has
	}
	e := events[0]
	if !ok || strings.HasSuffix(e.Type, "/statuses") { // of the platform's envelope
		return
	}
	for _, c := range []struct {
		got   string
		in    map[string]any
		names []string
	}{
		{e.MessageID, data, []string{"messageId", "message_id", "wamid", "id"}},
		{string(e.Status), data, []string{"status"}},
		{e.Connection, all, []string{"connectionId", "connection_id"}},
		{e.Type, all, []string{"type"}},
	} {
		want, names := "", 0
		for _, name := range c.names {
			if value, has := c.in[name]; has {
				want, _ = value.(string)
				names++
			}
		}
		if names == 1 && want != "" && c.got != want {
			t.Fatalf("%s: %q of %v, want %q as encoding/json reads it", body, c.got, c.names, want)
		}
	}
}

// A status costs three allocations: the list, the message's id and the recipient.
func TestAStatusCostsThreeAllocations(t *testing.T) {
	body, err := os.ReadFile(filepath.Join(wireRoot, "webhooks", "01_status_sent", "body.json"))
	if err != nil {
		t.Fatal(err)
	}
	decode := EventDecoder(messaging.OptOut{})
	least := math.Inf(1)
	for range 5 { // what goroutines of other tests allocate meanwhile is counted, too
		least = min(least, testing.AllocsPerRun(100, func() {
			if _, err := decode(body); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if least > 3 {
		t.Errorf("got %v allocations, want at most 3", least)
	}
}

// More names than the memory has slots, from several goroutines: each event has its own.
func TestRememberedNamesAreNotMixedUp(t *testing.T) {
	decode := EventDecoder(messaging.OptOut{})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 2000 {
				want := fmt.Sprintf("conn_%d", (i*7+g)%700)
				events, err := decode([]byte(`{"type":"message.read","connectionId":"` + want + `","data":{"messageId":"m1"}}`))
				if err != nil || len(events) != 1 || events[0].Connection != want {
					t.Errorf("%+v, %v; want one event of %s", events, err, want)
					return
				}
			}
		})
	}
	all.Wait()
	long := strings.Repeat("x", longestName+1)
	known := &names{}
	for _, text := range []string{long, `a\u0062`} {
		known.text([]byte(`"` + text + `"`))
	}
	for i := range known.slots {
		if got := known.slots[i].Load(); got != nil {
			t.Errorf("%q is remembered, want no long text and none with escapes", *got)
		}
	}
}

func ExampleDecodeEvents() {
	body := []byte(`{"id":"evt_1","type":"message.status","connectionId":"conn_1","data":{
		"messageId":"wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA","status":"failed","timestamp":"1790000003",
		"error":{"code":131026,"title":"Message undeliverable"}}}`)
	events, err := DecodeEvents(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range events {
		fmt.Println(e.Kind, e.Status, messaging.Scrub("+"+e.Recipient, 40), e.Code, "-", messaging.Failed(e.Code).Sentence)
	}
	// Output: status failed +1555•••0101 131026 - undeliverable: not on the platform, terms not accepted, or a client too old
}
