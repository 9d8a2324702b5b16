package launch_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/internal/safeopen"
	"campaignd/recipients"
)

// uploads counts them.
type uploads struct {
	messaging.Service
	n int
}

func (u *uploads) UploadMedia(ctx context.Context, connection, name, contentType string, r io.Reader) (messaging.Asset, error) {
	u.n++
	return u.Service.UploadMedia(ctx, connection, name, contentType, r)
}

const secretText = "root:x:0:0:hush:/root:/bin/sh"

// hostile is a folder with the campaign file a.yaml, which names the list and the header file,
// beside a file that is none of its business.
func hostile(t *testing.T, list, header string) (file string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "campaigns")
	file = filepath.Join(dir, "a.yaml")
	text := strings.Replace(springFile, "recipients: {", "recipients: {file: "+list+", ", 1)
	if header != "" {
		text = strings.Replace(text, "image: {assetId: ast_1}", "document: {file: "+header+"}", 1)
	}
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, []byte(text), 0o600),
		os.WriteFile(filepath.Join(base, "passwd"), []byte(secretText+"\n1,2\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "list.csv"), []byte(springList), 0o600),
		os.Symlink("../passwd", filepath.Join(dir, "link.txt")),
		os.Symlink("..", filepath.Join(dir, "up"))); err != nil {
		t.Fatal(err)
	}
	return file
}

// Neither by its name nor by a link does a campaign file reach a file outside its folder, and
// nothing of such a file is told.
func TestACampaignReachesNothingOutsideItsFolder(t *testing.T) {
	for _, c := range []struct{ list, header string }{
		{"../passwd", ""}, {"/etc/passwd", ""}, {"link.txt", ""}, {"up/passwd", ""},
		{"list.csv", "../passwd"}, {"list.csv", "/etc/passwd"}, {"list.csv", "link.txt"}, {"list.csv", "up/passwd"},
	} {
		s := &uploads{Service: service()}
		_, err := launch.Request{Ledger: openLedger(t), Service: s, File: hostile(t, c.list, c.header), Owner: "here"}.Start(t.Context())
		if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "the folder of") {
			t.Errorf("list %s, header %s: got %v, want that it is not in the folder", c.list, c.header, err)
		}
		if n := s.n; n != 0 {
			t.Errorf("list %s, header %s: got %d uploads, want none", c.list, c.header, n)
		}
	}
}

// A list that the operator names at the command may lie anywhere.
func TestAnOperatorsListLiesAnywhere(t *testing.T) {
	file := hostile(t, "list.csv", "")
	elsewhere := overwrite(t, filepath.Join(t.TempDir(), "list.csv"), springList)
	l := launch.Request{Ledger: openLedger(t), Service: service(), File: file, List: elsewhere, Owner: "here"}
	if _, err := l.Start(t.Context()); err != nil {
		t.Errorf("got %v, want the list", err)
	}
}

// The first line of a list is told to an operator, but not to a log.
func TestALogHasNoHeaderOfAList(t *testing.T) {
	for _, first := range []string{secretText, "hush,hush,first_name,discount",
		"phone,hush", "phone,hu\x01sh", "phone,hush\xff", "phone,mobile,hush"} {
		for _, unattended := range []bool{false, true} {
			file := hostile(t, "list.csv", "")
			overwrite(t, filepath.Join(filepath.Dir(file), "list.csv"), first+"\n+2348012345678,a,b,c\n")
			l := launch.Request{Ledger: openLedger(t), Service: service(), File: file, Owner: "here", Unattended: unattended}
			_, err := l.Start(t.Context())
			if err == nil {
				t.Errorf("%q: got no error, want one", first)
			} else if named := strings.Contains(err.Error(), "hu"); unattended && named {
				t.Errorf("%q: got %v, want no name of a column", first, err)
			}
		}
	}
}

// A link may be exchanged between the check and the import.
func TestTheImportFollowsNoLinkEither(t *testing.T) {
	path := hostile(t, "list.csv", "")
	d, _, err := file.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(filepath.Dir(path), "list.csv")
	if err := errors.Join(os.Remove(list), os.Symlink("../passwd", list)); err != nil {
		t.Fatal(err)
	}
	_, err = launch.OpenList(list, d.ListOptions(list))
	var bad *recipients.FileError
	if !errors.As(err, &bad) || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v, want a fault of the file", err)
	}
	if _, err := safeopen.Within(filepath.Dir(path), "list.csv"); !errors.Is(err, safeopen.ErrOutside) {
		t.Errorf("got %v, want %v", err, safeopen.ErrOutside)
	}
}
