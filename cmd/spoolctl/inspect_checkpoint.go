package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"spoolctl/inspect"
	"spoolctl/live/admin"
	"spoolctl/live/daemon"
)

// checkpoint asks the broker that runs on a spool of this machine for a
// consistent copy. It is given back when the inspection ends.
func (f *factory) checkpoint(ctx context.Context, dir string, pid int) (inspect.Checkpoint, error) {
	none := inspect.Checkpoint{}
	rec, err := daemon.ReadRecord(dir)
	if err != nil {
		return none, err
	}
	if rec.PID != pid || rec.WebPort == 0 {
		return none, fmt.Errorf("%s does not say where process %d serves its admin API", daemon.RecordName, pid)
	}
	c, err := admin.New(admin.Options{
		URL: fmt.Sprintf("http://127.0.0.1:%d", rec.WebPort), Token: f.token, Timeout: f.global.timeout,
		UserAgent: "spoolctl/" + buildVersion().Version,
	})
	if err != nil {
		return none, err
	}
	resp, err := c.Do(ctx, admin.Request{Method: "POST", Path: "/spool/v1/checkpoint"})
	if err != nil {
		return none, err
	}
	var made struct{ Name, Path string }
	if err := json.Unmarshal(resp.Body, &made); err != nil || !filepath.IsAbs(made.Path) {
		return none, errors.Join(errors.New("the broker's answer names no folder"), err)
	}
	if made.Name == "" {
		made.Name = filepath.Base(made.Path)
	}
	release := func() error {
		// The inspection may have been interrupted; the copy goes all the same.
		_, err := c.Do(context.WithoutCancel(ctx), admin.Request{Method: "DELETE", Path: "/spool/v1/checkpoint/" + url.PathEscape(made.Name)})
		if err != nil {
			return fmt.Errorf("the checkpoint %s could not be removed: %w", made.Path, err)
		}
		return nil
	}
	return inspect.Checkpoint{Path: made.Path, Release: release}, nil
}
