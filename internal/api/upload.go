package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/client"
	"campaignd/internal/uploads"
)

// maxHeader is the largest header file of the platform in bytes, a document of 100 MB.
const maxHeader = 100 << 20

// maxForm is the most bytes of a form beside its list: campaign, header, and what parts them.
const maxForm = maxHeader + file.MaxSize + 64<<10

// upload is a campaign and its list in a folder of their own.
type upload struct {
	campaign, list string // paths
	staged         string // hash of a list that arrived in parts; "": it came with the campaign
	source         []byte // of the campaign
	definition     *file.Definition
}

// receive stores the parts of a request in dir: campaign, header if the campaign names a header
// file, and list or upload, in this order. A list is written to the disk while it arrives.
func (s *Server) receive(ctx context.Context, dir string, parts *multipart.Reader) (u upload, err error) {
	root, err := os.OpenRoot(dir) // no name can lead out of the folder
	if err != nil {
		return u, err
	}
	defer root.Close() //nolint:errcheck // what was stored was closed before
	p, err := next(parts, "campaign")
	if err != nil {
		return u, err
	}
	name, err := p.store(root, "", file.MaxSize)
	if err != nil {
		return u, err
	}
	u.campaign = filepath.Join(dir, name)
	if u.definition, u.source, err = file.Load(u.campaign); err != nil {
		return u, err
	}
	header := u.definition.Template.Header.File()
	if header != "" {
		if !filepath.IsLocal(header) || filepath.Clean(header) == name {
			return u, &Error{http.StatusUnprocessableEntity, launch.RefusedCampaign,
				fmt.Sprintf("header file %q: a campaign that is launched over the API names a file in its own folder or below it", header), nil}
		}
		if err := root.MkdirAll(filepath.Dir(header), 0o700); err != nil {
			return u, err
		}
		if p, err = next(parts, "header"); err != nil {
			return u, err
		}
		if _, err := p.store(root, header, maxHeader); err != nil {
			return u, err
		}
	}
	p, err = next(parts, "list", "upload")
	if errors.As(err, new(formEnd)) && u.definition.Audience != nil {
		return u, nil // the list is made of the audience
	}
	if err != nil {
		return u, err
	}
	u.list = filepath.Join(dir, uploads.ListPrefix+uploads.Plain(p.FileName()))
	if p.FormName() == "list" {
		_, err = p.store(root, filepath.Base(u.list), s.process.Uploads.Limit)
		return u, err
	}
	hash, err := io.ReadAll(io.LimitReader(p, sha256.Size*2+1))
	if u.staged = string(hash); err != nil || !isHash(u.staged) {
		return u, refuse("the part \"upload\": want the SHA-256 of the list, in 64 lower-case hexadecimal digits" +
			"; a list that has an id has its hash after its last part")
	}
	return u, s.process.Uploads.Link(ctx, u.staged, u.list)
}

// isHash reports whether text is a SHA-256 as OfUpload has it.
func isHash(text string) bool {
	return len(text) == sha256.Size*2 && strings.Trim(text, "0123456789abcdef") == ""
}

// arrived is one part of a request.
type arrived struct{ *multipart.Part }

// formEnd is the error of a form that ends before a part.
type formEnd struct{ error }

func (e formEnd) Unwrap() error { return e.error }

// next returns the next part, which must have the name of one of the fields.
func next(parts *multipart.Reader, fields ...string) (arrived, error) {
	want := `"` + strings.Join(fields, `" or "`) + `"`
	part, err := parts.NextPart()
	switch {
	case errors.Is(err, io.EOF):
		return arrived{}, formEnd{refuse("the form ends before its part %s; the order is campaign, header, list", want)}
	case err != nil:
		return arrived{}, refuse("the part %s cannot be read: %v", want, err)
	case !slices.Contains(fields, part.FormName()):
		return arrived{}, refuse("the part %q comes where %s is wanted; the order is campaign, header, list", part.FormName(), want)
	}
	return arrived{part}, nil
}

// store writes a part to a file with the name as, or with its own plain name.
func (p arrived) store(root *os.Root, as string, most int64) (name string, err error) {
	field := p.FormName()
	if name = as; name == "" {
		name = field + "-" + uploads.Plain(p.FileName())
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", refuse("the part %q cannot be stored: %v", field, err)
	}
	n, err := io.Copy(f, io.LimitReader(p, most+1))
	if err = errors.Join(err, f.Close()); errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return "", uploads.NoSpaceLeft()
	}
	if err != nil {
		return "", refuse("the part %q was not read to its end: %v", field, err)
	}
	if n > most {
		return "", &Error{http.StatusRequestEntityTooLarge, client.CodeTooLarge,
			fmt.Sprintf("the part %q has more than %d bytes", field, most), nil}
	}
	return name, nil
}

func refuse(format string, a ...any) error {
	return &Error{http.StatusBadRequest, client.CodeInvalid, fmt.Sprintf(format, a...), nil}
}
