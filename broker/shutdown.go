package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// stage is one step of a stop.
type stage struct {
	name string
	run  func(context.Context) error
}

// Stop ends the daemon in stages, each logged with its time. When ctx ends before they
// are through, the rest is hurried; what is acknowledged is safe either way.
func (b *Broker) Stop(ctx context.Context) error {
	begin := time.Now()
	b.log.Info("stopping")
	var errs []error
	for _, s := range b.stages() {
		t := time.Now()
		err := s.run(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			b.log.Warn("stop stage failed", "stage", s.name, "took", time.Since(t).Round(time.Microsecond), "error", err)
			continue
		}
		b.log.Info("stop stage done", "stage", s.name, "took", time.Since(t).Round(time.Microsecond))
	}
	if err := errors.Join(errs...); err != nil {
		b.log.Error("stopped with errors", "took", time.Since(begin).Round(time.Millisecond), "error", err)
		return err
	}
	b.log.Info("stopped", "took", time.Since(begin).Round(time.Millisecond))
	return nil
}

func (b *Broker) stages() []stage {
	return []stage{
		{"stop accepting", func(context.Context) error {
			b.server.StopAccepting()
			return nil
		}},
		{"stop the web server", func(ctx context.Context) error {
			short, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			if err := b.web.Shutdown(short); err != nil {
				return errors.Join(err, b.web.Close())
			}
			return nil
		}},
		{"end compactions and upkeep", func(context.Context) error {
			b.registry.Rest()
			return nil
		}},
		{"finish publishes and close topics", b.registry.Close},
		{"close connections", b.server.Close},
		{"end the listeners", func(context.Context) error {
			b.serving.Wait()
			return nil
		}},
		// While the spool is still ours: afterwards the file may be another daemon's.
		{"remove " + endpointFile, func(context.Context) error {
			err := os.Remove(filepath.Join(b.cfg.Spool, endpointFile))
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}},
		{"close the spool", b.store.Close},
		{"close the object store and the database's log", func(context.Context) error { return b.closeResources() }},
	}
}

// closeResources closes what the store used.
func (b *Broker) closeResources() error {
	if b.engine != nil {
		b.engine.close()
	}
	if b.bucket != nil {
		return b.bucket.Close()
	}
	return nil
}

// abandon undoes a start that failed half-way.
func (b *Broker) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	if b.server != nil {
		errs = append(errs, b.server.Close(ctx))
	}
	if b.web != nil {
		errs = append(errs, b.web.Close())
	}
	if b.binary != nil {
		_ = b.binary.Close() // closed already when it was served
	}
	if b.http != nil {
		_ = b.http.Close()
	}
	b.serving.Wait()
	if b.registry != nil {
		errs = append(errs, b.registry.Close(ctx))
	}
	if b.store != nil {
		errs = append(errs, b.store.Close(ctx))
	}
	errs = append(errs, b.closeResources())
	return errors.Join(errs...)
}
