package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"spoolctl/broker"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

const (
	// asDaemon makes the test binary be spoold, so that a test can kill it.
	asDaemon = "SPOOLD_TEST_DAEMON"
	topic    = "persistent://public/default/killed"
	patience = 30 * time.Second
)

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		os.Exit(run(context.Background(), os.Args[1:], nil, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// process starts a daemon of its own on a spool.
func process(t *testing.T, spool string) (*exec.Cmd, int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "--spool", spool, "--port", "0", "--web-port", "0", "--log-level", "error")
	cmd.Env = append(os.Environ(), asDaemon+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone already
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var e broker.Endpoint
	if err := json.Unmarshal(line, &e); err != nil {
		t.Fatal(err)
	}
	return cmd, e.Port
}

// client speaks the protocol without the retries of a real one, so that a test knows
// exactly what was answered.
type client struct {
	t      *testing.T
	nc     net.Conn
	frames *wire.FrameReader
}

func connect(t *testing.T, port int) *client {
	t.Helper()
	nc, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	c := &client{t, nc, wire.NewFrameReader(nc, 10<<20)}
	c.ask(&pb.BaseCommand{
		Type: pb.BaseCommand_CONNECT.Enum(), Connect: &pb.CommandConnect{ClientVersion: proto.String("test"), ProtocolVersion: proto.Int32(20)},
	}, pb.BaseCommand_CONNECTED)
	return c
}

// ask sends a request and wants an answer of a type.
func (c *client) ask(cmd *pb.BaseCommand, want pb.BaseCommand_Type) *pb.BaseCommand {
	c.t.Helper()
	b, err := wire.AppendCommand(nil, cmd)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatal(err)
	}
	f, err := c.frames.Next()
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := wire.ParseCommand(f.Command)
	if err != nil || got.GetType() != want {
		c.t.Fatalf("answered %v, %v; want %v", got, err, want)
	}
	return got
}

func (c *client) subscribe(name string, durable bool) {
	c.t.Helper()
	sub := &pb.CommandSubscribe{
		Topic: proto.String(topic), Subscription: &name, SubType: pb.CommandSubscribe_Shared.Enum(), Durable: &durable,
		ConsumerId: proto.Uint64(1), RequestId: proto.Uint64(1), InitialPosition: pb.CommandSubscribe_Earliest.Enum(),
	}
	c.ask(&pb.BaseCommand{Type: pb.BaseCommand_SUBSCRIBE.Enum(), Subscribe: sub}, pb.BaseCommand_SUCCESS)
	if _, err := c.nc.Write(wire.AppendFlow(nil, 1, 1<<30)); err != nil {
		c.t.Fatal(err)
	}
}

// load is what the rounds remember.
type load struct {
	mu       sync.Mutex
	next     int
	stored   map[int]bool // with a receipt
	consumed map[int]bool // acknowledged with a response
	receipts int          // of this round
	enough   chan struct{}
}

// publish sends numbers until the daemon is gone; a window of them is unanswered.
func (l *load) publish(c *client) {
	const window = 300
	slots := make(chan struct{}, window)
	first := l.next
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			f, err := c.frames.Next()
			if err != nil {
				return
			}
			t, body, err := wire.CommandType(f.Command)
			if err != nil || t != pb.BaseCommand_SEND_RECEIPT {
				c.t.Errorf("a publish was answered with %v, %v", t, err)
				return
			}
			r, err := wire.ParseSendReceipt(body)
			if err != nil {
				c.t.Errorf("receipt: %v", err)
				return
			}
			l.mu.Lock()
			l.stored[first+int(r.SequenceID)] = true
			if l.receipts++; l.receipts == 4000 {
				close(l.enough)
			}
			l.mu.Unlock()
			<-slots
		}
	}()
	for seq := uint64(0); ; seq++ {
		select {
		case slots <- struct{}{}:
		case <-gone:
			return
		}
		entry := wire.BuildEntry(&pb.MessageMetadata{
			ProducerName: proto.String("p"), SequenceId: &seq, PublishTime: proto.Uint64(uint64(time.Now().UnixMilli())),
		}, fmt.Append(nil, l.next))
		l.next++
		if _, err := c.nc.Write(wire.AppendSend(nil, wire.Send{ProducerID: 1, SequenceID: seq, NumMessages: 1}, entry)); err != nil {
			<-gone
			return
		}
	}
}

// consume acknowledges every other message, asking for a response, until the daemon is gone.
func (l *load) consume(c *client) {
	asked := make(map[uint64]int)
	for request := uint64(100); ; {
		f, err := c.frames.Next()
		if err != nil {
			return
		}
		t, body, err := wire.CommandType(f.Command)
		if err != nil {
			c.t.Errorf("consumer: %v", err)
			return
		}
		switch t {
		case pb.BaseCommand_ACK_RESPONSE:
			cmd, err := wire.ParseCommand(f.Command)
			if err != nil || cmd.GetAckResponse().Error != nil {
				c.t.Errorf("acknowledgement: %v, %v", cmd, err)
				return
			}
			l.mu.Lock()
			l.consumed[asked[cmd.GetAckResponse().GetRequestId()]] = true
			l.mu.Unlock()
		case pb.BaseCommand_MESSAGE:
			m, err := wire.ParseMessage(body)
			i, err2 := number(f.Payload)
			if err != nil || err2 != nil {
				c.t.Errorf("message: %v, %v", err, err2)
				return
			}
			l.mu.Lock()
			if l.consumed[i] {
				c.t.Errorf("message %d came again after its acknowledgement was answered", i)
			}
			l.mu.Unlock()
			if i%2 == 0 {
				continue
			}
			request++
			asked[request] = i
			if _, err := c.nc.Write(wire.AppendAck(nil, &wire.Ack{
				ConsumerID: 1, IDs: []wire.AckID{{Position: m.Position, Partition: -1, Batch: -1}},
				RequestID: request, HasRequestID: true, ValidationError: -1,
			})); err != nil {
				return
			}
		}
	}
}

// number reads what a message holds.
func number(entry []byte) (int, error) {
	parts, err := wire.SplitEntry(entry)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(parts.Payload))
}

// After kill -9 under load every message with a receipt is there once and in order, and
// what was acknowledged with a response does not come again.
func TestKillUnderLoad(t *testing.T) {
	spool := t.TempDir()
	l := &load{stored: make(map[int]bool), consumed: make(map[int]bool)}
	for range 4 {
		cmd, port := process(t, spool)
		l.receipts, l.enough = 0, make(chan struct{})
		consumer, producer := connect(t, port), connect(t, port)
		consumer.subscribe("sub", true)
		producer.ask(&pb.BaseCommand{Type: pb.BaseCommand_PRODUCER.Enum(), Producer: &pb.CommandProducer{
			Topic: proto.String(topic), ProducerId: proto.Uint64(1), RequestId: proto.Uint64(1),
		}}, pb.BaseCommand_PRODUCER_SUCCESS)
		var work sync.WaitGroup
		work.Go(func() { l.consume(consumer) })
		work.Go(func() { l.publish(producer) })
		select {
		case <-l.enough:
		case <-time.After(patience):
			t.Error("too few receipts")
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed, as it should be
		work.Wait()
	}
	if len(l.consumed) == 0 {
		t.Error("nothing was acknowledged")
	}
	l.verify(t, spool)
}

// verify reads the whole topic and compares it with the receipts.
func (l *load) verify(t *testing.T, spool string) {
	t.Helper()
	_, port := process(t, spool)
	c := connect(t, port)
	c.subscribe("all", false)
	last, found := -1, 0
	for found < len(l.stored) {
		f, err := c.frames.Next()
		if err != nil {
			t.Fatalf("%d of %d messages with a receipt are there: %v", found, len(l.stored), err)
		}
		if f.Payload == nil {
			continue
		}
		i, err := number(f.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if i <= last {
			t.Fatalf("message %d after %d", i, last)
		}
		last = i
		if l.stored[i] {
			found++
		}
	}
}
