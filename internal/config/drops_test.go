package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two rules of one folder would each launch a list with their own campaign, however it is spelled.
func TestAFolderHasOneRule(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("inbox/spring", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("inbox", "link"); err != nil {
		t.Fatal(err)
	}
	type folder struct{ bucket, prefix string }
	for _, c := range []struct {
		a, b folder
		same bool
	}{
		{folder{"file:inbox", ""}, folder{"file:inbox/", ""}, true},
		{folder{"file:inbox", ""}, folder{"file:./inbox", ""}, true},
		{folder{"file:inbox", ""}, folder{"file:i%6ebox", ""}, true},
		{folder{"file:inbox", ""}, folder{"file://" + filepath.ToSlash(here) + "/inbox", ""}, true},
		{folder{"file:inbox", ""}, folder{"file:link", ""}, true},
		{folder{"file:inbox", "spring/"}, folder{"file:inbox/spring", ""}, true},
		{folder{"file:absent", ""}, folder{"file:./absent/", ""}, true},
		{folder{"file:inbox", ""}, folder{"file:inbox", "spring/"}, false},
		{folder{"file:inbox", "spring/"}, folder{"file:inbox", "autumn/"}, false},
		{folder{"file:inbox", "spring-"}, folder{"file:inbox", "autumn-"}, false},
		{folder{"s3://lists", ""}, folder{"s3://lists?region=eu-west-1", ""}, true},
		{folder{"s3://lists", "a/"}, folder{"s3://lists/", "a/"}, true},
		{folder{"s3://lists", ""}, folder{"s3://lists?endpoint=https://minio.example", ""}, false},
		{folder{"s3://lists", ""}, folder{"gs://lists", ""}, false},
	} {
		cfg := &Config{Drops: []Drop{{Bucket: c.a.bucket, Prefix: c.a.prefix, Campaign: "a"},
			{Bucket: c.b.bucket, Prefix: c.b.prefix, Campaign: "b"}}}
		err := cfg.checkDrops()
		if same := err != nil && strings.Contains(err.Error(), "drops[0] watches the same folder"); same != c.same || !same && err != nil {
			t.Errorf("%v and %v: got %v, want the same folder: %t", c.a, c.b, err, c.same)
		}
	}
}
