package sandbox

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// multipartOf writes a form. Each part is a head and a content.
func multipartOf(parts ...[2]string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("--b\r\nContent-Disposition: form-data; " + p[0] + "\r\n\r\n" + p[1] + "\r\n")
	}
	return b.String() + "--b--\r\n"
}

const png = "\x89PNG\r\n\x1a\nwire"

// The form is that of docs/service.md#assumptions, the scope of a key that of
// docs/service.md#authentication, and types and sizes are those of docs/service.md#media.
func TestUploadsAreRefusedForWhatIsWrongWithThem(t *testing.T) {
	to := func(id string) [2]string { return [2]string{`name="connectionId"`, id} }
	file := func(contentType, content string) [2]string {
		return [2]string{`name="file"; filename="f"` + "\r\nContent-Type: " + contentType, content}
	}
	const form = "multipart/form-data; boundary=b"
	for name, c := range map[string]struct {
		key, contentType, body string
		status                 int
		code                   string
	}{
		"stored":             {"partner", form, multipartOf(to("conn_1"), file("image/png", png)), 200, ""},
		"file first":         {"partner", form, multipartOf(file("image/png", png), to("conn_1")), 200, ""},
		"own client":         {"one", form, multipartOf(to("conn_1"), file("image/png", png)), 200, ""},
		"another client":     {"two", form, multipartOf(to("conn_1"), file("image/png", png)), 404, "connection_not_found"},
		"unknown connection": {"partner", form, multipartOf(to("conn_x"), file("image/png", png)), 404, "connection_not_found"},
		"suspended":          {"partner", form, multipartOf(to("conn_s"), file("image/png", png)), 403, "account_deactivated"},
		"no file":            {"partner", form, multipartOf(to("conn_1")), 400, "missing_fields"},
		"no connection":      {"partner", form, multipartOf(file("image/png", png)), 400, "missing_fields"},
		"nothing":            {"partner", form, "", 400, "missing_fields"},
		"unknown part": {"partner", form, multipartOf(to("conn_1"), file("image/png", png), [2]string{`name="x"`, "1"}),
			400, "invalid_request"},
		"cut": {"partner", form, strings.TrimSuffix(multipartOf(to("conn_1"), file("image/png", png)), "\r\n--b--\r\n"),
			400, "invalid_request"},
		"no boundary": {"partner", "multipart/form-data", multipartOf(to("conn_1")), 400, "invalid_request"},
		"JSON":        {"partner", "application/json", `{"connectionId":"conn_1"}`, 400, "invalid_request"},
		"empty file":  {"partner", form, multipartOf(to("conn_1"), file("image/png", "")), 400, "media_empty"},
		"a program": {"partner", form, multipartOf(to("conn_1"), file("application/x-msdownload", "MZ\x00\x01")),
			415, "unsupported_media_type"},
		"an image too large": {"partner", form, multipartOf(to("conn_1"), file("image/png", png+strings.Repeat("x", 5<<20))),
			413, "media_too_large"},
		"the bytes say which": {"partner", form, multipartOf(to("conn_1"), file("video/mp4", png+strings.Repeat("x", 5<<20))),
			413, "media_too_large"},
		"a wrong key": {"guess", form, multipartOf(to("conn_1"), file("image/png", png)), 401, "unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoClients(t, func(o *Options) {
				o.Connections = append(o.Connections, Connection{ID: "conn_s", Phone: "+15555550800", Company: "co_s"})
				o.Companies = []Company{{ID: "co_s", Suspended: true}}
			})
			res := call(t, s, "POST", "/api/v1/media", c.key, c.body, "Content-Type", c.contentType)
			code, _ := errorOf(t, res)
			if res.StatusCode != c.status || code != c.code || res.Header.Get("x-request-id") == "" {
				t.Errorf("%s %s, want %d %s", res.Status, code, c.status, c.code)
			}
			if n := len(s.Truth().Uploads); (n == 1) != (c.status == 200) {
				t.Errorf("%d uploads in the truth, want 1 exactly after a 200", n)
			}
		})
	}
}

// The retention of a file is that of docs/service.md#media.
func TestAnUploadIsSentForThirtyDaysByItsClientOnly(t *testing.T) {
	o := Options{Statuses: StatusProfile{Off: true},
		Connections: []Connection{{ID: "conn_1", Phone: "+15555550100", Company: "co_1"}, {ID: "conn_9", Phone: "+15555550900", Company: "co_2"}}}
	bubble(t, o, func(t *testing.T, c *scene) {
		body := multipartOf([2]string{`name="connectionId"`, "conn_1"}, [2]string{`name="file"; filename="f.png"`, png})
		res := call(t, c.s, "POST", "/api/v1/media", c.key, body, "Content-Type", "multipart/form-data; boundary=b")
		var stored struct {
			Data struct {
				AssetID   string
				ExpiresAt time.Time
			}
		}
		must(t, json.NewDecoder(res.Body).Decode(&stored))
		if want := time.Now().Add(30 * 24 * time.Hour); !stored.Data.ExpiresAt.Equal(want) {
			t.Errorf("kept until %v, want %v", stored.Data.ExpiresAt, want)
		}
		send := func(connection string) int {
			res, err := c.post(t, `{"connectionId":"`+connection+`","to":"+23480312345","image":{"assetId":"`+stored.Data.AssetID+`"}}`)
			must(t, err)
			return res.StatusCode
		}
		if status := send("conn_9"); status != 404 {
			t.Errorf("another client's number: %d, want 404", status)
		}
		time.Sleep(30*24*time.Hour - time.Nanosecond)
		if status := send("conn_1"); status != 200 {
			t.Errorf("just before 30 days: %d, want 200", status)
		}
		time.Sleep(time.Nanosecond)
		if status := send("conn_1"); status != 404 {
			t.Errorf("at 30 days: %d, want 404", status)
		}
	})
}
