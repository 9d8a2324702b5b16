package webhooks

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTheZeroOptionsAreTheDocumentedOnes(t *testing.T) {
	i := newIntake(t, &memory{}, Options{})
	for name, c := range map[string]struct{ got, want any }{
		"longest body": {i.bodies.limit, int64(4 << 20)},
		"maxBodies":    {i.bodies.max, int64(64 << 20)},
		"maxWaiting":   {i.maxWaiting, int64(65536)},
		"queue":        {cap(i.queue), 65536},
		"maxBatch":     {i.maxBatch, 512},
		"answerTime":   {answerTime, 10 * time.Second},
		"drainTime":    {i.drainTime, 5 * time.Second},
		"Sweep":        {i.o.Sweep, time.Second},
		"SweepJitter":  {i.o.SweepJitter, time.Second},
		"Connections":  {i.o.Connections("15555550100"), ""},
		"smallBody":    {smallBody, 16384},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
	if i.o.Decode == nil || i.o.Log == nil {
		t.Errorf("Decode given = %t, Log given = %t, want both", i.o.Decode != nil, i.o.Log != nil)
	}
}

// Each field accepts 1. A negative value is an error that names the field.
func TestOptionsAreCheckedAtTheirBounds(t *testing.T) {
	for _, name := range []string{"Sweep", "SweepJitter"} {
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
	}
}
