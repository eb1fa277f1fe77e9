package conn

import (
	"crypto/tls"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"spoolctl/broker/auth"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// protocolVersion is the newest protocol version that is spoken here.
const protocolVersion = int32(pb.ProtocolVersion_v21)

// noRequest is the request id of an error that answers no request.
const noRequest = ^uint64(0)

// handshake takes the first frame, which must be CONNECT.
func (c *Conn) handshake(f wire.Frame) error {
	t, _, err := wire.CommandType(f.Command)
	if err != nil {
		return err
	}
	if t != pb.BaseCommand_CONNECT {
		return fmt.Errorf("the first command is %s, not CONNECT", t)
	}
	cmd, err := wire.ParseCommand(f.Command)
	if err != nil {
		return err
	}
	connect := cmd.GetConnect()
	if connect == nil {
		return fmt.Errorf("CONNECT without its content")
	}
	who, err := c.s.opt.Auth.Authenticate(c.ctx, auth.Credentials{
		Method: connect.GetAuthMethodName(), Data: connect.GetAuthData(), Remote: c.nc.RemoteAddr(), TLS: tlsState(c),
	})
	if err != nil {
		c.log.Info("authentication refused", "method", connect.GetAuthMethodName(), "reason", err)
		return c.quit(pb.ServerError_AuthenticationError, err.Error())
	}
	c.identity = who
	c.version = printable(connect.GetClientVersion())
	c.protocol = min(protocolVersion, connect.GetProtocolVersion())
	c.shaken = true
	c.greets.Store(true)
	c.out.command(&pb.BaseCommand{
		Type: pb.BaseCommand_CONNECTED.Enum(),
		Connected: &pb.CommandConnected{
			ServerVersion:   proto.String("Pulsar Server spoold/" + c.s.opt.Version),
			ProtocolVersion: proto.Int32(c.protocol),
			MaxMessageSize:  proto.Int32(int32(c.s.opt.MaxMessageSize)),
			FeatureFlags: &pb.FeatureFlags{
				SupportsGetPartitionedMetadataWithoutAutoCreation: proto.Bool(true),
			},
		},
	})
	return nil
}

func tlsState(c *Conn) *tls.ConnectionState {
	if t, ok := c.nc.(*tls.Conn); ok {
		s := t.ConnectionState()
		return &s
	}
	return nil
}

// printable makes a client's text safe for logs and statistics.
func printable(s string) string {
	const most = 256
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return '?'
		}
		return r
	}, s)
}

// speaksJava says whether the client is the Java one, which alone knows some commands.
func (c *Conn) speaksJava() bool { return strings.HasPrefix(c.version, "Pulsar-Java") }
