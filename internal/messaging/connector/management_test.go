package connector

import (
	"errors"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

func TestCountsAreOfTheServiceAlone(t *testing.T) {
	each(t, nil, func(t *testing.T, set *Set, _ *sandbox.Sandbox) {
		id, err := set.TemplateID(t.Context(), "conn_1", "order_update", "en-US")
		today := time.Now()
		if set.Service == nil {
			_, days := set.TemplateDays(t.Context(), "tpl_1", today, today)
			for _, got := range []error{err, days} {
				if !errors.Is(got, ErrOverCloud) || !errors.Is(got, messaging.ErrNotOffered) {
					t.Errorf("over the Cloud API: got %v, want ErrOverCloud, which is ErrNotOffered", got)
				}
			}
			return
		}
		if err != nil || id == "" {
			t.Fatalf("got the id %q, %v; want one", id, err)
		}
		if _, err := set.Send(t.Context(), order("+2348031234567")); err != nil {
			t.Fatal(err)
		}
		days, err := set.TemplateDays(t.Context(), id, today.AddDate(0, 0, -1), today)
		if err != nil || len(days) < 2 || days[0].Sent != 0 {
			t.Errorf("got %+v, %v; want two days", days, err)
		}
		if _, err := set.TemplateID(t.Context(), "conn_1", "order_update", "fr"); !errors.Is(err, ErrNoTemplate) {
			t.Errorf("another language: got %v, want ErrNoTemplate", err)
		}
	})
}
