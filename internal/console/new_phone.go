package console

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/operator"
)

// phone is the message of a row as a phone shows it.
type phone struct {
	*launch.Sample
	From   string   // the number that sends it
	Media  string   // the kind of the header's medium: image, video or document; "": there is none
	Name   string   // of the medium
	Image  string   // the address of the medium, if the page can show it
	Values []string // of the message, without the text of the template
}

// phoneOf returns the message of a sample that is sent.
func phoneOf(dr campaign.Draft, x *operator.Prepared, found *launch.Preflight, s *launch.Sample) phone {
	out := phone{Sample: s}
	if s.Message == nil {
		return out
	}
	out.From = s.Message.ConnectionID
	for _, c := range found.Connections {
		if c.ID == out.From && c.Phone != "" {
			out.From = c.Phone
		}
	}
	out.Values = s.Message.Template.Body
	header := x.File.Definition.Template.Header
	kind, m := header.Media()
	if m == nil {
		return out
	}
	out.Media = kind
	for _, name := range []string{m.Filename, base(m.File), m.Link, m.ID, m.AssetID} {
		if name != "" && name != "." {
			out.Name = name
			break
		}
	}
	if kind == "image" && m.File != "" {
		out.Image = draftPath(dr.ID) + "/header"
	}
	return out
}

// images are the kinds of a header that a page shows.
var images = map[string]bool{"image/jpeg": true, "image/png": true, "image/webp": true}

// maxImage is the largest image of a header, in bytes. The platform takes at most 5 MB.
const maxImage = 16 << 20

// headerImage answers with the image of the draft's header.
func headerImage(v *visit, _ campaign.Draft, x *operator.Prepared) (any, error) {
	none := &problem{http.StatusNotFound, "This campaign has no image that can be shown."}
	name := x.File.Definition.Template.Header.File()
	if name == "" {
		return nil, none
	}
	path := filepath.Join(filepath.Dir(x.File.Path), name)
	if info, err := os.Stat(path); err != nil || info.Size() > maxImage {
		return nil, errors.Join(none, err)
	}
	image, err := os.ReadFile(path) //nolint:gosec // Prepare has copied it there
	if err != nil {
		return nil, err
	}
	kind := http.DetectContentType(image)
	if !images[kind] {
		return nil, none
	}
	v.w.Header().Set("Content-Type", kind)
	_, _ = v.w.Write(image) // the browser has gone
	return nil, nil         //nolint:nilnil // it has answered
}
