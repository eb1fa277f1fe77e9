package report

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine is where and when a run was made.
type Machine struct {
	Date   time.Time
	Cores  int
	Memory int64 // bytes; 0 = unknown
	Kernel string
	Go     string
}

// ThisMachine describes the machine now.
func ThisMachine() Machine {
	m := Machine{Date: time.Now(), Cores: runtime.NumCPU(), Kernel: "unknown", Go: runtime.Version()}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int64
		if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kib); err == nil {
			m.Memory = kib << 10
		}
	}
	return m
}

func (m Machine) String() string {
	memory := "unknown"
	if m.Memory > 0 {
		memory = fmt.Sprintf("%.0f GiB", float64(m.Memory)/(1<<30))
	}
	return fmt.Sprintf("%s, %d cores, %s of memory, %s %s, %s", m.Date.Format(time.DateOnly), m.Cores, memory, runtime.GOOS, m.Kernel, m.Go)
}
