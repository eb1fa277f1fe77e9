package broker

import (
	"net"
	"net/http"
	"strconv"

	"spoolctl/broker/admin"
	"spoolctl/broker/export"
)

// handler is what the web port answers with: the admin API and the metrics.
func (b *Broker) handler() http.Handler {
	metrics := export.New(export.Options{
		Registry: b.registry, Store: b.store, Cluster: b.cfg.Cluster, Version: b.cfg.Version, Started: b.started, Now: b.cfg.Now, Logger: b.log,
		Connections: func() export.Connections {
			s := b.server.Stats()
			return export.Connections{Active: int64(s.Active), Created: s.Created, Rejected: s.Rejected}
		},
	})
	return admin.New(admin.Options{
		Registry: b.registry, Store: b.store, Logger: b.log, Cluster: b.cfg.Cluster, Version: b.cfg.Version, Metrics: metrics,
		Settings: b.dynamic,
		Binary:   func() string { return "pulsar://" + b.advertised(portOf(b.binary)) },
		Web:      func() string { return "http://" + b.advertised(portOf(b.http)) },
	})
}

// advertised is how clients are told to reach a port of this daemon.
func (b *Broker) advertised(port int) string {
	host := b.cfg.AdvertisedHost
	if host == "" {
		host = b.cfg.Bind
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
