//go:build mutants

package webhooks

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"campaignd/internal/mutant"
)

// The mutation answers 2xx before the commit. This test fails if the mutation is not noticed.
func TestAnAnswerBeforeTheCommitIsNoticed(t *testing.T) {
	i := newIntake(t, &memory{fail: errors.New("disk full")}, Options{})
	start(t, i)
	mutant.Set("ack_before_commit")
	defer mutant.Set("")
	if w := post(i, status(1, "sent", time.Now())); w.Code != http.StatusNoContent {
		t.Fatalf("the mutation has no effect: answered %d, want 204", w.Code)
	}
	mutant.Set("")
	if w := post(i, status(1, "sent", time.Now())); w.Code != http.StatusServiceUnavailable {
		t.Errorf("answered %d although nothing was stored, want 503", w.Code)
	}
}
