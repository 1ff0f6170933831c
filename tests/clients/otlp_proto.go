// One profile, sent by the client that is generated from the protocol's own definitions.
//
// Arguments: the transport (one of the table below), the server's host and port, and the request as JSON of the definitions' version.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func byGRPC(server string, request *collector.ExportProfilesServiceRequest, options ...grpc.CallOption) error {
	connection, err := grpc.NewClient(server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	answer, err := collector.NewProfilesServiceClient(connection).Export(context.Background(), request, options...)
	if err != nil {
		return err
	}
	return refused(answer)
}

func byHTTP(server string, request *collector.ExportProfilesServiceRequest) error {
	body, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	answer, err := http.Post("http://"+server+"/v1development/profiles", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, text.String())
	}
	var understood collector.ExportProfilesServiceResponse
	if err := proto.Unmarshal(text.Bytes(), &understood); err != nil {
		return err
	}
	return refused(&understood)
}

// An answer that takes a part of the profiles says so.
func refused(answer *collector.ExportProfilesServiceResponse) error {
	if part := answer.GetPartialSuccess(); part.GetRejectedProfiles() != 0 || part.GetErrorMessage() != "" {
		return fmt.Errorf("%d profiles were refused: %s", part.GetRejectedProfiles(), part.GetErrorMessage())
	}
	return nil
}

var transports = map[string]func(string, *collector.ExportProfilesServiceRequest) error{
	"grpc": func(server string, request *collector.ExportProfilesServiceRequest) error {
		return byGRPC(server, request)
	},
	"grpc-gzip": func(server string, request *collector.ExportProfilesServiceRequest) error {
		return byGRPC(server, request, grpc.UseCompressor("gzip"))
	},
	"http": byHTTP,
}

func main() {
	var request collector.ExportProfilesServiceRequest
	if err := protojson.Unmarshal([]byte(os.Args[3]), &request); err != nil {
		log.Fatal(err)
	}
	if err := transports[os.Args[1]](os.Args[2], &request); err != nil {
		log.Fatal(err)
	}
}
