package load

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
)

// StockPublish publishes with the Go client of Apache Pulsar and its own defaults, which batch, and returns messages per
// second up to the last receipt.
func StockPublish(ctx context.Context, addr, topic string, ring *Ring, messages, window int) (float64, error) {
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: "pulsar://" + addr, Logger: log.NewLoggerWithSlog(slog.New(slog.DiscardHandler))})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: topic, MaxPendingMessages: window})
	if err != nil {
		return 0, err
	}
	defer producer.Close()
	var mu sync.Mutex
	var first error
	receipt := func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = err
			}
		}
	}
	start := time.Now()
	for i := range messages {
		producer.SendAsync(ctx, &pulsar.ProducerMessage{Payload: ring.Payload(i)}, receipt)
	}
	if err := producer.FlushWithCtx(ctx); err != nil {
		return 0, err
	}
	took := time.Since(start)
	mu.Lock()
	defer mu.Unlock()
	return float64(messages) / took.Seconds(), first
}
