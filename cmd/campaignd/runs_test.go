package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"campaignd/internal/client/resource"
	"campaignd/internal/command"
)

func TestRunsIsATableOfTheRunsNewestFirst(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Millisecond) // as the ledger has times
	d := newFixture(t, nil)
	d.want(0, "ledger", "migrate") // makes the ledger
	d.says(0, "RUN  STATE  ROWS  LAUNCHED  ENDED  LIST\n", "", "runs")
	d.says(0, "[]\n", "", "runs", "-o", "json")
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.write("list.csv", listOf(12))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m", "--new")
	d.spoil("UPDATE run SET state = 'running', wanted = 'pause', ended_at = 0 WHERE no = 2")
	var facts []resource.Run
	text := d.want(0, "runs", "-o", "json").stdout
	if err := json.Unmarshal([]byte(text), &facts); err != nil || len(facts) != 2 {
		t.Fatalf("runs -o json has %d runs (%v), want 2:\n%s", len(facts), err, text)
	}
	second, first := facts[0], facts[1]
	if first.EndedAt.Before(first.CreatedAt) || first.CreatedAt.Before(began) || first.CreatedAt.After(time.Now()) {
		t.Errorf("first run: got %v to %v, want a launch after %v, and then an end", first.CreatedAt, first.EndedAt, began)
	}
	if second.CreatedAt.Before(first.EndedAt) || !second.EndedAt.IsZero() {
		t.Errorf("second run: got %v to %v, want a launch after %v and no end", second.CreatedAt, second.EndedAt, first.EndedAt)
	}
	list := d.path("list.csv")
	want := "RUN       STATE                   ROWS  LAUNCHED                 ENDED                    LIST\n" +
		fmt.Sprintf("orders-2  running, wanted: pause  12    %s  -                        %s\n", command.Clock(second.CreatedAt), list) +
		fmt.Sprintf("orders-1  finished                3     %s  %s  %s\n", command.Clock(first.CreatedAt), command.Clock(first.EndedAt), list)
	d.says(0, want, "", "runs")
}
