package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newDocs makes the hidden command that writes the Markdown reference of every command.
func newDocs(f *factory) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "docs --dir DIR",
		Short:  "Write the command reference as Markdown",
		Hidden: true,
		Args:   noArgs(),
		RunE:   func(cmd *cobra.Command, _ []string) error { return writeDocs(cmd.Root(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "docs/cli", "where the pages go; what is there is replaced")
	return cmd
}

// writeDocs writes one page for each command and removes pages of commands that are gone.
func writeDocs(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	root.DisableAutoGenTag = true
	pages := map[string][]byte{}
	if err := collectDocs(root, pages); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "spoolctl*.md"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, kept := pages[filepath.Base(path)]; !kept {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for name, text := range pages {
		if err := renameio.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func collectDocs(cmd *cobra.Command, pages map[string][]byte) error {
	if cmd.Hidden || cmd.IsAdditionalHelpTopicCommand() {
		return nil
	}
	var b bytes.Buffer
	if err := doc.GenMarkdown(cmd, &b); err != nil {
		return err
	}
	pages[strings.ReplaceAll(cmd.CommandPath(), " ", "_")+".md"] = b.Bytes()
	for _, c := range cmd.Commands() {
		if err := collectDocs(c, pages); err != nil {
			return err
		}
	}
	return nil
}
