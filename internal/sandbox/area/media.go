package area

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// assetLife is how long the service keeps a stored file (docs/service.md#media). A header handle is
// kept as long.
const assetLife = 30 * 24 * time.Hour

// defaultStorage is the storage of a plan without World.Storage.
const defaultStorage = 1 << 30

// stored is a stored file, or a header handle. Its bytes are not kept.
type stored struct {
	id, company string
	connection  string // the only one that can send it; "": each of the company
	filename    string
	contentType string
	size        int64
	created     time.Time
}

// media are the files of all clients, the oldest first.
type media struct {
	assets  []*stored
	handles []*stored
	byID    map[string]*stored // assets and handles
	made    uint64             // number of handles so far
	taken   map[string]*taken  // by the company of planOf
}

// taken is what the assets of a plan take.
type taken struct {
	bytes int64
	files int
}

// count adds an asset to what its plan has taken, or with -1 removes it.
func (a *Areas) count(x *stored, sign int) {
	plan := a.planOf(x.company)
	if a.media.taken[plan] == nil {
		a.media.taken[plan] = &taken{}
	}
	a.media.taken[plan].bytes += int64(sign) * x.size
	a.media.taken[plan].files += sign
}

// fillMedia stores the files of the scenario.
func (a *Areas) fillMedia() {
	a.media.byID, a.media.taken = map[string]*stored{}, map[string]*taken{}
	for _, f := range a.Assets {
		f.Company = cmp.Or(f.Company, "co_1")
		f.Filename = cmp.Or(f.Filename, f.ID)
		x := &stored{id: f.ID, company: f.Company, filename: f.Filename, contentType: f.ContentType, size: f.Size, created: a.Began.Add(-f.Age)}
		a.media.assets = append(a.media.assets, x)
		a.media.byID[x.id] = x
		a.count(x, 1)
	}
	slices.SortStableFunc(a.media.assets, func(x, y *stored) int { return x.created.Compare(y.created) })
}

// expire removes the files and handles that are 30 days old.
func (a *Areas) expire(now time.Time) {
	for _, kept := range []*[]*stored{&a.media.assets, &a.media.handles} {
		n := 0
		for n < len(*kept) && now.Sub((*kept)[n].created) >= assetLife {
			delete(a.media.byID, (*kept)[n].id)
			if kept == &a.media.assets {
				a.count((*kept)[n], -1)
			}
			n++
		}
		*kept = slices.Delete(*kept, 0, n)
	}
}

// Stored returns the content type of a file. ok is false if the connection cannot send it now.
func (a *Areas) Stored(id string, c *Connection, now time.Time) (contentType string, ok bool) {
	x := a.media.byID[id]
	if x == nil || x.company != c.Company || x.connection != "" && x.connection != c.ID ||
		now.Sub(x.created) >= assetLife || strings.HasPrefix(id, handlePrefix) {
		return "", false
	}
	return x.contentType, true
}

// handlePrefix begins a header handle.
const handlePrefix = "4::"

// hasHandle reports whether a handle is of this client and of a file for this format of a header.
func (a *Areas) hasHandle(handle, format, company string, now time.Time) bool {
	x := a.media.byID[handle]
	return x != nil && strings.HasPrefix(handle, handlePrefix) && (x.company == company || x.company == "") &&
		now.Sub(x.created) < assetLife && headerFormat(x.contentType) == format
}

// headerFormat is the format of a template header that a type fits, or "".
func headerFormat(contentType string) string {
	switch kind, _, _ := strings.Cut(contentType, "/"); {
	case contentType == "image/jpeg", contentType == "image/png":
		return "IMAGE"
	case kind == "video":
		return "VIDEO"
	case kind == "application", kind == "text":
		return "DOCUMENT"
	}
	return ""
}

// Fits reports whether a stored file can be sent in a field of a message. A document takes every
// type, and a file of the scenario without a type fits every field.
func Fits(contentType, field string) bool {
	kind, _, _ := strings.Cut(contentType, "/")
	switch {
	case contentType == "", field == "document":
		return true
	case field == "sticker":
		return contentType == "image/webp"
	case field == "image":
		return kind == "image" && contentType != "image/webp"
	}
	return kind == field
}

// MediaLimit is the largest size of a file of this type, in bytes (docs/service.md#media). It is 0
// for a type that is refused.
func MediaLimit(contentType string) int64 {
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

func (a *Areas) mediaHandlers() map[string]Handler {
	return map[string]Handler{
		"media": a.upload, "media_list": a.listMedia, "media_delete": a.deleteMedia, "media_storage": a.showStorage,
	}
}

// file is a stored file as the service shows it.
type file struct {
	AssetID     string     `json:"assetId"`
	Filename    string     `json:"filename"`
	ContentType string     `json:"contentType"`
	Size        int64      `json:"size"`
	ExpiresAt   time.Time  `json:"expiresAt"`
	CreatedAt   *time.Time `json:"createdAt,omitempty"`
}

func (x *stored) expires() time.Time { return x.created.Add(assetLife).UTC().Truncate(time.Second) }

func (a *Areas) upload(c *Call) (any, *Refusal) {
	a.expire(c.Now)
	up := c.Upload
	company := c.Connection.Company
	most := MediaLimit(up.contentType)
	if up.Purpose == "template_header" && headerFormat(up.contentType) == "" {
		most = 0
	}
	switch {
	case up.Size < 0:
		return nil, missing("connectionId and file are required.")
	case up.Purpose != "" && up.Purpose != "message" && up.Purpose != "template_header":
		return nil, invalid(fmt.Sprintf("purpose %q is not message or template_header.", up.Purpose))
	case up.Size == 0:
		return nil, &Refusal{400, "media_empty", "The file is empty.", nil}
	case most == 0:
		return nil, &Refusal{415, "unsupported_media_type", "Files of type " + up.contentType + " are not taken.", nil}
	case up.Size > most:
		return nil, &Refusal{413, "media_too_large", fmt.Sprintf("A file of type %s has at most %d bytes.", up.contentType, most), nil}
	}
	x := &stored{company: company, filename: up.filename, contentType: up.contentType, size: up.Size, created: c.Now}
	if up.Purpose == "template_header" {
		a.keepHandle(x)
		return struct {
			Handle    string    `json:"header_handle"`
			ExpiresAt time.Time `json:"expiresAt"`
		}{x.id, x.expires()}, nil
	}
	if used, limit, _ := a.storage(company); used+up.Size > limit {
		return nil, &Refusal{402, "plan_limit_storage", fmt.Sprintf("%d of %d bytes are used.", used, limit), nil}
	}
	id := a.serial("ast", func(id string) bool { return a.media.byID[id] != nil })
	a.KeepFile(id, x.filename, c.Connection, false, x.contentType, x.size, c.Now)
	x = a.media.byID[id]
	return file{x.id, x.filename, x.contentType, x.size, x.expires(), nil}, nil
}

func (a *Areas) keepHandle(x *stored) {
	a.media.made++
	x.id = handlePrefix + a.Token(a.media.made)
	a.media.handles = append(a.media.handles, x)
	a.media.byID[x.id] = x
}

// KeepHandle stores the file of a header that was uploaded to an app, for templates of every
// account. The handle is "" if the platform takes no such file.
func (a *Areas) KeepHandle(contentType string, size int64, now time.Time) string {
	a.expire(now)
	if headerFormat(contentType) == "" || size < 1 || size > MediaLimit(contentType) {
		return ""
	}
	x := &stored{contentType: contentType, size: size, created: now}
	a.keepHandle(x)
	return x.id
}

// KeepFile stores a file that was uploaded over a connection. own means that no other connection
// can send it. It checks nothing.
func (a *Areas) KeepFile(id, filename string, c *Connection, own bool, contentType string, size int64, now time.Time) {
	x := &stored{id: id, company: c.Company, filename: filename, contentType: contentType, size: size, created: now}
	if own {
		x.connection = c.ID
	}
	a.media.assets = append(a.media.assets, x)
	a.media.byID[id] = x
	a.count(x, 1)
	a.Uploads = append(a.Uploads, Uploaded{id, c.ID, contentType, size, now.UTC()})
}

// Uploaded is a file that a client stored with POST /api/v1/media.
type Uploaded struct {
	AssetID     string    `json:"assetId"`
	Connection  string    `json:"connection"`
	ContentType string    `json:"contentType"`
	Bytes       int64     `json:"bytes"`
	At          time.Time `json:"at"`
}

func (a *Areas) listMedia(c *Call) (any, *Refusal) {
	a.expire(c.Now)
	company, rows := c.wanted(), []file{}
	for _, x := range a.media.assets {
		if company == "" || x.company == company {
			created := x.created.UTC().Truncate(time.Second)
			rows = append(rows, file{x.id, x.filename, x.contentType, x.size, x.expires(), &created})
		}
	}
	return list(rows), nil
}

func (a *Areas) deleteMedia(c *Call) (any, *Refusal) {
	a.expire(c.Now)
	i := slices.IndexFunc(a.media.assets, func(x *stored) bool { return x.id == c.ID && c.Key.Covers(x.company) })
	if i < 0 {
		return nil, notFound("file")
	}
	if ref := a.writable(a.media.assets[i].company); ref != nil {
		return nil, ref
	}
	delete(a.media.byID, c.ID)
	a.count(a.media.assets[i], -1)
	a.media.assets = slices.Delete(a.media.assets, i, i+1)
	return nil, nil
}

func (a *Areas) showStorage(c *Call) (any, *Refusal) {
	a.expire(c.Now)
	used, limit, files := a.storage(c.wanted())
	return struct {
		UsedBytes  int64 `json:"usedBytes"`
		LimitBytes int64 `json:"limitBytes"`
		Files      int   `json:"files"`
	}{used, limit, files}, nil
}

// storage returns the figures of the plan of a company. The companies without a plan of their own
// share the plan of the account, and so does "".
func (a *Areas) storage(company string) (used, limit int64, files int) {
	if t := a.media.taken[a.planOf(company)]; t != nil {
		used, files = t.bytes, t.files
	}
	if limit = a.Storage; limit == 0 {
		limit = defaultStorage
	}
	return used, limit, files
}

// planOf is the company whose plan covers a company, or "" for the plan of the account.
func (a *Areas) planOf(company string) string {
	if c := a.companies[company]; c != nil && c.Allowance > 0 {
		return company
	}
	return ""
}
