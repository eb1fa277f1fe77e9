package conn

import (
	"context"

	"google.golang.org/protobuf/proto"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// lastMessageID works on GET_LAST_MESSAGE_ID.
func (c *Conn) lastMessageID(m *pb.CommandGetLastMessageId) {
	request := m.GetRequestId()
	x := c.need(m.GetConsumerId(), request)
	if x == nil {
		return
	}
	c.task(func(ctx context.Context) {
		id, err := x.LastMessageID(ctx)
		if err != nil {
			c.refuse(request, err)
			return
		}
		r := &pb.CommandGetLastMessageIdResponse{
			RequestId:     &request,
			LastMessageId: idData(id.Position),
		}
		r.LastMessageId.Partition, r.LastMessageId.BatchIndex = proto.Int32(id.Partition), proto.Int32(id.Batch)
		if cursor := x.Sub.Cursor(); cursor != nil {
			r.ConsumerMarkDeletePosition = idData(cursor.MarkDelete())
		}
		c.out.command(&pb.BaseCommand{Type: pb.BaseCommand_GET_LAST_MESSAGE_ID_RESPONSE.Enum(), GetLastMessageIdResponse: r})
	})
}

func idData(p wire.Position) *pb.MessageIdData {
	return &pb.MessageIdData{LedgerId: proto.Uint64(uint64(p.Ledger)), EntryId: proto.Uint64(uint64(p.Entry))}
}

// consumerStats works on CONSUMER_STATS.
func (c *Conn) consumerStats(m *pb.CommandConsumerStats) {
	request := m.GetRequestId()
	r := &pb.CommandConsumerStatsResponse{RequestId: &request}
	if x := c.consumer(m.GetConsumerId()); x == nil {
		r.ErrorCode, r.ErrorMessage = enum(pb.ServerError_ConsumerNotFound), text("Consumer not found")
	} else {
		s := x.ConsumerStats()
		r.MsgRateOut, r.MsgThroughputOut, r.MsgRateRedeliver = &s.MsgRateOut, &s.MsgThroughputOut, &s.MsgRateRedeliver
		r.MessageAckRate = &s.MessageAckRate
		r.ConsumerName, r.Address, r.ConnectedSince = &s.ConsumerName, &s.Address, &s.ConnectedSince
		r.AvailablePermits = proto.Uint64(uint64(max(0, s.AvailablePermits)))
		r.UnackedMessages = proto.Uint64(uint64(max(0, s.UnackedMessages)))
		r.BlockedConsumerOnUnackedMsgs = &s.BlockedConsumerOnUnackedMsgs
		r.Type = text(x.Type.String())
		if cursor := x.Sub.Cursor(); cursor != nil {
			r.MsgBacklog = proto.Uint64(uint64(cursor.Backlog().Messages))
		}
	}
	c.out.command(&pb.BaseCommand{Type: pb.BaseCommand_CONSUMER_STATS_RESPONSE.Enum(), ConsumerStatsResponse: r})
}
