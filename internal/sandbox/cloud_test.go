package sandbox_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaignd/internal/sandbox"
)

// cloudAnswer is the error object of an answer over the Cloud API; a test asks for it with a path
// that begins with that of the account.
func cloudAnswer(t *testing.T, s *sandbox.Sandbox, method, path, body string) (status int, e map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/v25.0/"+sandbox.CloudAccount+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+sandbox.DemoKey)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "test/1")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var out struct {
		Error map[string]any `json:"error"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s: got %d %s, want JSON", path, w.Code, w.Body)
	}
	return w.Code, out.Error
}

func cloudSandbox(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.New(sandbox.Options{API: sandbox.APICloud})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A number that was never used has no tier yet, or the word for that; the platform lets its
// portfolio reach 250 people.
func TestTheCloudAPIListsNumbersWithoutATier(t *testing.T) {
	s, err := sandbox.New(sandbox.Options{API: sandbox.APICloud, Connections: []sandbox.Connection{
		{ID: "a", Phone: "+15555550100"}, {ID: "b", Phone: "+15555550101", Tier: sandbox.TierNotSet}}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v25.0/"+sandbox.CloudAccount+"/phone_numbers", nil)
	r.Header.Set("Authorization", "Bearer "+sandbox.DemoKey)
	r.Header.Set("User-Agent", "test/1")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	for _, tier := range []string{`null`, `"TIER_NOT_SET"`} {
		want := `"whatsapp_business_manager_messaging_limit":` + tier
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
		}
	}
}

// An app may require the proof of its secret with every call. A wrong one is refused by any app.
func TestTheCloudAPIChecksTheProofOfTheSecret(t *testing.T) {
	// echo -n sandbox-key | openssl dgst -sha256 -hmac sandbox-app-secret
	const right = "82c66a6e9ed8f89c5dd2c280c4c46191839234cb94ae5715442537dea8d9bf6a"
	for _, tt := range []struct {
		required bool
		proof    string
		want     string
	}{
		{false, "", ""}, {false, right, ""}, {true, right, ""},
		{true, "", "API calls from the server require an appsecret_proof argument"},
		{false, strings.Repeat("0", 64), "Invalid appsecret_proof provided in the API argument"},
		{true, right[:63], "Invalid appsecret_proof provided in the API argument"},
	} {
		s, err := sandbox.New(sandbox.Options{API: sandbox.APICloud, RequireAppSecret: tt.required})
		if err != nil {
			t.Fatal(err)
		}
		status, e := cloudAnswer(t, s, http.MethodGet, "/phone_numbers?appsecret_proof="+tt.proof, "")
		if tt.want == "" && status != http.StatusOK || tt.want != "" && (status != http.StatusBadRequest || e["code"] != 100.0 ||
			e["type"] != "GraphMethodException" || e["message"] != tt.want) {
			t.Errorf("required %v, proof %q: got %d %v, want %q", tt.required, tt.proof, status, e, tt.want)
		}
	}
}

// Every refused template has code 100 and the same message; the subcode, the title and the message
// for the user say what is wrong (public reports of the platform's answers).
func TestTheCloudAPISaysWhatIsWrongWithATemplate(t *testing.T) {
	s := cloudSandbox(t)
	for _, tt := range []struct {
		name, text string
		subcode    float64
	}{
		{"fresh", "these are the new offers of this week, {{1}}!", 2388299},
		{"order_update", "Hi {{1}}, these are the new offers of this week for you", 2388024},
	} {
		body := `{"name":"` + tt.name + `","language":"en_US","category":"UTILITY","components":[{"type":"BODY","text":"` + tt.text +
			`","example":{"body_text":[["Ada"]]}}]}`
		status, e := cloudAnswer(t, s, http.MethodPost, "/message_templates", body)
		if status/100 != 4 || e["code"] != 100.0 || e["error_subcode"] != tt.subcode || e["message"] != "Invalid parameter" ||
			e["error_user_title"] == nil || e["error_user_msg"] == nil {
			t.Errorf("%s: got %d %v, want code 100, subcode %v, a title and a message for the user", tt.name, status, e, tt.subcode)
		}
	}
}
