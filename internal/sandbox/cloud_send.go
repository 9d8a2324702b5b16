package sandbox

import (
	"campaignd/internal/sandbox/area"
	"campaignd/internal/sandbox/request"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cloudMessage is the body of POST /{phone-number-id}/messages for a template (docs/cloud.md#send).
type cloudMessage struct {
	Product  string `json:"messaging_product"`
	To       string `json:"to"`
	Type     string `json:"type"`
	Mark     string `json:"biz_opaque_callback_data"`
	Template *struct {
		Name       string                `json:"name"`
		Language   struct{ Code string } `json:"language"`
		Components []request.Component   `json:"components"`
	} `json:"template"`
}

// maxCloudMark is the longest biz_opaque_callback_data, in characters.
const maxCloudMark = 512

// sendCloud is POST /{phone-number-id}/messages and /marketing_messages.
func (s *Sandbox) sendCloud(w http.ResponseWriter, r *http.Request, conn *connection, edge string) {
	raw, ref := body(w, r)
	if ref != nil {
		s.refuse(w, nil, ref)
		return
	}
	var in cloudMessage
	if err := json.Unmarshal(raw, &in); err != nil {
		s.refuse(w, nil, platformStatus(400, 100, "The body is no JSON object of a message."))
		return
	}
	if len(in.Mark) > maxCloudMark {
		s.refuse(w, nil, platformStatus(400, 100, "biz_opaque_callback_data has more than 512 characters."))
		return
	}
	m, ref := s.fromCloud(conn, &in)
	p := &post{m: m, conn: conn, mark: in.Mark}
	if m == nil {
		p.m = &request.Message{ConnectionID: conn.ID, To: in.To}
	}
	s.take(w, r, p, func() *refusal {
		if ref == nil {
			ref = m.Shape()
		}
		if ref == nil && edge == "marketing_messages" && s.categoryOf(conn, m) != "MARKETING" {
			ref = platformStatus(400, 131009, "Only MARKETING templates can be sent by this endpoint.")
		}
		return ref
	})
}

func (s *Sandbox) categoryOf(conn *connection, m *request.Message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.areas.Template(m.Template.Name, m.Template.Language, conn.Company); t != nil {
		return t.Category
	}
	return "MARKETING" // the rules refuse it by its own code
}

// fromCloud reads a template message into the form of the service, which the rules know.
func (s *Sandbox) fromCloud(conn *connection, in *cloudMessage) (*request.Message, *refusal) {
	switch {
	case in.Product != "whatsapp":
		return nil, platformStatus(400, 100, "The parameter messaging_product is required.")
	case in.To == "":
		return nil, platformStatus(400, 131008, "The parameter to is required.")
	case in.Type != "template" || in.Template == nil || in.Template.Name == "" || in.Template.Language.Code == "":
		return nil, platformStatus(400, 131008,
			"Only template messages are known here; type, template.name and template.language.code are required.")
	}
	t := &request.Template{Name: in.Template.Name, Language: in.Template.Language.Code}
	m := &request.Message{ConnectionID: conn.ID, To: in.To, Template: t}
	s.mu.Lock()
	known := s.areas.Template(t.Name, t.Language, conn.Company)
	s.mu.Unlock()
	last := -1
	for _, c := range in.Template.Components {
		switch strings.ToLower(c.Type) {
		case "header":
			if t.Header = request.HeaderOf(c.Parameters); t.Header == nil {
				return nil, platformStatus(400, 132012, "The header needs one file.")
			}
		case "body":
			for _, p := range c.Parameters {
				t.Body = append(t.Body, p.Text)
			}
		case "button":
			at, err := strconv.Atoi(strings.Trim(string(c.Index), `"`))
			if err != nil || at <= last || len(c.Parameters) != 1 || known != nil && !fills(known, at, c.SubType) {
				return nil, platformStatus(400, 131009, "A button names no button of the template that takes a value, or is there twice.")
			}
			p := c.Parameters[0]
			t.Buttons = append(t.Buttons, request.Button{Type: c.SubType, Text: p.Text + p.Payload + p.CouponCode})
		default:
			return nil, platformStatus(400, 131009, "Unknown component "+c.Type+".")
		}
	}
	if known != nil && known.Category == "AUTHENTICATION" && len(t.Body) == 1 {
		if len(t.Buttons) != 1 || t.Buttons[0].Text != t.Body[0] {
			return nil, platformStatus(400, 131009, "The code of an authentication template stands in the body and in the button.")
		}
		t.OTP, t.Body, t.Buttons = &t.Body[0], nil, nil
	}
	return m, nil
}

// fills reports whether the button at an index of the template takes a value of this sub_type.
func fills(t *area.Record, at int, subType string) bool {
	for _, c := range t.Components {
		if strings.EqualFold(c.Type, "BUTTONS") && at >= 0 && at < len(c.Buttons) {
			b := c.Buttons[at]
			kind := strings.ToUpper(b.Type)
			return kind == "URL" && strings.Contains(b.URL, "{{") && subType == "url" || kind == "OTP" && subType == "url" ||
				kind == "QUICK_REPLY" && subType == "quick_reply" || kind == "COPY_CODE" && subType == "copy_code"
		}
	}
	return false
}

// uploadCloud is POST /{phone-number-id}/media.
func (s *Sandbox) uploadCloud(w http.ResponseWriter, r *http.Request, conn *connection) {
	parts, err := r.MultipartReader()
	if err != nil {
		refuse(w, platformStatus(400, 100, "The body must be multipart/form-data."))
		return
	}
	product, kind, size := "", "", int64(-1)
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			refuse(w, platformStatus(400, 100, "The body could not be read: "+err.Error()+"."))
			return
		}
		switch part.FormName() {
		case "messaging_product":
			raw, _ := io.ReadAll(io.LimitReader(part, 64))
			product = string(raw)
		case "file":
			if kind, size, err = area.Measure(part, part.Header.Get("Content-Type")); err != nil {
				refuse(w, platformStatus(400, 100, "The file could not be read: "+err.Error()+"."))
				return
			}
		}
	}
	switch most := area.MediaLimit(kind); {
	case product != "whatsapp" || size < 0:
		refuse(w, platformStatus(400, 100, "messaging_product and file are required."))
		return
	case most == 0 || size == 0 || size > most:
		refuse(w, platformStatus(400, 131053, "The type or the size of the file is not taken."))
		return
	}
	s.mu.Lock()
	now := time.Now()
	s.serial["asset"]++
	id := strconv.Itoa(400_000_000_000_000 + s.serial["asset"])
	s.areas.KeepFile(id, "", &conn.Connection, true, kind, size, now)
	s.mu.Unlock()
	writeRaw(w, http.StatusOK, "application/json", mustJSON(map[string]string{"id": id}))
}

// listCloudNumbers is GET /{account}/phone_numbers.
func (s *Sandbox) listCloudNumbers(w http.ResponseWriter, r *http.Request, c *company) {
	var out []any
	s.mu.Lock()
	for _, n := range s.connections {
		if n.company != c {
			continue
		}
		var tier any // null without one
		if n.Tier != "" {
			tier = n.Tier
		}
		display := strconv.FormatUint(n.phone, 10)
		out = append(out, map[string]any{
			"id": strconv.Itoa(firstNumber + n.number), "display_phone_number": "+" + display[:1] + " " + display[1:],
			"quality_rating": n.Quality, "throughput": map[string]string{"level": n.Throughput},
			"whatsapp_business_manager_messaging_limit": tier, "is_on_biz_app": n.Coexistence, "status": strings.ToUpper(n.Status),
		})
	}
	s.mu.Unlock()
	s.writeCloudPage(w, r, out)
}

// listCloudTemplates is GET /{account}/message_templates.
func (s *Sandbox) listCloudTemplates(w http.ResponseWriter, r *http.Request, c *company) {
	var out []any
	name := r.URL.Query().Get("name")
	s.mu.Lock()
	for t := range s.areas.TemplatesOf(c.ID) {
		if name == "" || strings.Contains(t.Name, name) {
			out = append(out, cloudTemplateOf(t))
		}
	}
	s.mu.Unlock()
	s.writeCloudPage(w, r, out)
}

// writeCloudPage writes one page of a listing. The last page has a cursor too, and no next.
func (s *Sandbox) writeCloudPage(w http.ResponseWriter, r *http.Request, all []any) {
	q := r.URL.Query()
	size, from := 100, 0
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 0 {
		size = min(n, size)
	}
	if s.opt.PageSize > 0 {
		size = min(size, s.opt.PageSize)
	}
	if after := q.Get("after"); after != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(after, "QVFI"))
		if err != nil || n < 0 || n > len(all) {
			refuse(w, platformStatus(400, 131059, "The cursor is not valid."))
			return
		}
		from = n
	}
	to := min(from+size, len(all))
	paging := map[string]any{"cursors": map[string]string{"before": "QVFI" + strconv.Itoa(from), "after": "QVFI" + strconv.Itoa(to)}}
	if to < len(all) {
		next := *r.URL
		q.Set("after", "QVFI"+strconv.Itoa(to))
		next.RawQuery = q.Encode()
		paging["next"] = "http://" + r.Host + next.RequestURI()
	}
	data := slices.Clone(all[from:to])
	if data == nil {
		data = []any{}
	}
	writeRaw(w, http.StatusOK, "application/json", mustJSON(map[string]any{"data": data, "paging": paging}))
}
