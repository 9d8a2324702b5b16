package webhooks

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func TestTheZeroOptionsAreTheDocumentedOnes(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ got, want any }{
		"MaxBody":     {o.MaxBody, int64(4 << 20)},
		"MaxBodies":   {o.MaxBodies, int64(64 << 20)},
		"MaxWaiting":  {o.MaxWaiting, 65536},
		"Group":       {o.Group, 512},
		"Hold":        {o.Hold, 10 * time.Second},
		"Drain":       {o.Drain, 5 * time.Second},
		"RetryAfter":  {o.RetryAfter, 5 * time.Second},
		"Sweep":       {o.Sweep, time.Second},
		"SweepJitter": {o.SweepJitter, time.Second},
		"Connections": {o.Connections("15555550100"), ""},
		"smallBody":   {smallBody, 16384},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
	if o.Decode == nil || o.Log == nil {
		t.Errorf("Decode given = %t, Log given = %t, want both", o.Decode != nil, o.Log != nil)
	}
}

// Each field accepts 1 and its upper bound. A negative value and a value above the bound are errors
// that name the field.
func TestOptionsAreCheckedAtTheirBounds(t *testing.T) {
	for _, name := range []string{"MaxBody", "MaxBodies", "MaxWaiting", "Group",
		"Hold", "Drain", "RetryAfter", "Sweep", "SweepJitter"} {
		set := func(n int64) error {
			var o Options
			reflect.ValueOf(&o).Elem().FieldByName(name).SetInt(n)
			got, err := o.withDefaults()
			if kept := reflect.ValueOf(got).FieldByName(name).Int(); err == nil && kept != n {
				t.Errorf("%s = %d became %d, want it kept", name, n, kept)
			}
			return err
		}
		if err := set(1); err != nil {
			t.Errorf("%s = 1: %v, want no error", name, err)
		}
		if err := set(-1); err == nil || !strings.Contains(err.Error(), "Options."+name+" is ") {
			t.Errorf("%s = -1: %v, want an error that names it", name, err)
		}
		most := map[string]int64{"Hold": int64(10 * time.Second), "MaxBody": messaging.MaxBody}[name]
		if most == 0 {
			continue
		}
		if err := set(most); err != nil {
			t.Errorf("%s = %d: %v, want no error", name, most, err)
		}
		if err := set(most + 1); err == nil || !strings.Contains(err.Error(), "Options."+name+" is ") {
			t.Errorf("%s = %d: %v, want an error that names it", name, most+1, err)
		}
	}
}
