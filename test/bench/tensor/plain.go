package main

import (
	"context"
	"errors"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func plainMethod(name string) string { return "/bench.Plain/" + name }

// servePlain serves gRPC with its default codec and settings. It discards received data.
func servePlain(ctx context.Context, l net.Listener) error {
	zeros := make([]byte, chunk)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20))
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Plain", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{
			{StreamName: "Upload", ClientStreams: true, Handler: func(_ any, st grpc.ServerStream) error {
				n := int64(0)
				for {
					var m wrapperspb.BytesValue
					switch err := st.RecvMsg(&m); {
					case errors.Is(err, io.EOF):
						return st.SendMsg(wrapperspb.Int64(n))
					case err != nil:
						return err
					}
					n += int64(len(m.GetValue()))
				}
			}},
			{StreamName: "Download", ServerStreams: true, Handler: func(_ any, st grpc.ServerStream) error {
				var size wrapperspb.Int64Value
				if err := st.RecvMsg(&size); err != nil {
					return err
				}
				for left := size.GetValue(); left > 0; left -= chunk {
					if err := st.SendMsg(wrapperspb.Bytes(zeros[:min(left, chunk)])); err != nil {
						return err
					}
				}
				return nil
			}},
			{StreamName: "Echo", ClientStreams: true, ServerStreams: true,
				Handler: func(_ any, st grpc.ServerStream) error {
					for {
						var m wrapperspb.BytesValue
						switch err := st.RecvMsg(&m); {
						case errors.Is(err, io.EOF):
							return nil
						case err != nil:
							return err
						}
						if err := st.SendMsg(&m); err != nil {
							return err
						}
					}
				}},
		}}, nil)
	context.AfterFunc(ctx, s.Stop)
	return s.Serve(l)
}
