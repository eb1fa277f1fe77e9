//go:build !linux || !amd64

package maintain_test

import (
	"errors"
	"os/exec"
)

const canTrace = false

func signpost() {}

func killedAtCall(*exec.Cmd, int) (calls int, last string, killed bool, err error) {
	return 0, "", false, errors.ErrUnsupported
}
