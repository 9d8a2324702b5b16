package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"campaignd/internal/safeopen"
)

// mediaFormat is what the platform accepts as a header of one kind (docs/service.md#media).
type mediaFormat struct {
	most  int64               // bytes
	types map[string][]string // content type -> extensions
}

// mediaFormats is the format of a kind of header: image, video or document.
func mediaFormats(kind string) mediaFormat {
	switch kind {
	case "image":
		return mediaFormat{5 << 20, map[string][]string{"image/jpeg": {".jpg", ".jpeg"}, "image/png": {".png"}}}
	case "video":
		return mediaFormat{16 << 20, map[string][]string{"video/mp4": {".mp4"}, "video/3gpp": {".3gp", ".3gpp"}}}
	}
	return mediaFormat{100 << 20, map[string][]string{
		"text/plain": {".txt"}, "application/pdf": {".pdf"},
		"application/msword":            {".doc"},
		"application/vnd.ms-excel":      {".xls"},
		"application/vnd.ms-powerpoint": {".ppt"},
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   {".docx"},
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         {".xlsx"},
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": {".pptx"},
	}}
}

// CheckMedia checks a file for a header of kind image, video or document, which lies in the folder
// of its campaign file or below it, and returns its content type. It looks at the bytes: most
// refusals of media by the platform (131053) concern a file whose content is not what its name
// says.
func CheckMedia(kind, folder, file string) (contentType string, err error) {
	f, contentType, err := OpenMedia(kind, folder, file)
	if err != nil {
		return "", err
	}
	return contentType, f.Close()
}

// OpenMedia opens a file that CheckMedia accepts, at its beginning. The caller closes it.
func OpenMedia(kind, folder, file string) (f *os.File, contentType string, err error) {
	path := Within(folder, file)
	f, err = safeopen.Within(folder, file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, "", fmt.Errorf("%s: there is no such file; header files are relative to the file that names them", path)
	case errors.Is(err, safeopen.ErrNotRegular):
		return nil, "", fmt.Errorf("%s: is not a file", path)
	case errors.Is(err, safeopen.ErrOutside):
		return nil, "", fmt.Errorf("%s: is not in the folder of the campaign file or below it; copy it there", path)
	case err != nil:
		return nil, "", err
	}
	if contentType, err = checkMedia(f, kind, path); err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	return f, contentType, nil
}

func checkMedia(f *os.File, kind, path string) (contentType string, err error) {
	st, err := f.Stat()
	switch most := mediaFormats(kind).most; {
	case err != nil:
		return "", err
	case st.Size() == 0:
		return "", fmt.Errorf("%s: is empty", path)
	case st.Size() > most:
		return "", fmt.Errorf("%s: has %.1f MB; the platform takes at most %d MB of a header of type %s",
			path, float64(st.Size())/(1<<20), most>>20, kind)
	}
	return mediaTypeOf(f, kind, path)
}

// mediaTypeOf is the content type by the first bytes of f, if a header of that kind may have it and
// the name agrees.
func mediaTypeOf(f io.ReaderAt, kind, path string) (string, error) {
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	extension := strings.ToLower(filepath.Ext(path))
	found, types := contentTypeOf(head[:n], extension), mediaFormats(kind).types
	extensions, taken := types[found]
	if !taken {
		var want []string
		for _, e := range types {
			want = append(want, e[0])
		}
		return "", fmt.Errorf("%s: its content is %s; a header of type %s takes %s",
			path, found, kind, strings.Join(slices.Sorted(slices.Values(want)), ", "))
	}
	if !slices.Contains(extensions, extension) {
		return "", fmt.Errorf("%s: its content is %s, but its name does not end in %s; "+
			"the platform refuses a file whose name and content differ (131053)", path, found, extensions[0])
	}
	return found, nil
}

// contentTypeOf detects the type by the first bytes. An office file is one of two kinds of archive;
// its extension then selects among the types that such an archive can be.
func contentTypeOf(head []byte, extension string) string {
	office := map[string]string{}
	switch {
	case len(head) > 11 && string(head[4:8]) == "ftyp" && bytes.HasPrefix(head[8:], []byte("3g")):
		return "video/3gpp"
	case len(head) > 11 && string(head[4:8]) == "ftyp":
		return "video/mp4"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		office = map[string]string{
			".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
			".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
		}
	case bytes.HasPrefix(head, []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")):
		office = map[string]string{".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint"}
	}
	if t := office[extension]; t != "" {
		return t
	}
	t, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return t
}

// DetectMedia checks a file as the header of any kind that takes it, and returns its content type.
func DetectMedia(folder, file string) (contentType string, err error) {
	for _, kind := range []string{"image", "video", "document"} {
		if contentType, err = CheckMedia(kind, folder, file); err == nil {
			return contentType, nil
		}
	}
	return "", err
}
