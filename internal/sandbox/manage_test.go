package sandbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// upload stores a file of n bytes over a connection and returns the answer.
func upload(t *testing.T, s *Sandbox, key, conn, purpose string, n int) (code, id, handle string) {
	t.Helper()
	body := multipartOf([2]string{`name="connectionId"`, conn}, [2]string{`name="purpose"`, purpose},
		[2]string{`name="file"; filename="f.png"`, png + strings.Repeat("x", n-len(png))})
	res := call(t, s, "POST", "/api/v1/media", key, body, "Content-Type", "multipart/form-data; boundary=b")
	var in struct {
		Error string
		Data  struct {
			AssetID string
			Handle  string `json:"header_handle"`
		}
	}
	must(t, json.NewDecoder(res.Body).Decode(&in))
	return in.Error, in.Data.AssetID, in.Data.Handle
}

func usedStorage(t *testing.T, s *Sandbox, key string) (used int64, files int) {
	t.Helper()
	var in struct {
		Data struct {
			UsedBytes int64
			Files     int
		}
	}
	must(t, json.NewDecoder(call(t, s, "GET", "/api/v1/media/storage", key, "").Body).Decode(&in))
	return in.Data.UsedBytes, in.Data.Files
}

func TestDeletedAndExpiredFilesGiveStorageBack(t *testing.T) {
	bubble(t, Options{Storage: 250, Assets: []Asset{}}, func(t *testing.T, c *scene) {
		_, first, _ := upload(t, c.s, c.key, "conn_1", "message", 100)
		time.Sleep(24 * time.Hour)
		upload(t, c.s, c.key, "conn_1", "", 100)
		if code, _, _ := upload(t, c.s, c.key, "conn_1", "", 100); code != "plan_limit_storage" {
			t.Errorf("a third file: got %q, want plan_limit_storage", code)
		}
		if code, _, handle := upload(t, c.s, c.key, "conn_1", "template_header", 100); handle == "" {
			t.Errorf("a header handle: got %q, want a handle, which takes no storage", code)
		}
		if code, _, _ := upload(t, c.s, c.key, "conn_1", "else", 100); code != "invalid_field" {
			t.Errorf("purpose else: got %q, want invalid_field", code)
		}
		c.want(t, "DELETE", "/media/"+first, "", 204, "")
		c.want(t, "DELETE", "/media/"+first, "", 404, "not_found")
		if used, files := usedStorage(t, c.s, c.key); used != 100 || files != 1 {
			t.Errorf("after a deletion: got %d bytes in %d files, want 100 in 1", used, files)
		}
		time.Sleep(30*24*time.Hour - time.Second)
		if used, _ := usedStorage(t, c.s, c.key); used != 100 {
			t.Errorf("a second before 30 days: got %d bytes, want 100", used)
		}
		time.Sleep(time.Second)
		if used, files := usedStorage(t, c.s, c.key); used != 0 || files != 0 {
			t.Errorf("after 30 days: got %d bytes in %d files, want none", used, files)
		}
	})
}

func TestAHeaderHandleIsItsClients(t *testing.T) {
	s := twoClients(t)
	_, _, handle := upload(t, s, "partner", "conn_1", "template_header", 100)
	for conn, want := range map[string]string{"conn_1": "PENDING", "conn_9": "invalid_template"} {
		c := &scene{s: s, key: "partner"}
		body := strings.Replace(creation("banner", fineBody[:len(fineBody)-1]+
			`,{"type":"HEADER","format":"IMAGE","example":{"header_handle":["`+handle+`"]}}]`), "conn_1", conn, 1)
		if _, what, code, _ := c.managed(t, "POST", "/templates", body); what != want {
			t.Errorf("over %s: got %s %d, want %s", conn, what, code, want)
		}
	}
}

func TestAClientHas250TemplatesOr6000(t *testing.T) {
	s := twoClients(t, func(o *Options) {
		o.Companies = append(o.Companies, Company{ID: "co_1", Verified: new(bool)})
		o.Templates = []Template{{Name: "one", Language: "en_US", Components: []Component{{Type: "BODY", Text: "News."}}}}
	})
	c := &scene{s: s, key: "partner"}
	for n := range 249 {
		c.want(t, "POST", "/templates", creation(fmt.Sprint("t", n), fineBody), 200, "PENDING")
	}
	if _, what, code, _ := c.managed(t, "POST", "/templates", creation("more", fineBody)); what != "invalid_template" || code != 2388019 {
		t.Errorf("the 251st template: got %s %d, want invalid_template 2388019", what, code)
	}
}
