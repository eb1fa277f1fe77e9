package broker

import (
	"context"
	"maps"
	"slices"

	"spoolctl/broker/fault"
	"spoolctl/storage"
)

// dynamic is what was changed of the configuration while the daemon ran. It outlives the daemon, weighs more than every
// other source, and implements admin.Settings.
type dynamic struct {
	b    *Broker
	turn chan struct{} // held while settings change
}

// settingsPath is where the store keeps it.
const settingsPath = "broker"

// publicName is the name under which the API shows a setting: Pulsar's where there is one.
func (s *setting) publicName() string {
	if len(s.pulsar) > 0 {
		return s.pulsar[0]
	}
	return s.name
}

// Names lists the settings that can be changed at run time.
func (d *dynamic) Names() []string {
	var out []string
	for _, s := range settings() {
		if s.live {
			out = append(out, s.publicName())
		}
	}
	slices.Sort(out)
	return out
}

// Values gives what was changed, as it was given.
func (d *dynamic) Values() (map[string]string, error) {
	out := map[string]string{}
	_, err := d.b.store.Resource(storage.KindSettings, settingsPath, &out)
	return out, fault.Wrap(fault.Persistence, err, "reading the changed settings")
}

// Effective gives every setting with its value in effect.
func (d *dynamic) Effective() map[string]string {
	cfg := d.b.Config()
	out := map[string]string{}
	for _, s := range settings() {
		out[s.publicName()] = s.get(&cfg)
	}
	return out
}

// Set changes a setting; Precondition when it cannot be changed at run time. A value that cannot be used is kept and has no
// effect, as in Pulsar.
func (d *dynamic) Set(ctx context.Context, name, value string) error {
	return d.change(ctx, name, func(values map[string]string, key string) { values[key] = value })
}

// Reset makes a setting what the other sources say.
func (d *dynamic) Reset(ctx context.Context, name string) error {
	return d.change(ctx, name, func(values map[string]string, key string) { delete(values, key) })
}

func (d *dynamic) change(ctx context.Context, name string, change func(values map[string]string, key string)) error {
	l := loader{all: settings()}
	k := l.find(name)
	if k == nil || !k.live {
		return fault.New(fault.Precondition, "Can't update non-dynamic configuration: %s; GET /admin/v2/brokers/configuration lists what can be changed", name)
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return fault.Wrap(fault.NotReady, ctx.Err(), "waiting for another change of the settings")
	}
	old, err := d.Values()
	if err != nil {
		return err
	}
	values := maps.Clone(old)
	change(values, k.publicName())
	if err := d.b.store.PutResource(ctx, storage.KindSettings, settingsPath, values); err != nil {
		return fault.Wrap(fault.Persistence, err, "storing the setting %s", name)
	}
	cfg := d.overlay(values)
	d.b.effective.Store(&cfg)
	return d.b.registry.SetDefaults(ctx, cfg.Defaults)
}

// load applies what is stored; called before the registry is made.
func (d *dynamic) load() error {
	values, err := d.Values()
	if err != nil {
		return err
	}
	cfg := d.overlay(values)
	d.b.effective.Store(&cfg)
	return nil
}

// overlay is the configuration of the other sources with values over it.
func (d *dynamic) overlay(values map[string]string) Config {
	l := loader{cfg: d.b.cfg, all: settings(), origin: map[string]string{}}
	for _, name := range sortedKeys(values) {
		if err := l.set("run time", name, values[name]); err != nil {
			d.b.log.Warn("a setting that was changed at run time has no effect", "error", err)
		}
	}
	return l.cfg
}
