package api_test

import (
	"errors"
	"strings"
	"testing"

	"campaignd/internal/client"
)

func TestAFaultOfTheServerIsLogged(t *testing.T) {
	f := serve(t)
	f.fault = errors.New("the disk is gone")
	_, err := f.Launch(t.Context(), client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: put(t, "l.csv", "phone\n+2348031234567\n")})
	if e := (*client.Error)(nil); !errors.As(err, &e) || e.Code != client.CodeInternal {
		t.Errorf("got %v, want internal", err)
	}
	if log := f.log.String(); !strings.Contains(log, "route=launch") || !strings.Contains(log, "the disk is gone") {
		t.Errorf("got the log %q, want the route and the error", log)
	}
}
