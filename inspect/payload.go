package inspect

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// DecodedMessage is a message whose payload is shown in a chosen form.
type DecodedMessage struct {
	MessageHead
	Form    string `json:"payloadForm" col:"FORM,wide"` // text, json, hex or base64; the schema's type when one was used
	Payload any    `json:"payload" col:"PAYLOAD"`
}

// PayloadForms lists the forms of Decoded; Session.DecodedBySchema knows one
// more, FormSchema.
func PayloadForms() []string { return []string{"text", "json", "hex", "base64"} }

// Decoded returns m with its payload in one of the PayloadForms. A payload
// that is not JSON becomes text, bytes that are not text are replaced by the
// replacement character.
func (m Message) Decoded(form string) (DecodedMessage, error) {
	d := DecodedMessage{MessageHead: m.MessageHead, Form: form}
	switch form {
	case "hex":
		d.Payload = hex.EncodeToString(m.Payload)
	case "base64":
		d.Payload = base64.StdEncoding.EncodeToString(m.Payload)
	case "json":
		if json.Valid(m.Payload) {
			d.Payload = json.RawMessage(append([]byte(nil), m.Payload...))
			return d, nil
		}
		d.Form = "text"
		d.Payload = text(m.Payload)
	case "text":
		d.Payload = text(m.Payload)
	default:
		return d, fmt.Errorf("payload form %q: want one of %s", form, strings.Join(PayloadForms(), ", "))
	}
	return d, nil
}

func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
