package sandbox

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/sandbox/area"
)

// The paths of templates and of uploads (docs/cloud.md#templates): /{account}/message_templates,
// /{template-id}, /{app-id}/uploads and /upload:SESSION.
var (
	cloudObject = regexp.MustCompile(`^/v[1-9][0-9]?\.0/([0-9]{1,20})$`)
	cloudUpload = regexp.MustCompile(`^/v[1-9][0-9]?\.0/(upload:[0-9]{1,9})$`)
)

// serveCloudTemplates answers the requests that change templates, those about one template, and
// uploads for headers. It reports whether the request was one of them.
func (s *Sandbox) serveCloudTemplates(w http.ResponseWriter, r *http.Request, key *Key) bool {
	var edge string
	var do func(now time.Time) (any, *refusal)
	one, session := cloudObject.FindStringSubmatch(r.URL.Path), cloudUpload.FindStringSubmatch(r.URL.Path)
	parts := cloudPath.FindStringSubmatch(r.URL.Path)
	switch {
	case one != nil:
		edge, do = "message_templates", s.oneCloudTemplate(r, key, one[1])
	case session != nil:
		edge, do = "upload", s.resumeUpload(r, session[1])
	case parts != nil && parts[1] == CloudApp && parts[2] == "uploads" && r.Method == http.MethodPost:
		edge, do = "uploads", s.beginUpload(r)
	case parts != nil && parts[2] == "message_templates" && r.Method != http.MethodGet:
		company := s.cloudAccount(key, parts[1])
		if company == nil {
			return false
		}
		edge, do = parts[2], s.changeCloudTemplates(r, key, company)
	default:
		return false
	}
	if s.away(w, cloudAreas[edge]) {
		return true
	}
	var answer any
	var ref *refusal
	_ = s.change(func(now time.Time) ([]int, error) { // it returns no error
		answer, ref = do(now)
		return nil, nil
	})
	if ref != nil {
		refuse(w, ref)
		return true
	}
	writeRaw(w, http.StatusOK, "application/json", mustJSON(answer))
	return true
}

// cloudTemplate is a template as the platform shows it.
type cloudTemplate struct {
	area.Template
	ID     string `json:"id"`
	Reason string `json:"rejected_reason"`
	Format string `json:"parameter_format"`
}

func cloudTemplateOf(r *area.Record) cloudTemplate {
	reason := cmp.Or(r.Reason, "NONE")
	return cloudTemplate{r.Template, strconv.FormatInt(r.PlatformID(), 10), reason, "POSITIONAL"}
}

var success = map[string]bool{"success": true}

// changeCloudTemplates is POST and DELETE /{account}/message_templates.
func (s *Sandbox) changeCloudTemplates(r *http.Request, key *Key, company *company) func(time.Time) (any, *refusal) {
	call := &area.Call{Key: key, Connection: &area.Connection{Company: company.ID}}
	if r.Method == http.MethodDelete {
		return func(now time.Time) (any, *refusal) { return s.deleteCloudTemplates(r, call, company, now) }
	}
	in, ref := cloudBody(r, map[string]string{"library_template_name": "libraryName"})
	return func(now time.Time) (any, *refusal) {
		if ref != nil {
			return nil, ref
		}
		call.Body, call.Now = in, now
		made, ref := s.areas.AtPlatform("template_create", nil, call)
		if ref != nil {
			return nil, ref
		}
		return map[string]string{"id": strconv.FormatInt(made.PlatformID(), 10), "status": made.Status, "category": made.Category}, nil
	}
}

// deleteCloudTemplates deletes every template of a name, or the one with hsm_id.
func (s *Sandbox) deleteCloudTemplates(r *http.Request, call *area.Call, company *company, now time.Time) (any, *refusal) {
	name, id := r.URL.Query().Get("name"), r.URL.Query().Get("hsm_id")
	var found []*area.Record
	for t := range s.areas.TemplatesOf(company.ID) {
		if t.Name == name && (id == "" || id == strconv.FormatInt(t.PlatformID(), 10)) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return nil, platformStatus(400, 100, "Message Template Not Found")
	}
	for _, t := range found {
		call.Now = now
		if _, ref := s.areas.AtPlatform("template_delete", t, call); ref != nil {
			return nil, ref
		}
	}
	return success, nil
}

// oneCloudTemplate is GET and POST /{template-id}.
func (s *Sandbox) oneCloudTemplate(r *http.Request, key *Key, id string) func(time.Time) (any, *refusal) {
	in, bad := []byte(nil), (*refusal)(nil)
	if r.Method == http.MethodPost {
		in, bad = cloudBody(r, nil)
	}
	return func(now time.Time) (any, *refusal) {
		n, err := strconv.ParseInt(id, 10, 64)
		t := s.areas.TemplateAt(n, key)
		switch {
		case err != nil || t == nil || r.Method != http.MethodGet && r.Method != http.MethodPost:
			return nil, platformStatus(400, 100, "Unsupported "+strings.ToLower(r.Method)+" request. Object with ID '"+id+"' does not exist.")
		case r.Method == http.MethodGet:
			return cloudTemplateOf(t), nil
		case bad != nil:
			return nil, bad
		}
		_, ref := s.areas.AtPlatform("template_edit", t, &area.Call{Key: key, Now: now, Body: in})
		return success, ref
	}
}

// cloudBody reads a JSON object, and gives its members the names of the service.
func cloudBody(r *http.Request, names map[string]string) ([]byte, *refusal) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var in map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &in) != nil {
		return nil, platformStatus(400, 100, "The body is no JSON object.")
	}
	for platform, own := range names {
		if v, ok := in[platform]; ok {
			delete(in, platform)
			in[own] = v
		}
	}
	delete(in, "parameter_format")
	return mustJSON(in), nil
}

// uploadSession is a resumable upload to the app. Its bytes are not kept.
type uploadSession struct {
	kind        string
	length, got int64
}

// beginUpload is POST /{app-id}/uploads.
func (s *Sandbox) beginUpload(r *http.Request) func(time.Time) (any, *refusal) {
	return func(time.Time) (any, *refusal) {
		q := r.URL.Query()
		length, err := strconv.ParseInt(q.Get("file_length"), 10, 64)
		if err != nil || length < 1 || q.Get("file_type") == "" || length > area.MediaLimit(q.Get("file_type")) {
			return nil, platformStatus(400, 100, "file_length and file_type must be those of a file that the platform takes.")
		}
		s.serial["upload"]++
		id := "upload:" + strconv.Itoa(s.serial["upload"])
		if s.uploads == nil {
			s.uploads = map[string]*uploadSession{}
		}
		s.uploads[id] = &uploadSession{kind: q.Get("file_type"), length: length}
		return map[string]string{"id": id}, nil
	}
}

// resumeUpload is GET and POST /upload:SESSION. The bytes that a broken connection brought
// count.
func (s *Sandbox) resumeUpload(r *http.Request, id string) func(time.Time) (any, *refusal) {
	came := int64(0)
	if r.Method == http.MethodPost {
		came, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 101<<20)) // GET tells how many came
	}
	offset, wrong := strconv.ParseInt(r.Header.Get("file_offset"), 10, 64)
	return func(now time.Time) (any, *refusal) {
		u := s.uploads[id]
		switch {
		case u == nil:
			return nil, platformStatus(400, 100, "The upload session is not known.")
		case r.Method == http.MethodGet:
			return map[string]any{"id": id, "file_offset": u.got}, nil
		case wrong != nil || offset != u.got || u.got+came > u.length:
			return nil, platformStatus(400, 100, "file_offset is "+strconv.FormatInt(u.got, 10)+".")
		}
		if u.got += came; u.got < u.length {
			return map[string]any{"id": id, "file_offset": u.got}, nil
		}
		delete(s.uploads, id)
		handle := s.areas.KeepHandle(u.kind, u.length, now)
		if handle == "" {
			return nil, platformStatus(400, 100, "No header takes a file of this type.")
		}
		return map[string]string{"h": handle}, nil
	}
}
