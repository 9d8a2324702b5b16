package sandbox

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// assetLife is how long the service keeps a stored file (docs/service.md#media).
const assetLife = 30 * 24 * time.Hour

// asset is a stored file. Its bytes are not kept.
type asset struct {
	id, company string
	expires     time.Time
}

// stored reports whether the company has the asset now. The caller holds s.mu.
func (s *Sandbox) stored(id, company string, now time.Time) bool {
	a := s.assets[id]
	return a != nil && a.company == company && now.Before(a.expires)
}

// mediaLimit is the largest size of a file of this type, in bytes (docs/service.md#media). It is 0
// for a type that is refused.
func mediaLimit(contentType string) int64 {
	kind, sub, _ := strings.Cut(contentType, "/")
	switch {
	case contentType == "image/jpeg", contentType == "image/png":
		return 5 << 20
	case contentType == "image/webp":
		return 500 << 10
	case contentType == "video/mp4", contentType == "video/3gpp":
		return 16 << 20
	case kind == "audio":
		return 16 << 20
	case contentType == "text/plain", contentType == "application/pdf", contentType == "application/zip",
		kind == "application" && (strings.HasPrefix(sub, "vnd.") || sub == "msword"):
		return 100 << 20
	}
	return 0
}

// upload is POST /api/v1/media: a multipart form with connectionId and file. The form is assumed
// (docs/service.md#assumptions).
func (s *Sandbox) upload(w http.ResponseWriter, r *http.Request, key *Key) {
	parts, err := r.MultipartReader()
	if err != nil {
		refuse(w, refuseRequest("The body must be multipart/form-data."))
		return
	}
	var connectionID, contentType string
	var size int64 = -1
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			refuse(w, refuseRequest("The body could not be read: "+err.Error()+"."))
			return
		}
		switch part.FormName() {
		case "connectionId":
			raw, err := io.ReadAll(io.LimitReader(part, 1<<10))
			if err != nil {
				refuse(w, refuseRequest("connectionId could not be read: "+err.Error()+"."))
				return
			}
			connectionID = string(raw)
		case "file":
			if contentType, size, err = measure(part, part.Header.Get("Content-Type")); err != nil {
				refuse(w, refuseRequest("The file could not be read: "+err.Error()+"."))
				return
			}
		default:
			refuse(w, refuseRequest("Unknown field "+strconv.Quote(part.FormName())+"."))
			return
		}
	}
	if connectionID == "" || size < 0 {
		refuse(w, &refusal{400, "missing_fields", "connectionId and file are required.", nil})
		return
	}
	c := s.scoped(key, connectionID)
	if c == nil {
		refuse(w, &refuseConnection)
		return
	}
	switch most := mediaLimit(contentType); {
	case most == 0:
		refuse(w, &refusal{400, "invalid_media", "Files of type " + contentType + " are not taken.", nil})
		return
	case size == 0 || size > most:
		refuse(w, &refusal{400, "invalid_media",
			"A file of type " + contentType + " has 1 to " + strconv.FormatInt(most, 10) + " bytes.", nil})
		return
	}
	s.mu.Lock()
	if c.company.Suspended {
		s.mu.Unlock()
		refuse(w, &refuseSuspended)
		return
	}
	now := time.Now()
	a := &asset{company: c.Company, expires: now.Add(assetLife)}
	for a.id == "" || s.assets[a.id] != nil {
		s.serial["asset"]++
		a.id = "ast_" + strconv.Itoa(s.serial["asset"])
	}
	s.assets[a.id] = a
	s.uploads = append(s.uploads, Upload{a.id, c.ID, contentType, size, now.UTC()})
	s.mu.Unlock()
	type stored struct {
		AssetID   string    `json:"assetId"`
		ExpiresAt time.Time `json:"expiresAt"`
	}
	writeJSON(w, http.StatusOK, single[stored]{Data: stored{a.id, a.expires.UTC().Truncate(time.Second)}})
}

// measure counts the bytes of a file and detects its type from them. It returns the declared type
// only if the bytes do not show the exact type (docs/service.md#media).
func measure(file io.Reader, declared string) (contentType string, size int64, err error) {
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", 0, err
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(file, 101<<20))
	if err != nil {
		return "", 0, err
	}
	contentType, _, _ = mime.ParseMediaType(http.DetectContentType(head[:n]))
	if contentType == "application/octet-stream" || contentType == "application/zip" || contentType == "text/plain" {
		if t, _, err := mime.ParseMediaType(declared); err == nil && t != "application/octet-stream" {
			contentType = t
		}
	}
	return contentType, int64(n) + rest, nil
}
