package api_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"campaignd/internal/api"
	"campaignd/internal/client"
)

func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func wantRefused(t *testing.T, what string, err error, status int, code string) {
	t.Helper()
	var told *client.Error
	if !errors.As(err, &told) || told.Status != status || told.Code != code {
		t.Errorf("%s: got %#v, want %d %s", what, err, status, code)
	}
}

// A sender that knows the hash of a list only at its end launches it as one that knew it before.
func TestAListIsUploadedBeforeItsHashIsKnown(t *testing.T) {
	f := serve(t)
	c, err := f.Client()
	if err != nil {
		t.Fatal(err)
	}
	u, err := c.BeginUpload(t.Context())
	if err != nil || u.ID == "" || u.Hash != "" || u.ExpiresAt.IsZero() {
		t.Fatalf("got %+v and %v, want an id", u, err)
	}
	id, list := u.ID, "Phone;first_name\n+2348031234567;Ada\n"+strings.Repeat("+2348031234568;Nia\n", 100_000)
	proxy := cutAfter(t, f.URL, 700_000)
	breaking, err := client.Access{URL: "http://" + proxy.Addr().String(), Key: f.Key}.Client()
	if err != nil {
		t.Fatal(err)
	}
	for u.Received < int64(len(list)) {
		_, part := breaking.UploadPart(t.Context(), id, u.Received, strings.NewReader(list[u.Received:]))
		if u, err = c.Upload(t.Context(), id); err != nil {
			t.Fatal(err, part)
		}
	}
	if proxy.cut.Load() < 2 {
		t.Errorf("got %d connections that broke, want several", proxy.cut.Load())
	}
	_, err = c.UploadPart(t.Context(), id, u.Received+1, strings.NewReader("x"))
	wantRefused(t, "a wrong offset", err, 409, client.CodeWrongOffset)
	head, err := c.ListHead(t.Context(), id)
	if err != nil || head.Dialect.Delimiter != ";" || head.Dialect.Encoding != "utf-8" || head.To != "Phone" || len(head.Rows) != 20 ||
		head.Rows[0].Line != 2 || strings.Join(head.Rows[0].Cells, " ") != "+2348031234567 Ada" {
		t.Errorf("got the head %+v and %v, want the first 20 rows", head, err)
	}
	hash := sumOf(list)
	launch := func(name string) (int, api.Error) {
		return f.post(t, "Bearer "+f.Key, "/api/v1/runs", part{"campaign", "c.yaml", campaignFile}, part{"upload", "l.csv", name})
	}
	if status, e := launch(id); status != 400 || !strings.Contains(e.Message, "has its hash after its last part") {
		t.Errorf("a launch by the id: got %d %+v, want 400 with the remedy", status, e)
	}
	for _, again := range []string{"", ", again"} {
		if u, err = c.FinishUpload(t.Context(), id, int64(len(list)), hash); err != nil || u.Hash != hash || u.Received != int64(len(list)) {
			t.Errorf("the end%s: got %+v and %v, want the hash", again, u, err)
		}
	}
	if head2, err := c.ListHead(t.Context(), hash); err != nil || head2.To != head.To {
		t.Errorf("got %+v and %v by the hash, want the same head", head2, err)
	}
	if status, e := launch(hash); status != 201 || f.launched[0][1] != list {
		t.Errorf("got %d %+v, want a launch of the list", status, e)
	}
	if left := f.left(t); len(left) > 0 {
		t.Errorf("got the uploads %v, want none", left)
	}
}

func TestAnUploadThatIsNotItsHashIsTold(t *testing.T) {
	f := serve(t)
	c, err := f.Client()
	if err != nil {
		t.Fatal(err)
	}
	u, err := c.BeginUpload(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ListHead(t.Context(), u.ID)
	wantRefused(t, "the head of nothing", err, 422, "invalid_list")
	_, err = c.FinishUpload(t.Context(), sumOf("a"), 0, sumOf("a"))
	wantRefused(t, "the end of a hash", err, 400, client.CodeInvalid)
	_, err = c.FinishUpload(t.Context(), u.ID, 0, "abc")
	wantRefused(t, "no hash", err, 400, client.CodeInvalid)
	_, err = c.FinishUpload(t.Context(), u.ID, 3, sumOf("a"))
	wantRefused(t, "an end that has not come", err, 409, client.CodeWrongOffset)
	_, err = c.FinishUpload(t.Context(), u.ID, 0, sumOf("a"))
	wantRefused(t, "another content", err, 422, client.CodeWrongHash)
	_, err = c.UploadPart(t.Context(), u.ID, 0, strings.NewReader("a"))
	wantRefused(t, "afterwards", err, 404, client.CodeNotFound)
	_, err = c.ListHead(t.Context(), u.ID)
	wantRefused(t, "its head", err, 404, client.CodeNotFound)
	if left := f.left(t); len(left) > 0 {
		t.Errorf("got the uploads %v, want none", left)
	}
}
