package template

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/messaging"
)

// review is a service whose answers change with each request; "" is an answer that does not come.
type review []string

func (r *review) Templates(context.Context, string) ([]messaging.TemplateRecord, error) {
	status := (*r)[0]
	if len(*r) > 1 {
		*r = (*r)[1:]
	}
	if status == "" {
		return nil, &messaging.Error{Code: "not_connected"}
	}
	return []messaging.TemplateRecord{{Name: "sale", Language: "en_US", Status: status},
		{Name: "offer", Language: "fr", Status: "APPROVED"}}, nil
}

func TestAReviewIsAwaitedUntilItsEnd(t *testing.T) {
	for _, c := range []struct {
		answers review
		want    string
		err     error
		took    time.Duration
	}{
		{review{"APPROVED"}, "APPROVED", nil, 0},
		{review{"PENDING", "", "REJECTED"}, "REJECTED", nil, 10 * time.Second},
		{review{"PENDING"}, "PENDING", context.DeadlineExceeded, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			got, err := AwaitReview(ctx, &c.answers, "conn_1", "sale", "", 5*time.Second)
			if got.Status != c.want || !errors.Is(err, c.err) || time.Since(start) != c.took {
				t.Errorf("got %q, %v after %v; want %q, %v after %v", got.Status, err, time.Since(start), c.want, c.err, c.took)
			}
		})
	}
	if _, err := AwaitReview(t.Context(), &review{""}, "conn_1", "sale", "", time.Second); err == nil {
		t.Error("the first request is not answered: got no error, want one")
	}
}

func TestATemplateIsFoundByNameAndLanguage(t *testing.T) {
	all := []messaging.TemplateRecord{{Name: "sale", Language: "en_US"}, {Name: "sale", Language: "fr"}, {Name: "offer", Language: "fr"}}
	for _, c := range []struct{ name, language, want, err string }{
		{"offer", "", "fr", ""}, {"sale", "en-US", "en_US", ""},
		{"sale", "", "", "the service lists sale in 2 languages; give --language, known here: en_US, fr"},
		{"offer", "en_US", "", "the service lists offer in 1 language"},
		{"sole", "", "", `no template "sole"; did you mean "sale"?`}, {"xyz", "", "", "`campaignd templates list`"},
	} {
		got, err := Find(all, c.name, c.language)
		if got.Language != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s %s: got %q and %v, want %q and %q", c.name, c.language, got.Language, err, c.want, c.err)
		}
	}
}
