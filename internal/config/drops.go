package config

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"campaignd/internal/drops"
)

// checkDrops returns the first fault of drops.
func (c *Config) checkDrops() error {
	seen := map[string]int{}
	for i, r := range c.Drops {
		key := fmt.Sprintf("drops[%d]", i)
		_, err := r.Open()
		folder := r.folder()
		before, twice := seen[folder]
		switch {
		case err != nil:
			return fmt.Errorf("%s.bucket: %w", key, err)
		case r.Prefix != "" && (strings.HasPrefix(r.Prefix, "/") || path.Clean("/"+r.Prefix) != strings.TrimSuffix("/"+r.Prefix, "/")):
			return fmt.Errorf("%s.prefix: %q is not the begin of a name; give for example spring/", key, r.Prefix)
		case r.Campaign == "":
			return fmt.Errorf("%s.campaign: name the campaign that a list starts", key)
		case twice:
			return fmt.Errorf("%s: drops[%d] watches the same folder, and both would take each list; give both patterns in one", key, before)
		}
		seen[folder] = i
		for j, p := range r.Patterns {
			if _, err := path.Match(p, ""); err != nil || p == "" || strings.Contains(p, "/") {
				return fmt.Errorf("%s.patterns[%d]: %q is not a pattern of a name; give for example *.csv", key, j, p)
			}
		}
	}
	return nil
}

// folder is the folder of a rule, the same for every spelling of it: the ledger knows a list by the
// bucket as it is written, so two rules of one folder would both launch the list.
func (r *Drop) folder() string {
	u, err := url.Parse(r.Bucket)
	if err != nil {
		return r.Bucket // Open refuses it
	}
	if u.Scheme != "file" {
		return u.Scheme + "://" + u.Host + " " + u.Query().Get("endpoint") + "/" + r.Prefix
	}
	dir, err := filepath.Abs(localPath(u))
	if err != nil {
		dir = localPath(u)
	}
	dir = filepath.Join(dir, filepath.FromSlash(path.Dir(r.Prefix+"x")))
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	return dir + "/" + path.Base(r.Prefix+"x")
}

// localPath is the folder that a file URL names.
func localPath(u *url.URL) string {
	dir := u.Path
	if opaque, err := url.PathUnescape(u.Opaque); err == nil && u.Opaque != "" {
		dir = opaque
	}
	return filepath.FromSlash(dir)
}

// Open opens the bucket of a rule, and makes no request.
func (r *Drop) Open() (drops.Bucket, error) {
	u, err := url.Parse(r.Bucket)
	switch {
	case err == nil && (u.Scheme == "s3" || u.Scheme == "gs"):
		b, err := drops.OpenS3(u)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", RedactURL(r.Bucket), err)
		}
		return b, nil
	case err != nil || u.Scheme != "file" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" || u.Path == "" && u.Opaque == "":
		return nil, fmt.Errorf("%q cannot be watched; give file:///FOLDER, file:FOLDER, s3://BUCKET or gs://BUCKET", RedactURL(r.Bucket))
	}
	if _, err := url.PathUnescape(u.Opaque); err != nil {
		return nil, fmt.Errorf("%q: %w", r.Bucket, err)
	}
	return drops.OpenFolder(localPath(u)), nil
}
