package conn

import (
	"fmt"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// handle works on one frame after the handshake. An error ends the connection.
func (c *Conn) handle(f wire.Frame) error {
	t, body, err := wire.CommandType(f.Command)
	if err != nil {
		return err
	}
	switch t {
	case pb.BaseCommand_SEND:
		return c.send(body, f.Payload)
	case pb.BaseCommand_ACK:
		return c.acknowledge(body)
	case pb.BaseCommand_FLOW:
		return c.flow(body)
	case pb.BaseCommand_PING:
		c.out.small(wire.AppendPong)
		return nil
	case pb.BaseCommand_PONG:
		return nil
	case pb.BaseCommand_CONNECT:
		return fmt.Errorf("a second CONNECT")
	}
	return c.control(t, f)
}

// control works on a command that is decoded as a whole.
func (c *Conn) control(t pb.BaseCommand_Type, f wire.Frame) error {
	known := handlerOf(t)
	if known == nil {
		return c.unsupported(t, f)
	}
	cmd, err := wire.ParseCommand(f.Command)
	if err != nil {
		return err
	}
	if !known(c, cmd) {
		return fmt.Errorf("%s without its content", t)
	}
	return nil
}

// handler works on a command; false when the command's own message is missing.
type handler func(c *Conn, cmd *pb.BaseCommand) bool

// on makes a handler of a function that takes the command's own message.
func on[M any](get func(*pb.BaseCommand) *M, do func(*Conn, *M)) handler {
	return func(c *Conn, cmd *pb.BaseCommand) bool {
		m := get(cmd)
		if m == nil {
			return false
		}
		do(c, m)
		return true
	}
}

// handlerOf is the table of control commands; nil for one that is not supported.
func handlerOf(t pb.BaseCommand_Type) handler {
	switch t {
	case pb.BaseCommand_PARTITIONED_METADATA:
		return on((*pb.BaseCommand).GetPartitionMetadata, (*Conn).partitionedMetadata)
	case pb.BaseCommand_LOOKUP:
		return on((*pb.BaseCommand).GetLookupTopic, (*Conn).lookup)
	case pb.BaseCommand_GET_TOPICS_OF_NAMESPACE:
		return on((*pb.BaseCommand).GetGetTopicsOfNamespace, (*Conn).topicsOfNamespace)
	case pb.BaseCommand_PRODUCER:
		return on((*pb.BaseCommand).GetProducer, (*Conn).producer)
	case pb.BaseCommand_CLOSE_PRODUCER:
		return on((*pb.BaseCommand).GetCloseProducer, (*Conn).closeProducer)
	case pb.BaseCommand_SUBSCRIBE:
		return on((*pb.BaseCommand).GetSubscribe, (*Conn).subscribe)
	case pb.BaseCommand_CLOSE_CONSUMER:
		return on((*pb.BaseCommand).GetCloseConsumer, (*Conn).closeConsumer)
	case pb.BaseCommand_UNSUBSCRIBE:
		return on((*pb.BaseCommand).GetUnsubscribe, (*Conn).unsubscribe)
	case pb.BaseCommand_REDELIVER_UNACKNOWLEDGED_MESSAGES:
		return on((*pb.BaseCommand).GetRedeliverUnacknowledgedMessages, (*Conn).redeliver)
	case pb.BaseCommand_SEEK:
		return on((*pb.BaseCommand).GetSeek, (*Conn).seek)
	case pb.BaseCommand_GET_LAST_MESSAGE_ID:
		return on((*pb.BaseCommand).GetGetLastMessageId, (*Conn).lastMessageID)
	case pb.BaseCommand_CONSUMER_STATS:
		return on((*pb.BaseCommand).GetConsumerStats, (*Conn).consumerStats)
	case pb.BaseCommand_GET_SCHEMA:
		return on((*pb.BaseCommand).GetGetSchema, (*Conn).getSchema)
	case pb.BaseCommand_GET_OR_CREATE_SCHEMA:
		return on((*pb.BaseCommand).GetGetOrCreateSchema, (*Conn).getOrCreateSchema)
	}
	return nil
}
