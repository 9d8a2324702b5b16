package sandbox

import (
	"campaignd/internal/sandbox/area"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// APICloud is the value of Options.API with which the sandbox speaks the wire of the platform's own
// Cloud API: the same numbers, templates, rules and faults, at /vN.0/ID/... (docs/cloud.md). A
// company is one business account.
const APICloud = "cloud"

// The ids of the first company and of the first number at the Cloud API.
const (
	firstAccount = 200_000_000_000_001
	firstNumber  = 300_000_000_000_001
)

// CloudAccount is the id of the business account of Demo, at the Cloud API.
const CloudAccount = "200000000000001"

// CloudAppSecret and CloudVerifyToken are the default secret of the app, and the verify token that
// the sandbox prints and never asks for. No real app has them.
const (
	CloudAppSecret   = "sandbox-app-secret" //nolint:gosec // of the sandbox, and printed
	CloudVerifyToken = "sandbox-verify-token"
)

// CloudApp is the id of the app, to which files of template headers are uploaded.
const CloudApp = "100000000000001"

// CloudNumber is the phone_number_id of the nth number of Demo, from 1.
func CloudNumber(nth int) string { return strconv.Itoa(firstNumber + nth - 1) }

var cloudPath = regexp.MustCompile(`^/v[1-9][0-9]?\.0/([0-9]{1,20})/([a-z_]+)$`)

// cloudVersion begins the path of a request to the Cloud API.
var cloudVersion = regexp.MustCompile(`^/v[1-9][0-9]?\.0/`)

// serveCloud answers as the Cloud API does.
func (s *Sandbox) serveCloud(w http.ResponseWriter, r *http.Request) {
	out := &cloudWriter{w: w}
	defer out.end()
	token := strings.TrimPrefix(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "OAuth ")
	key := s.keys[token]
	if key == nil {
		refuse(out, platformStatus(401, 190, "Invalid OAuth access token - Cannot parse access token"))
		return
	}
	if prose := s.refusedProof(r.URL.Query().Get("appsecret_proof"), token); prose != "" {
		writeRaw(out, http.StatusBadRequest, "application/json", mustJSON(map[string]any{"error": map[string]any{
			"message": prose, "type": "GraphMethodException", "code": 100, "fbtrace_id": out.Header().Get("X-Request-Id")}}))
		return
	}
	if s.serveCloudTemplates(out, r, key) {
		return
	}
	parts := cloudPath.FindStringSubmatch(r.URL.Path)
	if parts == nil {
		refuse(out, platformStatus(400, 2500, "Unknown path components: "+r.URL.Path))
		return
	}
	id, edge := parts[1], parts[2]
	if s.away(out, cloudAreas[edge]) {
		return
	}
	get, post := r.Method == http.MethodGet, r.Method == http.MethodPost
	company, conn := s.cloudAccount(key, id), s.cloudNumber(key, id)
	switch {
	case conn != nil && post && (edge == "messages" || edge == "marketing_messages"):
		s.sendCloud(out, r, conn, edge)
	case conn != nil && post && edge == "media":
		s.uploadCloud(out, r, conn)
	case company != nil && get && edge == "phone_numbers":
		s.listCloudNumbers(out, r, company)
	case company != nil && get && edge == "message_templates":
		s.listCloudTemplates(out, r, company)
	case company != nil && post && edge == "subscribed_apps":
		writeRaw(out, http.StatusOK, "application/json", []byte(`{"success":true}`))
	default:
		ref := platformStatus(400, 100, "Unsupported "+strings.ToLower(r.Method)+" request. Object with ID '"+id+
			"' does not exist, cannot be loaded due to missing permissions, or does not support this operation")
		refuse(out, ref)
	}
}

// refusedProof is what the platform says of the proof of a call: the hex HMAC-SHA256 of the access
// token with the app's secret
// (https://developers.facebook.com/docs/graph-api/guides/secure-requests). "" if nothing is wrong.
// Both sentences have the code 100 and the type GraphMethodException
// (https://github.com/Yoctol/bottender/issues/271 and other public reports).
func (s *Sandbox) refusedProof(proof, token string) string {
	if proof == "" {
		if s.opt.RequireAppSecret {
			return "API calls from the server require an appsecret_proof argument"
		}
		return ""
	}
	mac := hmac.New(sha256.New, []byte(s.opt.WebhookSecret))
	mac.Write([]byte(token))
	if !hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(proof)) {
		return "Invalid appsecret_proof provided in the API argument"
	}
	return ""
}

// cloudAreas are the names that Faults.Away has for the edges.
var cloudAreas = map[string]string{"phone_numbers": "numbers", "message_templates": "templates", "media": "media",
	"subscribed_apps": "webhooks", "uploads": "media", "upload": "media"}

// platformStatus is a refusal of the platform with a status of its own.
func platformStatus(status, code int, prose string) *refusal {
	ref := area.RefusePlatform(code, "")
	ref.Status, ref.Prose = status, prose
	return ref
}

// cloudNumber returns the number with this phone_number_id that the key reaches, or nil.
func (s *Sandbox) cloudNumber(key *Key, id string) *connection {
	n, err := strconv.ParseInt(id, 10, 64)
	if n -= firstNumber; err != nil || n < 0 || n >= int64(len(s.connections)) || !covers(key, s.connections[n].Company) {
		return nil
	}
	return s.connections[n]
}

// cloudAccount returns the company of this business account that the key reaches, or nil.
func (s *Sandbox) cloudAccount(key *Key, id string) *company {
	for _, c := range s.companies {
		if strconv.FormatInt(s.accountID(c.ID), 10) == id && covers(key, c.ID) {
			return c
		}
	}
	return nil
}

// cloudWriter turns the service's answers into answers of the Cloud API: a messageId becomes
// messages[0].id, and a refusal becomes the platform's error object. Other bodies pass unchanged.
type cloudWriter struct {
	w      http.ResponseWriter
	status int
	body   []byte
}

func (c *cloudWriter) Header() http.Header    { return c.w.Header() }
func (c *cloudWriter) WriteHeader(status int) { c.status = status }
func (c *cloudWriter) Write(b []byte) (int, error) {
	c.body = append(c.body, b...)
	return len(b), nil
}

// end writes the answer. A handler that panics closes the connection without one.
func (c *cloudWriter) end() {
	if err := recover(); err != nil {
		panic(err)
	}
	c.status = cmp.Or(c.status, http.StatusOK)
	body := c.translated()
	if len(body) != len(c.body) {
		c.w.Header().Del("Content-Length")
	}
	c.w.WriteHeader(c.status)
	_, _ = c.w.Write(body)
}

func (c *cloudWriter) translated() []byte {
	var in struct {
		Data *struct {
			MessageID string `json:"messageId"`
		} `json:"data"`
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Meta    *area.Meta      `json:"meta"`
	}
	var code string
	switch {
	case json.Unmarshal(c.body, &in) != nil:
		return c.body
	case in.Data != nil && in.Data.MessageID != "":
		return mustJSON(map[string]any{"messaging_product": "whatsapp", "messages": []any{map[string]string{"id": in.Data.MessageID}}})
	case in.Data != nil:
		return mustJSON(map[string]any{"messaging_product": "whatsapp"})
	case json.Unmarshal(in.Error, &code) != nil:
		return c.body
	}
	e := map[string]any{"message": in.Message, "type": "OAuthException", "code": cloudCodes[code],
		"fbtrace_id": c.Header().Get("X-Request-Id")}
	if in.Meta == nil && cloudCodes[code] == 100 {
		refusedTemplate(e, cloudSubcodes[code], in.Message)
	}
	if in.Meta != nil {
		e["code"] = in.Meta.Code
		e["message"] = "(#" + strconv.Itoa(in.Meta.Code) + ") " + area.TitleOf(in.Meta.Code)
		if in.Meta.Subcode != 0 {
			e["error_subcode"] = in.Meta.Subcode
		}
		if in.Meta.ErrorClass == "template" && in.Meta.Code > lastSendCode {
			e["code"] = 100
			refusedTemplate(e, in.Meta.Code, in.Message)
		} else {
			e["error_data"] = map[string]string{"messaging_product": "whatsapp", "details": in.Message}
		}
	}
	return mustJSON(map[string]any{"error": e})
}

// lastSendCode is above every code of a refused message. The faults of templates have their own
// figures, which the platform gives as subcodes.
const lastSendCode = 2_000_000

// refusedTemplate gives a refusal the form of a template's: always code 100 with the same message,
// and the fault in the subcode, a title and a message for the user.
func refusedTemplate(e map[string]any, subcode int, prose string) {
	title := "The template is not valid"
	if known, ok := cloudTitles[subcode]; ok {
		title = known
	}
	e["message"], e["error_user_title"], e["error_user_msg"] = "Invalid parameter", title, prose
	if subcode != 0 {
		e["error_subcode"] = subcode
	}
}

// cloudSubcodes and cloudTitles are the platform's subcodes of refused templates that are publicly
// reported.
var (
	cloudSubcodes = map[string]int{"template_exists": 2388024}
	cloudTitles   = map[int]string{2388024: "Content in this language already exists",
		2388299: "Leading or trailing parameters are not allowed",
		2388072: "The parameters are not numbered one after the other"}
)

// cloudCodes are the platform's codes for refusals that the service makes itself.
var cloudCodes = map[string]int{"recipient_is_sender": 131021, "connection_not_found": 131009, "account_deactivated": 131031,
	"missing_fields": 131008, "missing_content": 131008, "invalid_media": 131009, "invalid_button": 131009, "invalid_request": 100,
	"template_exists": 100, "template_name_blocked": 100,
	"template_not_editable": 100, "template_edit_limit": 100, "template_not_deletable": 100, "business_not_verified": 100,
	"not_found": 100, "missing_components": 100, "internal_error": 131000, "conflict": 131000, "rate_limited": 4}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
