package sandbox

import (
	"fmt"
	"testing"
)

func TestARawFlowIsPublishedAndTheClientsOwn(t *testing.T) {
	s := twoClients(t, func(o *Options) {
		o.Flows = []Flow{{ID: "f_1", Name: "fitting"}, {ID: "f_2", Name: "draft", Status: "DRAFT"}, {ID: "f_9", Name: "theirs", Company: "co_2"}}
	})
	for _, c := range []struct {
		id, mode string
		code     int
	}{
		{"f_1", "", 0}, {"f_2", "", 131009}, {"f_2", "draft", 0},
		{"f_9", "", 131009}, {"f_9", "draft", 131009}, {"nothing", "", 131009}, {"", "", 131009},
	} {
		body := fmt.Sprintf(`{"connectionId":"conn_1","to":"+15555550199","raw":{"type":"interactive","interactive":{"type":"flow",`+
			`"action":{"name":"flow","parameters":{"flow_id":%q,"mode":%q}}}}}`, c.id, c.mode)
		if _, code := errorOf(t, call(t, s, "POST", "/api/v1/messages", "partner", body)); code != c.code {
			t.Errorf("flow %q in mode %q: got code %d, want %d", c.id, c.mode, code, c.code)
		}
	}
}

func TestAFlowTellsWhatIsWrongWithItsScreens(t *testing.T) {
	c := &scene{s: twoClients(t), key: "partner"}
	for json, want := range map[string]int{
		`{"version":"7.0","screens":[{"id":"A"},{"id":"B"}]}`:    0,
		`"{\"version\":\"7.0\",\"screens\":[{\"id\":\"A\"}]}"`:   0,
		`{"screens":[{"id":"A"}]}`:                               1,
		`{"version":"7.0"}`:                                      1,
		`{"version":"7.0","screens":[{"id":"A"},{"id":"A"},{}]}`: 2,
		`"no JSON"`: 1,
		`[]`:        1,
	} {
		body := `{"connectionId":"conn_1","name":"n","categories":["OTHER"],"json":` + json + `}`
		f := told[Flow](t, c, "POST", "/flows", body)
		if len(f.ValidationErrors) != want {
			t.Errorf("%s: got %q, want %d errors", json, f.ValidationErrors, want)
		}
		status, what := 200, "PUBLISHED"
		if want > 0 {
			status, what = 400, "flow_invalid"
		}
		c.want(t, "POST", "/flows/"+f.ID+"/publish", "", status, what)
	}
}

func TestAClientHas1000Flows(t *testing.T) {
	c := &scene{s: twoClients(t), key: "partner"}
	const body = `{"connectionId":"conn_1","name":"n","categories":["OTHER"]}`
	for range 1000 {
		c.want(t, "POST", "/flows", body, 200, "DRAFT")
	}
	c.want(t, "POST", "/flows", body, 409, "limit_reached")
}
