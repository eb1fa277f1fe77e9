package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"spoolctl/bench/load"
)

const (
	redisProgram  = "redis-server"
	redisPipeline = 1024 // commands without an answer, at most: two halves in turn
)

// Redis is a redis-server that syncs every write before it answers.
type Redis struct {
	addr, dir string
	p         *process
}

// StartRedis starts the server with its files below dir. The error wraps ErrMissing when it is not installed.
func StartRedis(ctx context.Context, dir, log string, limits Limits) (*Redis, error) {
	if _, err := exec.LookPath(redisProgram); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	r := &Redis{dir: filepath.Join(dir, "redis")}
	if err := errors.Join(os.RemoveAll(r.dir), os.MkdirAll(r.dir, 0o755)); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r.addr = "127.0.0.1:" + port
	if r.p, err = start(ctx, log, limits, redisProgram, "--bind", "127.0.0.1", "--port", port, "--dir", r.dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always"); err != nil {
		return nil, err
	}
	for {
		if nc, err := net.Dial("tcp", r.addr); err == nil {
			return r, nc.Close()
		}
		if r.p.ended() || ctx.Err() != nil || time.Since(r.p.begun) > startLimit {
			return nil, errors.Join(fmt.Errorf("%s did not get ready; its log is %s", redisProgram, log), r.Stop())
		}
		time.Sleep(startPoll)
	}
}

// Stop ends the server and removes its files.
func (r *Redis) Stop() error {
	_, err := r.p.stop(syscall.SIGTERM)
	return errors.Join(err, os.RemoveAll(r.dir))
}

// Publish adds messages to a stream, pipelined, and returns messages per second.
func (r *Redis) Publish(ctx context.Context, ring *load.Ring, messages int) (float64, error) {
	nc, done, err := dial(ctx, r.addr)
	if err != nil {
		return 0, err
	}
	defer done()
	in := bufio.NewReaderSize(nc, 64<<10)
	var out []byte
	start := time.Now()
	for sent, got := 0, 0; got < messages; {
		out = out[:0]
		for n := 0; n < redisPipeline/2 && sent < messages; n++ {
			p := ring.Payload(sent)
			out = append(out, "*5\r\n$4\r\nXADD\r\n$5\r\nbench\r\n$1\r\n*\r\n$1\r\nv\r\n$"...)
			out = append(strconv.AppendInt(out, int64(len(p)), 10), "\r\n"...)
			out = append(append(out, p...), "\r\n"...)
			sent++
		}
		if _, err := nc.Write(out); err != nil {
			return 0, err
		}
		for sent-got > redisPipeline/2 || sent == messages && got < messages {
			if err := bulkAnswer(in); err != nil {
				return 0, err
			}
			got++
		}
	}
	return float64(messages) / time.Since(start).Seconds(), nil
}

// bulkAnswer reads one answer, which must be a string: $LENGTH, line, line.
func bulkAnswer(in *bufio.Reader) error {
	head, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	if head[0] != '$' {
		return fmt.Errorf("redis: %q", head)
	}
	n, err := strconv.Atoi(head[1 : len(head)-2])
	if err != nil || n < 0 {
		return fmt.Errorf("redis: %q", head)
	}
	_, err = io.CopyN(io.Discard, in, int64(n)+2)
	return err
}
