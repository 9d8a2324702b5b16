package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

func TestAFullDiskIsToldWithTheRemedy(t *testing.T) {
	w := newWorld(t)
	for _, err := range []error{uploads.NoSpaceLeft(), fmt.Errorf("ledger l.db: %w: nothing more can be recorded", campaign.ErrFull)} {
		got := httptest.NewRecorder()
		w.fail(got, httptest.NewRequest(http.MethodPost, "/console/holds/add", nil), operator.Caller{}, err)
		if text := got.Body.String(); got.Code != http.StatusInsufficientStorage || !strings.Contains(text, "make room") {
			t.Errorf("%v: got %d %s, want 507 and the remedy", err, got.Code, text)
		}
	}
}

func TestALargeFormIsToldToBeTooLarge(t *testing.T) {
	w := newWorld(t)
	got := w.request("/console/suppressions/add", "operate", url.Values{"numbers": {strings.Repeat("+2348031234560\n", 8000)}})
	if text := got.Body.String(); got.Code != http.StatusRequestEntityTooLarge || !strings.Contains(text, "too large") {
		t.Errorf("got %d %s, want 413 and that the form is too large", got.Code, text)
	}
}
