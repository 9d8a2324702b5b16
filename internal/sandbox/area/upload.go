package area

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
)

// Upload is the form of POST /media. The form is assumed (docs/service.md#assumptions).
type Upload struct {
	ConnectionID, Purpose string
	// Size is in bytes. It is -1 if the form has no file.
	Size                  int64
	filename, contentType string
}

// ReadUpload reads the form. It needs no lock, and keeps no bytes of the file.
func ReadUpload(r *http.Request) (*Upload, *Refusal) {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, RefuseRequest("The body must be multipart/form-data.")
	}
	up := &Upload{Size: -1}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return up, nil
		}
		if err != nil {
			return nil, RefuseRequest("The body could not be read: " + err.Error() + ".")
		}
		switch name := part.FormName(); name {
		case "connectionId", "purpose":
			raw, err := io.ReadAll(io.LimitReader(part, 1<<10))
			if err != nil {
				return nil, RefuseRequest(name + " could not be read: " + err.Error() + ".")
			}
			if name == "purpose" {
				up.Purpose = string(raw)
			} else {
				up.ConnectionID = string(raw)
			}
		case "file":
			if up.contentType, up.Size, err = Measure(part, part.Header.Get("Content-Type")); err != nil {
				return nil, RefuseRequest("The file could not be read: " + err.Error() + ".")
			}
			up.filename = part.FileName()
		default:
			return nil, RefuseRequest("Unknown field " + strconv.Quote(name) + ".")
		}
	}
}

// Measure counts the bytes of a file and detects its type from them. It returns the declared type
// only if the bytes do not show the exact type (docs/service.md#media).
func Measure(file io.Reader, declared string) (contentType string, size int64, err error) {
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
