package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"campaignd/campaign/file"
	"campaignd/internal/command"
)

// startFiles are the files that `campaignd init` writes.
//
//go:embed start/*
var startFiles embed.FS

func (p *program) cmdInit() *cobra.Command {
	var from, template, language string
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a first campaign, a list and a configuration, or a campaign for your own list",
		Long: `Writes spring.yaml, list.csv and campaignd.yaml to FOLDER (default: this folder). The list has a bad row and a
duplicate, so that the first check reports both. With --from and --template it writes TEMPLATE.yaml for your own
list instead: it recognises the columns for phone, country and variables by their names, and reads what the template
needs if the service answers. Whatever it cannot find out is left open, and check asks for it. Existing files are
never overwritten: if one exists, nothing is written.`,
		Example: "  campaignd init first\n  campaignd init --from customers.csv --template spring_sale",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("`%s` takes one folder, and %d are given", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			switch {
			case from == "" && template == "" && language == "":
				return p.writeStart(folder)
			case from == "" || template == "":
				return command.Invalid(errors.New("want both --from LIST and --template NAME"))
			}
			return p.writeDraft(cmd.Context(), folder, from, file.Draft{Template: template, Language: language})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "your own list, to write a campaign for")
	cmd.Flags().StringVar(&template, "template", "", "the template of this campaign")
	cmd.Flags().StringVar(&language, "language", "", "the language of the template (default: the one that the service lists, else en_US)")
	return cmd
}

// writeStart writes all of startFiles to the folder, or none.
func (p *program) writeStart(folder string) error {
	files, err := fs.ReadDir(startFiles, "start")
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(folder, f.Name())
		switch _, err := os.Lstat(path); {
		case err == nil:
			return command.Invalid(fmt.Errorf("%s exists already, so nothing was written: name another folder", path))
		case !errors.Is(err, fs.ErrNotExist):
			return command.Invalid(err)
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		text, err := startFiles.ReadFile("start/" + f.Name())
		if err != nil {
			return err
		}
		if err := writeNew(filepath.Join(folder, f.Name()), text); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.Stdout, "%s: spring.yaml (the campaign), list.csv (the list), campaignd.yaml (the configuration)\n", folder)
	fmt.Fprintln(p.Stderr, "campaignd: next, in that folder: `campaignd check spring.yaml --recipients list.csv`; "+
		"`campaignd sandbox` plays the service")
	return nil
}

// writeNew writes a file that does not exist yet. Only its owner may read it.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
