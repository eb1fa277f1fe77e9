package conn

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"spoolctl/broker/fault"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// success answers a request that has nothing to tell.
func (c *Conn) success(request uint64) {
	c.out.command(&pb.BaseCommand{
		Type:    pb.BaseCommand_SUCCESS.Enum(),
		Success: &pb.CommandSuccess{RequestId: &request},
	})
}

// fail answers a request with an error.
func (c *Conn) fail(request uint64, code pb.ServerError, text string) {
	c.out.command(&pb.BaseCommand{
		Type:  pb.BaseCommand_ERROR.Enum(),
		Error: &pb.CommandError{RequestId: &request, Error: &code, Message: &text},
	})
}

// refuse answers a request with the code that fits err.
func (c *Conn) refuse(request uint64, err error) {
	code, text := serverError(err)
	c.fail(request, code, text)
}

// finish answers a request that either worked or did not.
func (c *Conn) finish(request uint64, err error) {
	if err != nil {
		c.refuse(request, err)
		return
	}
	c.success(request)
}

// serverError gives Pulsar's code and the text for a refusal.
func serverError(err error) (pb.ServerError, string) {
	text := err.Error()
	switch fault.KindOf(err) {
	case fault.Invalid:
		return pb.ServerError_InvalidTopicName, text
	case fault.TenantNotFound, fault.NamespaceNotFound, fault.Exists, fault.Conflict, fault.Precondition:
		return pb.ServerError_MetadataError, text
	case fault.TopicNotFound, fault.SchemaNotFound:
		return pb.ServerError_TopicNotFound, text
	case fault.SubscriptionNotFound:
		return pb.ServerError_SubscriptionNotFound, text
	case fault.ConsumerNotFound:
		return pb.ServerError_ConsumerNotFound, text
	case fault.NotAllowed:
		return pb.ServerError_NotAllowedError, text
	case fault.Unsupported:
		return pb.ServerError_UnsupportedVersionError, text
	case fault.Unauthorized:
		return pb.ServerError_AuthorizationError, text
	case fault.ProducerBusy:
		return pb.ServerError_ProducerBusy, text
	case fault.ProducerFenced:
		return pb.ServerError_ProducerFenced, text
	case fault.ConsumerBusy:
		return pb.ServerError_ConsumerBusy, text
	case fault.ConsumerAssign:
		return pb.ServerError_ConsumerAssignError, text
	case fault.Terminated:
		return pb.ServerError_TopicTerminatedError, text
	case fault.NotReady:
		return pb.ServerError_ServiceNotReady, text
	case fault.Checksum:
		return pb.ServerError_ChecksumError, text
	case fault.Persistence:
		return pb.ServerError_PersistenceError, text
	case fault.IncompatibleSchema, fault.InvalidSchema:
		return pb.ServerError_IncompatibleSchema, text
	case fault.QuotaHeld:
		return pb.ServerError_ProducerBlockedQuotaExceededError, text
	case fault.QuotaExceeded:
		return pb.ServerError_ProducerBlockedQuotaExceededException, text
	case fault.TooMany:
		return pb.ServerError_TooManyRequests, text
	}
	if errors.Is(err, wire.ErrTopicName) || errors.Is(err, wire.ErrNamespaceName) {
		return pb.ServerError_InvalidTopicName, text
	}
	return pb.ServerError_UnknownError, text
}

// unsupported answers a request that this daemon does not have.
func (c *Conn) unsupported(t pb.BaseCommand_Type, f wire.Frame) error {
	request, ok := requestOf(t, f.Command)
	name := t.String()
	if !ok {
		c.log.Debug("a command that is not supported was ignored", "command", name)
		return nil
	}
	switch t {
	case pb.BaseCommand_NEW_TXN, pb.BaseCommand_ADD_PARTITION_TO_TXN, pb.BaseCommand_ADD_SUBSCRIPTION_TO_TXN,
		pb.BaseCommand_END_TXN, pb.BaseCommand_TC_CLIENT_CONNECT_REQUEST:
		c.fail(request, pb.ServerError_NotAllowedError, name+" is not allowed: transactions are not available on this broker")
	case pb.BaseCommand_WATCH_TOPIC_LIST, pb.BaseCommand_WATCH_TOPIC_LIST_CLOSE:
		c.fail(request, pb.ServerError_NotAllowedError, name+" is not allowed: topic watchers are not available on this broker; poll instead")
	default:
		c.fail(request, pb.ServerError_UnsupportedVersionError, "command "+name+" is not supported by this broker")
	}
	return nil
}

// requestOf finds the request id of a command of any kind. In commands that are newer
// than the protocol spoken here it is taken to be field 1, as it always was.
func requestOf(t pb.BaseCommand_Type, command []byte) (uint64, bool) {
	if cmd, err := wire.ParseCommand(command); err == nil {
		var id uint64
		found := false
		cmd.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if fd.Kind() != protoreflect.MessageKind {
				return true
			}
			field := fd.Message().Fields().ByName("request_id")
			if field != nil && v.Message().Has(field) {
				id, found = v.Message().Get(field).Uint(), true
			}
			return !found
		})
		if found {
			return id, true
		}
	}
	for len(command) > 0 {
		num, typ, n := protowire.ConsumeTag(command)
		if n < 0 {
			return 0, false
		}
		command = command[n:]
		if num == protowire.Number(t) && typ == protowire.BytesType {
			body, n := protowire.ConsumeBytes(command)
			if n < 0 {
				return 0, false
			}
			return firstVarint(body)
		}
		if n = protowire.ConsumeFieldValue(num, typ, command); n < 0 {
			return 0, false
		}
		command = command[n:]
	}
	return 0, false
}

// firstVarint gives field 1 of a message when it is a number.
func firstVarint(body []byte) (uint64, bool) {
	for len(body) > 0 {
		num, typ, n := protowire.ConsumeTag(body)
		if n < 0 {
			return 0, false
		}
		body = body[n:]
		if num == 1 && typ == protowire.VarintType {
			v, n := protowire.ConsumeVarint(body)
			return v, n >= 0
		}
		if n = protowire.ConsumeFieldValue(num, typ, body); n < 0 {
			return 0, false
		}
		body = body[n:]
	}
	return 0, false
}

// enum makes an optional field of a code.
func enum(code pb.ServerError) *pb.ServerError { return &code }

// text makes an optional field of a text.
func text(s string) *string { return proto.String(s) }
