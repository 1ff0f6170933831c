// One profile, sent by the OpenTelemetry collector's own exporter.
//
// Arguments: the exporter (otlp or otlphttp), its settings and the profile, both as JSON. The exporter has sent it when this ends well.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

var factories = map[string]func() exporter.Factory{
	"otlp":     otlpexporter.NewFactory,
	"otlphttp": otlphttpexporter.NewFactory,
}

// The settings are those of the collector's configuration file.
func configure(factory exporter.Factory, settings string) component.Config {
	var given map[string]any
	if err := json.Unmarshal([]byte(settings), &given); err != nil {
		log.Fatal(err)
	}
	config := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(given).Unmarshal(config); err != nil {
		log.Fatal(err)
	}
	return config
}

func main() {
	factory := factories[os.Args[1]]()
	profiles, err := new(pprofile.JSONUnmarshaler).UnmarshalProfiles([]byte(os.Args[3]))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	sender, err := factory.(xexporter.Factory).CreateProfiles(ctx, exportertest.NewNopSettings(factory.Type()), configure(factory, os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	if err := sender.Start(ctx, componenttest.NewNopHost()); err != nil {
		log.Fatal(err)
	}
	if err := sender.ConsumeProfiles(ctx, profiles); err != nil {
		log.Fatal(err)
	}
	if err := sender.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}
