// The OpenTelemetry Collector's receiver of OTLP: it prints what it receives as JSON, one line for
// each request.
//
//	otelcol HTTP-ADDRESS GRPC-ADDRESS   prints "ready" first, and ends with its input
package main

import (
	"context"
	"io"
	"log"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

var output sync.Mutex

func write(line []byte, err error) error {
	output.Lock()
	defer output.Unlock()
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	return err
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	protocols := map[string]any{
		"http": map[string]any{"endpoint": os.Args[1]},
		"grpc": map[string]any{"endpoint": os.Args[2]},
	}
	parsed := confmap.NewFromStringMap(map[string]any{"protocols": protocols})
	if err := parsed.Unmarshal(config); err != nil {
		log.Fatal(err)
	}
	traces := must(consumer.NewTraces(func(_ context.Context, traces ptrace.Traces) error {
		return write((&ptrace.JSONMarshaler{}).MarshalTraces(traces))
	}))
	metrics := must(consumer.NewMetrics(func(_ context.Context, metrics pmetric.Metrics) error {
		return write((&pmetric.JSONMarshaler{}).MarshalMetrics(metrics))
	}))
	settings := receivertest.NewNopSettings(factory.Type())
	host := componenttest.NewNopHost()
	for _, part := range []component.Component{
		must(factory.CreateTraces(ctx, settings, config, traces)),
		must(factory.CreateMetrics(ctx, settings, config, metrics)),
	} {
		if err := part.Start(ctx, host); err != nil {
			log.Fatal(err)
		}
	}
	_ = write([]byte("ready"), nil)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
