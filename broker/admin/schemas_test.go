package admin_test

import (
	"net/http"
	"testing"
)

func TestSchemas(t *testing.T) {
	a := newAPI(t)
	const (
		base     = "/admin/v2/schemas/public/default/s"
		one      = `{"type":"AVRO","schema":"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}","properties":{"k":"v"}}`
		spaced   = `{"type":"AVRO","schema":"{\"type\": \"record\", \"name\": \"R\", \"fields\": [{\"name\":\"a\",\"type\":\"int\"}]}"}`
		optional = `{"type":"AVRO","schema":"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":\"int\",\"default\":0}]}"}`
		required = `{"type":"AVRO","schema":"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"c\",\"type\":\"int\"}]}"}`
		pair     = `{"type":"KEY_VALUE","schema":"{\"key\":\"\",\"value\":\"\"}","properties":{"key.schema.type":"STRING","value.schema.type":"INT32"}}`
	)
	a.run([]step{
		{"GET", base + "/schema", "", 404, "!Schema not found"},
		{"DELETE", base + "/schema", "", 404, "!Schema not found"},
		{"GET", base + "/schemas", "", 200, `={"getSchemaResponses":[]}`},
		{"POST", base + "/version", one, 202, `={"version":-1}`},
		{"POST", base + "/compatibility", one, 202, `={"compatibility":true,"schemaCompatibilityStrategy":"FULL"}`},
		{"POST", base + "/schema", one, 202, `={"version":{"version":0}}`},
		{"POST", base + "/schema", spaced, 202, `={"version":{"version":0}}`},
		{"POST", base + "/schema", optional, 202, `={"version":{"version":1}}`},
		{"POST", base + "/schema", required, 409, "incompatible schema"},
		{"POST", base + "/compatibility", required, 202, `={"compatibility":false,"schemaCompatibilityStrategy":"FULL"}`},
		{"POST", base + "/schema", `{"type":"AVRO","schema":"{"}`, 422, "invalid schema definition"},
		{"POST", base + "/schema", `{"type":"SAND","schema":""}`, 422, "SAND"},
		{"POST", base + "/schema", `[`, 400, "body"},
		{"POST", base + "/version", spaced, 202, `={"version":0}`},
		{"GET", base + "/schema", "", 200, `"version":1,"type":"AVRO"`},
		{"GET", base + "-partition-3/schema/0", "", 200, `"properties":{"k":"v"}`},
		{"GET", base + "/schema/7", "", 404, "!Schema not found"},
		{"GET", base + "/schema/x", "", 400, "not a number"},
		{"DELETE", base + "/schema", "", 200, `={"version":2}`},
		{"GET", base + "/schema", "", 404, "!Schema not found"},
		{"GET", base + "/schema/0", "", 404, "!Schema not found"}, // clients expect a deleted schema to be gone whole
		{"GET", base + "/schemas", "", 200, `={"getSchemaResponses":[]}`},
		{"POST", base + "/schema", pair, 202, `={"version":{"version":3}}`},
		{"GET", base + "/schema", "", 200, `"data":"{\"key\":\"\",\"value\":\"\"}"`},
		{"DELETE", base + "/schema?force=true", "", 200, `={"version":3}`},
		{"GET", base + "/schema/0", "", 404, "!Schema not found"},
		{"POST", base + "/schema", required, 202, `={"version":{"version":0}}`},
		{"POST", "/admin/v2/schemas/public/none/s/schema", one, 404, "!Namespace does not exist"},
	})
}

// TestSchemaGoesWithItsTopic checks that a topic of the same name begins without the former one's schema.
func TestSchemaGoesWithItsTopic(t *testing.T) {
	a := newAPI(t)
	const text = `{"type":"STRING","schema":""}`
	a.run([]step{
		{"PUT", "/admin/v2/persistent/public/default/plain", "", http.StatusNoContent, ""},
		{"POST", "/admin/v2/schemas/public/default/plain/schema", text, 202, `={"version":{"version":0}}`},
		{"DELETE", "/admin/v2/persistent/public/default/plain", "", 204, ""},
		{"GET", "/admin/v2/schemas/public/default/plain/schema", "", 404, "!Schema not found"},

		{"PUT", "/admin/v2/persistent/public/default/parts/partitions", "2", 204, ""},
		{"POST", "/admin/v2/schemas/public/default/parts/schema", text, 202, `={"version":{"version":0}}`},
		{"DELETE", "/admin/v2/persistent/public/default/parts/partitions", "", 204, ""},
		{"GET", "/admin/v2/schemas/public/default/parts/schema", "", 404, "!Schema not found"},

		{"PUT", "/admin/v2/namespaces/public/gone", "", 204, ""},
		{"POST", "/admin/v2/schemas/public/gone/never/schema", text, 202, `={"version":{"version":0}}`},
		{"DELETE", "/admin/v2/namespaces/public/gone", "", 204, ""},
		{"PUT", "/admin/v2/namespaces/public/gone", "", 204, ""},
		{"GET", "/admin/v2/schemas/public/gone/never/schema", "", 404, "!Schema not found"},
	})
}
