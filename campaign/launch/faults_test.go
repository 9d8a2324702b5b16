package launch_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
)

// bannerFile writes a campaign with a header file, and the header file beside it.
func bannerFile(t *testing.T, dir string) string {
	overwrite(t, filepath.Join(dir, "banner.jpg"), "\xff\xd8\xff\xe0\x00\x10JFIF")
	return overwrite(t, filepath.Join(dir, "spring.yaml"), strings.Replace(springFile, "assetId: ast_1", "file: banner.jpg", 1))
}

// whole is an error unless the import of a run has ended with all its rows.
func whole(t *testing.T, l campaign.Ledger, run campaign.Run, rows int64) error {
	l = sound(l)
	run, err := l.Run(t.Context(), run.No)
	if err != nil {
		return err
	}
	problems, _, err := l.Audit(t.Context(), run.No, 5)
	if err != nil || len(problems) > 0 || run.State != campaign.Ready || run.Rows != rows || len(lines(t, l, run.No)) != int(rows) {
		return fmt.Errorf("%s is %s with %d rows, problems %v (%v), want ready with %d and none",
			run.ID(), run.State, run.Rows, problems, err, rows)
	}
	return nil
}
