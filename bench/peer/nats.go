package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// JetStream is an embedded NATS server with file storage.
type JetStream struct {
	srv *server.Server
	dir string
	URL string
}

// StartJetStream starts the server below dir. always syncs every message; otherwise the server syncs every two minutes,
// its default.
func StartJetStream(dir string, always bool) (*JetStream, error) {
	j := &JetStream{dir: filepath.Join(dir, "jetstream")}
	if err := os.RemoveAll(j.dir); err != nil {
		return nil, err
	}
	o := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: j.dir, SyncAlways: always, NoLog: true, NoSigs: true, MaxPending: 256 << 20}
	var err error
	if j.srv, err = server.NewServer(o); err != nil {
		return nil, err
	}
	j.srv.Start()
	if !j.srv.ReadyForConnections(10 * time.Second) {
		return nil, errors.New("nats-server is not ready after 10 s")
	}
	j.URL = j.srv.ClientURL()
	return j, nil
}

// Stop ends the server and removes its files.
func (j *JetStream) Stop() error {
	j.srv.Shutdown()
	j.srv.WaitForShutdown()
	return os.RemoveAll(j.dir)
}

// Publish publishes messages asynchronously with a window and waits for every acknowledgement.
func (j *JetStream) Publish(ctx context.Context, messages, window int, payload []byte) (perSecond float64, err error) {
	js, closeConn, err := j.stream(ctx, window)
	if err != nil {
		return 0, err
	}
	defer closeConn()
	start := time.Now()
	if err := publishAll(ctx, js, messages, payload); err != nil {
		return 0, err
	}
	return float64(messages) / time.Since(start).Seconds(), nil
}

func publishAll(ctx context.Context, js jetstream.JetStream, messages int, payload []byte) error {
	for range messages {
		if _, err := js.PublishAsync("bench", payload, jetstream.WithStallWait(time.Minute)); err != nil {
			return err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *JetStream) stream(ctx context.Context, window int) (jetstream.JetStream, func(), error) {
	nc, err := nats.Connect(j.URL)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(window))
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "bench", Subjects: []string{"bench"}, Storage: jetstream.FileStorage}); err != nil {
		nc.Close()
		return nil, nil, err
	}
	return js, nc.Close, nil
}

// EndToEnd publishes while consumers durable consumers receive and acknowledge each message; it returns deliveries per
// second, all consumers together.
func (j *JetStream) EndToEnd(ctx context.Context, messages, window, consumers int, payload []byte) (perSecond float64, err error) {
	js, closeConn, err := j.stream(ctx, window)
	if err != nil {
		return 0, err
	}
	defer closeConn()
	errs := make(chan error, consumers)
	for i := range consumers {
		nc, err := nats.Connect(j.URL)
		if err != nil {
			return 0, err
		}
		defer nc.Close()
		cjs, err := jetstream.New(nc)
		if err != nil {
			return 0, err
		}
		c, err := cjs.CreateOrUpdateConsumer(ctx, "bench", jetstream.ConsumerConfig{Durable: fmt.Sprint("c", i), AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: window})
		if err != nil {
			return 0, err
		}
		got := 0
		cc, err := c.Consume(func(m jetstream.Msg) {
			if err := m.Ack(); err != nil {
				errs <- err
				return
			}
			if got++; got == messages {
				errs <- nil
			}
		}, jetstream.PullMaxMessages(window))
		if err != nil {
			return 0, err
		}
		defer cc.Stop()
	}
	start := time.Now()
	if err := publishAll(ctx, js, messages, payload); err != nil {
		return 0, err
	}
	for range consumers {
		select {
		case err := <-errs:
			if err != nil {
				return 0, err
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return float64(messages*consumers) / time.Since(start).Seconds(), nil
}
