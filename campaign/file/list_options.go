package file

import "campaignd/recipients"

// Options returns how the audience's list is to be read.
func (a Audience) Options() recipients.Options {
	return recipients.Options{
		Delimiter: a.Delimiter, Encoding: a.Encoding, DefaultRegion: a.DefaultRegion, Validate: a.Validate, Columns: a.Columns,
		International: a.International, Skip: a.Skip, SkipBelow: a.SkipBelow, SkipLast: a.SkipLast,
	}
}

// ListOptions returns how the list at path is to be read. The list that the campaign file names
// must lie in the folder of that file; one that the operator names may lie anywhere.
func (d *Definition) ListOptions(path string) recipients.Options {
	o := d.Recipients.Options()
	o.HideNames = d.unattended
	if d.folder != "" && path == Within(d.folder, d.Recipients.File) {
		o.Within = d.folder
	}
	return o
}

// HideNames keeps the names of the list's other columns out of messages: a log may have more
// readers than the list (launch.Request.Unattended).
func (d *Definition) HideNames(hide bool) { d.unattended = hide }
