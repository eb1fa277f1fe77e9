package admin

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"spoolctl/broker/fault"
	"spoolctl/wire"
)

// call is one request with the readings that routes need.
type call struct{ r *http.Request }

// part returns a named part of the path, decoded.
func (c *call) part(name string) string { return c.r.PathValue(name) }

// subscription returns the subscription's name from the path. Pulsar decodes it twice and Pulsar's Go client encodes it
// twice, where others do it once; so a name that can be decoded a second time is.
func (c *call) subscription() string {
	once := c.part("subscription")
	if twice, err := url.PathUnescape(once); err == nil {
		return twice
	}
	return once
}

// flag reads a boolean query parameter; anything but true and 1 is false.
func (c *call) flag(name string) bool {
	v, err := strconv.ParseBool(c.r.URL.Query().Get(name))
	return err == nil && v
}

// number reads a decimal part of the path.
func (c *call) number(name string) (int64, error) {
	n, err := strconv.ParseInt(c.part(name), 10, 64)
	if err != nil {
		return 0, fault.New(fault.Invalid, "%q is not a number", c.part(name))
	}
	return n, nil
}

// body reads the JSON body into into; an empty body and null leave it as it is.
func (c *call) body(into any) error {
	b, err := io.ReadAll(c.r.Body)
	if err != nil {
		return err
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return &statusError{http.StatusBadRequest, "the body is not what this call takes: " + err.Error()}
	}
	return nil
}

// namespace reads {tenant}/{namespace} from the path.
func (c *call) namespace() (wire.NamespaceName, error) {
	ns, err := wire.ParseNamespace(c.part("tenant") + "/" + c.part("namespace"))
	if err != nil {
		return ns, fault.New(fault.Precondition, "Namespace name is not valid")
	}
	return ns, nil
}

// topic reads the topic's full name from the path.
func (c *call) topic(domain string) (wire.TopicName, error) {
	full := domain + "://" + c.part("tenant") + "/" + c.part("namespace") + "/" + c.part("topic")
	name, err := wire.ParseTopic(full)
	if err != nil {
		return name, fault.New(fault.Precondition, "Topic name is not valid")
	}
	return name, nil
}
