package faults_test

import (
	"errors"
	"fmt"
	"testing"

	"campaignd/internal/faults"
	"campaignd/internal/messaging"
)

// A fault that repeats is new once, and the next line says how often it came.
func ExampleKnown() {
	var known faults.Known
	for _, words := range []string{"no list", "no list", "no service"} {
		if changed, before := known.Failed("launch", words); changed {
			fmt.Println(faults.Counting(before, "err", words)...)
		}
	}
	fmt.Println(known.Succeeded("launch"), known.Succeeded("launch"))
	// Output:
	// err no list
	// err no service failures_before 2
	// 1 0
}

func TestOneCauseHasTheSameWordsEachTime(t *testing.T) {
	of := func(id string) string {
		return faults.Words(fmt.Errorf("launch: %w", &messaging.Error{Status: 500, Code: "internal", Message: "request " + id, RequestID: id}))
	}
	if a, b := of("req_1"), of("req_2"); a != b {
		t.Errorf("got %q and %q, want the same words", a, b)
	}
	if got := faults.Words(errors.New("no list")); got != "no list" {
		t.Errorf("got %q, want no list", got)
	}
}
