package admin

import (
	"context"
	"net/http"
	"strconv"

	"spoolctl/broker/topic"
	"spoolctl/wire"
)

// partitionedMetadata is Pulsar's answer about partitions.
type partitionedMetadata struct {
	Partitions int               `json:"partitions"`
	Properties map[string]string `json:"properties,omitempty"`
}

func (s *Server) partitionRoutes(domain string) []route {
	base := "/admin/v2/" + domain + "/{tenant}/{namespace}"
	one := base + "/{topic}"
	on := topicRoute(domain)
	return []route{
		{"GET " + base + "/partitioned", func(_ context.Context, c *call) (any, error) { return s.listPartitioned(c, domain) }},
		on("GET "+one+"/partitions", s.getPartitions),
		on("PUT "+one+"/partitions", s.createPartitioned),
		on("POST "+one+"/partitions", s.updatePartitions),
		on("DELETE "+one+"/partitions", s.deletePartitioned),
		on("GET "+one+"/partitioned-stats", s.partitionedStats),
		on("GET "+one+"/partitioned-internalStats", s.partitionedInternalStats),
	}
}

func (s *Server) listPartitioned(c *call, domain string) (any, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if _, err := s.reg.Namespace(ns); err != nil {
		return nil, err
	}
	all, err := s.reg.PartitionedTopics(ns)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, t := range all {
		if t.Domain.String() == domain {
			out = append(out, t.String())
		}
	}
	return out, nil
}

func (s *Server) getPartitions(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	if _, err := s.reg.Namespace(name.NamespaceName()); err != nil {
		return nil, err
	}
	n, err := s.reg.PartitionCount(ctx, name, c.flag("checkAllowAutoCreation"))
	if err != nil {
		return nil, err
	}
	p, _, err := s.reg.Partitioned(name)
	return partitionedMetadata{n, p.Properties}, err
}

// partitionCount reads a body that says how many partitions, and refuses impossible numbers with Pulsar's 406.
func (s *Server) partitionCount(c *call) (n int, properties map[string]string, err error) {
	if n, properties, err = countBody(c); err != nil {
		return 0, nil, err
	}
	if n <= 0 {
		return 0, nil, &statusError{http.StatusNotAcceptable, "Number of partitions should be more than 0"}
	}
	if most := s.reg.Options().MaxPartitions; most > 0 && n > most {
		return 0, nil, &statusError{http.StatusNotAcceptable, "Number of partitions should be less than or equal to " + strconv.Itoa(most)}
	}
	return n, properties, nil
}

func (s *Server) createPartitioned(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	n, properties, err := s.partitionCount(c)
	if err != nil {
		return nil, err
	}
	return nil, s.reg.CreatePartitioned(ctx, name, n, properties)
}

func (s *Server) updatePartitions(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	n, _, err := s.partitionCount(c)
	if err != nil {
		return nil, err
	}
	return nil, s.reg.UpdatePartitions(ctx, name, n)
}

func (s *Server) deletePartitioned(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	return nil, s.reg.DeletePartitioned(ctx, name, c.flag("force"))
}

// partitionedTopicStats is Pulsar's sum over partitions.
type partitionedTopicStats struct {
	*topic.TopicStats
	Metadata   partitionedMetadata          `json:"metadata"`
	Partitions map[string]*topic.TopicStats `json:"partitions"`
}

func (s *Server) partitionNames(name wire.TopicName) ([]wire.TopicName, error) {
	p, partitioned, err := s.reg.Partitioned(name)
	if err != nil {
		return nil, err
	}
	if !partitioned {
		return nil, &statusError{http.StatusNotFound, "Partitioned Topic not found: " + name.String() + " has zero partitions"}
	}
	out := make([]wire.TopicName, p.Partitions)
	for i := range out {
		out[i] = name.WithPartition(i)
	}
	return out, nil
}

func (s *Server) partitionedStats(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	parts, err := s.partitionNames(name)
	if err != nil {
		return nil, err
	}
	out := partitionedTopicStats{TopicStats: topic.NewTopicStats(), Metadata: partitionedMetadata{Partitions: len(parts)}, Partitions: map[string]*topic.TopicStats{}}
	perPartition := c.r.URL.Query().Get("perPartition") != "false"
	for _, p := range parts {
		t, err := s.reg.Get(ctx, p)
		if err != nil {
			return nil, err
		}
		st, err := t.Stats(ctx, statsOptions(c))
		if err != nil {
			return nil, err
		}
		out.Add(st)
		if perPartition {
			out.Partitions[p.String()] = st
		}
	}
	return out, nil
}

func (s *Server) partitionedInternalStats(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	parts, err := s.partitionNames(name)
	if err != nil {
		return nil, err
	}
	out := struct {
		Metadata   partitionedMetadata                          `json:"metadata"`
		Partitions map[string]*topic.ManagedLedgerInternalStats `json:"partitions"`
	}{partitionedMetadata{Partitions: len(parts)}, map[string]*topic.ManagedLedgerInternalStats{}}
	for _, p := range parts {
		t, err := s.reg.Get(ctx, p)
		if err != nil {
			return nil, err
		}
		st, err := t.InternalStats(c.flag("metadata"))
		if err != nil {
			return nil, err
		}
		out.Partitions[p.String()] = st
	}
	return out, nil
}
