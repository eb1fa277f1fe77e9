package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo comes from what the Go tool stamped into the binary.
type versionInfo struct {
	Version  string  `json:"version" col:"VERSION,name"`
	Commit   *string `json:"commit" col:"COMMIT"`
	Modified *bool   `json:"modified" col:"MODIFIED"`
	Go       string  `json:"go" col:"GO"`
	Platform string  `json:"platform" col:"PLATFORM"`
}

func buildVersion() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = &s.Value
		case "vcs.modified":
			v.Modified = new(s.Value == "true")
		}
	}
	return v
}

func newVersion(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs(),
		RunE:  func(*cobra.Command, []string) error { return f.print(buildVersion()) },
	}
}
