package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"campaignd/internal/operations"
)

// managed are the operations that FuzzManagement asks: all but the sends.
func managed() []operations.Operation {
	return slices.DeleteFunc(slices.Clone(operations.All), func(o operations.Operation) bool { return o.Name == "messages" })
}

// askAny sends any query and body to an operation, about a record.
func askAny(s *Sandbox, o operations.Operation, id, query, body string) (int, []byte) {
	r := httptest.NewRequest(o.Method, "/", strings.NewReader(body))
	r.URL = &url.URL{Path: o.At(id), RawQuery: query}
	r.Header = http.Header{"Authorization": {"Bearer " + DemoKey}, "Content-Type": {"application/json"}, "User-Agent": {"fuzz/1"}}
	if o.Name == "media" {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	raw, _ := io.ReadAll(w.Body)
	return w.Code, raw
}

// FuzzManagement makes a record of each area and changes them by any operations, queries and
// bodies. Each answer is one of the table, a record that exists is found, and campaigns count
// everybody.
func FuzzManagement(f *testing.F) {
	rows := managed()
	index := func(name string) byte {
		return byte(slices.IndexFunc(rows, func(o operations.Operation) bool { return o.Name == name }))
	}
	const query = "connectionId=conn_1&start=2026-01-01&end=2026-01-02"
	for _, o := range rows {
		body := requests[o.Name]
		if create := creations[areaOf(o.Path)]; body == "" && create != "" {
			body = strings.NewReplacer("%[1]q", `"conn_1"`, "%[2]d", "7").Replace(create)
		}
		f.Add([]byte{index(o.Name), index(o.Name)}, query, body, "{}")
	}
	add := func(query, first, second string, names ...string) {
		var calls []byte
		for _, name := range names {
			calls = append(calls, index(name))
		}
		f.Add(calls, query, first, second)
	}
	add("", requests["template_edit"], `{"connectionId":"conn_1"}`, "template_edit", "template_sync", "template_delete")
	add("", requests["campaign_add"], "", "campaign_add", "campaign_launch", "campaign_cancel")
	add("", `{"json":"{\"version\":\"1\",\"screens\":[{\"id\":\"A\"}]}"}`, "", "flow_update", "flow_publish", "flow_update")
	add("state=failed", `{"active":false,"events":[]}`, requests["webhook_replay_one"], "webhook_update", "webhook_replay_one")
	form := multipartOf([2]string{`name="connectionId"`, "conn_1"}, [2]string{`name="file"; filename="f.png"`, png})
	add("", form, "", "media", "media_list")
	for _, body := range []string{`[]`, `null`, `{`, `{"connectionId":1}`, `{"ConnectionId":"conn_1"}`,
		`{"components":[{"type":"BODY","Text":"x"}]}`, `{"components":[null]}`, `{"recipients":[{"to":"+2348030000003","buttons":7}]}`} {
		add(query, body, body, "template_create", "template_edit", "campaign_add", "campaign_launch")
	}
	f.Fuzz(func(t *testing.T, calls []byte, query, first, second string) {
		s, err := New(Demo())
		must(t, err)
		c, ids := client{"co_1", DemoKey, "conn_1"}, map[string]string{}
		for _, o := range rows {
			if area := areaOf(o.Path); o.Scope == operations.Record && ids[area] == "" {
				ids[area] = c.record(t, s, area, 1)
			}
		}
		for i, call := range calls[:min(len(calls), 20)] {
			o, body := rows[int(call)%len(rows)], first
			if i%2 == 1 {
				body = second
			}
			area := areaOf(o.Path)
			status, raw := askAny(s, o, ids[area], query, body)
			if status >= 500 || status != http.StatusNoContent && !json.Valid(raw) {
				t.Errorf("%s?%s %q: got %d %s, want an answer of the table", o.Name, query, body, status, raw)
			}
			switch {
			case status == http.StatusNoContent:
				ids[area] = c.record(t, s, area, 100+i)
			case status == http.StatusNotFound && o.Scope == operations.Record && !strings.HasPrefix(o.Request, "C"):
				t.Errorf("%s: got 404 for the record %s, want it found", o.Name, ids[area])
			}
		}
		status, raw := askAny(s, operations.Operation{Method: "GET", Path: operations.Prefix + "/campaigns"}, "", "", "")
		var list struct {
			Data []campaignRow
		}
		if err := json.Unmarshal(raw, &list); err != nil || status != http.StatusOK {
			t.Fatalf("the campaigns: got %d %s (%v), want a list", status, raw, err)
		}
		for _, k := range list.Data {
			sum := 0
			for _, n := range k.Counts {
				sum += n
			}
			if sum != k.Recipients {
				t.Errorf("campaign %s: got %v for %d recipients, want everybody counted once", k.ID, k.Counts, k.Recipients)
			}
		}
	})
}
