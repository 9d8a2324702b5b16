package api

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"campaignd/campaign"
)

// The limits of an upload in bytes. The largest header file of the platform is a document of 100
// MB.
const (
	maxHeader = 100 << 20
	maxList   = 8 << 30
)

// upload is a campaign and its list in a folder of their own.
type upload struct {
	campaign, list string // paths
	source         []byte // of the campaign
	definition     *campaign.Definition
}

// receive stores the parts of a request in dir: campaign, header if the campaign names a header
// file, and list, in this order. A list of any size goes straight to the disk.
func receive(dir string, parts *multipart.Reader) (u upload, err error) {
	root, err := os.OpenRoot(dir) // no name leads out of it
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name, err := u.part(root, parts, "campaign", "", campaign.MaxFile)
	if err != nil {
		return u, err
	}
	u.campaign = filepath.Join(dir, name)
	if u.definition, u.source, err = campaign.LoadDefinition(u.campaign); err != nil {
		return u, err
	}
	header := u.definition.Template.Header.File()
	if header != "" {
		if !filepath.IsLocal(header) || filepath.Clean(header) == name {
			return u, &Error{http.StatusUnprocessableEntity, campaign.RefusedCampaign,
				fmt.Sprintf("header file %q: a campaign that is launched over the API names a file in its own folder or below it", header), nil}
		}
		if err := root.MkdirAll(filepath.Dir(header), 0o700); err != nil {
			return u, err
		}
		if _, err := u.part(root, parts, "header", header, maxHeader); err != nil {
			return u, err
		}
	}
	if name, err = u.part(root, parts, "list", "", maxList); err != nil {
		return u, err
	}
	u.list = filepath.Join(dir, name)
	return u, nil
}

// part stores the next part, which must have the name field, under as, or under its own plain name.
func (u *upload) part(root *os.Root, parts *multipart.Reader, field, as string, most int64) (name string, err error) {
	part, err := parts.NextPart()
	if err != nil {
		return "", refuse("the part %q is missing: %v", field, err)
	}
	if part.FormName() != field {
		return "", refuse("the part %q comes where %q is wanted; the order is campaign, header, list", part.FormName(), field)
	}
	if name = as; name == "" {
		name = field + "-" + plainName(part.FileName())
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", refuse("the part %q cannot be stored: %v", field, err)
	}
	n, err := io.Copy(f, io.LimitReader(part, most+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", refuse("the part %q was not read to its end: %v", field, err)
	}
	if n > most {
		return "", &Error{http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("the part %q has more than %d bytes", field, most), nil}
	}
	return name, nil
}

func refuse(format string, a ...any) error {
	return &Error{http.StatusBadRequest, codeInvalid, fmt.Sprintf(format, a...), nil}
}

// plainName keeps of a file's name what is a plain name on every system, its last 80 characters.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, name)
	return name[max(0, len(name)-80):]
}

// ended returns the folders of the uploads that are not under way. The caller has the lock.
func (s *Server) ended() (dirs []string, err error) {
	entries, err := os.ReadDir(s.o.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if dir := filepath.Join(s.o.Dir, e.Name()); e.IsDir() && strings.HasPrefix(e.Name(), uploadPrefix) && !s.busy[dir] {
			dirs = append(dirs, dir)
		}
	}
	return dirs, err
}

// sweep removes the uploads of which no unfinished run has its list.
func sweep(dirs []string, unfinished []campaign.Run) error {
	var errs []error
	for _, dir := range dirs {
		if !slices.ContainsFunc(unfinished, func(r campaign.Run) bool { return filepath.Dir(r.ListName) == dir }) {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// uploadPrefix begins the name of each upload's folder.
const uploadPrefix = "upload-"
