// The calls that Grafana's data source makes, by the generated Connect clients: a profile is pushed, and asked for in every way.
//
// Arguments: the protocol (one of the table below), the service, the file of a pprof, start and end in Unix milliseconds. The answers are printed as one
// JSON object; what they must be is known to who starts this.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

const cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

type protocol struct {
	http    *http.Client
	options []connect.ClientOption
}

var protocols = map[string]protocol{
	"connect":      {http.DefaultClient, nil},
	"connect-h2c":  {http2(), nil},
	"json":         {http.DefaultClient, []connect.ClientOption{connect.WithProtoJSON()}},
	"gzip":         {http.DefaultClient, []connect.ClientOption{connect.WithSendGzip()}},
	"grpc-web":     {http.DefaultClient, []connect.ClientOption{connect.WithGRPCWeb()}},
	"grpc-web-h2c": {http2(), []connect.ClientOption{connect.WithGRPCWeb()}},
	"grpc":         {http2(), []connect.ClientOption{connect.WithGRPC()}},
	"grpc-gzip":    {http2(), []connect.ClientOption{connect.WithGRPC(), connect.WithSendGzip()}},
}

// HTTP/2 without TLS, by prior knowledge.
func http2() *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: transport}
}

func must[T any](answer *connect.Response[T], err error) *T {
	if err != nil {
		log.Fatal(err)
	}
	return answer.Msg
}

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func push(protocol protocol, service, file string) {
	profile, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	client := pushv1connect.NewPusherServiceClient(protocol.http, os.Getenv("SERVER"), protocol.options...)
	must(client.Push(context.Background(), connect.NewRequest(&pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{{
		Labels: []*typesv1.LabelPair{
			{Name: "__name__", Value: "process_cpu"}, {Name: "service_name", Value: service}, {Name: "region", Value: "eu"},
		},
		Samples: []*pushv1.RawSample{{RawProfile: profile}},
	}}})))
}

func main() {
	protocol, service, file := protocols[os.Args[1]], os.Args[2], os.Args[3]
	start, end := number(os.Args[4]), number(os.Args[5])
	selector := `{service_name="` + service + `"}`
	ctx := context.Background()
	nodes := int64(1024)
	push(protocol, service, file)

	client := querierv1connect.NewQuerierServiceClient(protocol.http, os.Getenv("SERVER"), protocol.options...)
	answers := map[string]any{
		"types": must(client.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{Start: start, End: end}))),
		"names": must(client.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{
			Matchers: []string{selector}, Start: start, End: end}))),
		"values": must(client.LabelValues(ctx, connect.NewRequest(&typesv1.LabelValuesRequest{
			Name: "region", Matchers: []string{selector}, Start: start, End: end}))),
		"merge": must(client.SelectMergeStacktraces(ctx, connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{
			ProfileTypeID: cpu, LabelSelector: selector, Start: start, End: end, MaxNodes: &nodes}))),
		"series": must(client.SelectSeries(ctx, connect.NewRequest(&querierv1.SelectSeriesRequest{
			ProfileTypeID: cpu, LabelSelector: selector, Start: start, End: end, Step: 15, GroupBy: []string{"region"}}))),
		"pprof": must(client.SelectMergeProfile(ctx, connect.NewRequest(&querierv1.SelectMergeProfileRequest{
			ProfileTypeID: cpu, LabelSelector: selector, Start: start, End: end}))),
	}
	_, err := client.SelectMergeStacktraces(ctx, connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: "nonsense", LabelSelector: selector, Start: start, End: end}))
	answers["refusal"] = connect.CodeOf(err).String()
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}
