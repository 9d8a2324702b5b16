package sandbox

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"campaignd/internal/sandbox/area"
)

// refusal is an answer of the table of errors.
type refusal = area.Refusal

// The service's own refusals. The document does not show those with *.
var (
	refuseSender    = *area.Refuse(400, "recipient_is_sender", "to is the connection's own number.")
	refuseAllowance = *area.Refuse(402, "plan_limit_messages", "The monthly message allowance is used up.")
	refuseBlocked   = *area.Refuse(403, "recipient_blocked", "The number has blocked the recipient.") // *
	refuseOptedOut  = *area.Refuse(403, "recipient_opted_out", "The recipient has opted out of marketing.")
	refuseBilling   = *area.Refuse(403, "partner_key_required", "Billing endpoints need a partner-wide key.")
	refuseAsset     = *area.Refuse(404, "connection_not_found", "No such asset.")
	refuseKey       = *area.Refuse(401, "unauthorized", "Invalid API key.")          // *
	refusePath      = *area.Refuse(404, "not_found", "No such endpoint.")            // *
	refuseMethod    = *area.Refuse(405, "method_not_allowed", "Method not allowed.") // *
	refuseTooMany   = *area.Refuse(429, "rate_limited", "Too many requests.")        // *
)

// refuse writes a refusal. The traceId is made from the id of the request.
func refuse(w http.ResponseWriter, ref *refusal) {
	body := struct {
		Error   string     `json:"error"`
		Message string     `json:"message"`
		Meta    *area.Meta `json:"meta,omitempty"`
	}{ref.Code, ref.Prose, nil}
	if ref.Meta != nil {
		m := *ref.Meta
		m.TraceID = "trace_" + strings.TrimPrefix(w.Header().Get("X-Request-Id"), "req_")
		body.Meta = &m
	}
	writeJSON(w, ref.Status, body)
}

// writeRows writes the page of a listing that ?cursor= names, in the form of every listing
// (docs/service.md#conventions). The document shows no pages; without Options.PageSize the whole
// listing is one page.
func writeRows(s *Sandbox, w http.ResponseWriter, r *http.Request, rows area.List) {
	size, from, to := s.opt.PageSize, 0, rows.Len
	var out struct {
		Data any `json:"data"`
		// NextCursor names the next page. It is empty on the last page, and without Options.PageSize.
		NextCursor string `json:"nextCursor,omitempty"`
	}
	if size > 0 {
		if cursor := r.URL.Query().Get("cursor"); cursor != "" {
			n, err := strconv.Atoi(strings.TrimPrefix(cursor, "/page+"))
			if err != nil || n <= 0 || n >= rows.Len {
				refuse(w, &refusal{Status: 400, Code: "invalid_cursor", Prose: "List again from the beginning."})
				return
			}
			from = n
		}
		if from+size < to {
			to = from + size
			out.NextCursor = "/page+" + strconv.Itoa(to) // with characters that a URL must escape
		}
	}
	out.Data = rows.Page(from, to)
	writeJSON(w, http.StatusOK, out)
}

// single is the form of every other answer.
type single[T any] struct {
	Data T `json:"data"`
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil { // only a bug of the sandbox leads here
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeRaw(w, status, "application/json", raw)
}

func writeRaw(w http.ResponseWriter, status int, contentType string, raw []byte) {
	h := w.Header()
	h["Content-Type"] = []string{contentType}
	h["Content-Length"] = []string{strconv.Itoa(len(raw))}
	w.WriteHeader(status)
	_, _ = w.Write(raw) // an error means that the client has left
}
