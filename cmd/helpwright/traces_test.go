package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/tracing"
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/testenv"
)

// otlpReceiver takes traces by OTLP over HTTP.
type otlpReceiver struct {
	mu    sync.Mutex
	spans []*otlp.Span
	raw   bytes.Buffer // all bodies
	auth  string
}

// ServeHTTP implements [http.Handler].
func (r *otlpReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var in collector.ExportTraceServiceRequest
	if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(body)
	r.auth = req.Header.Get("Authorization")
	for _, of := range in.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
}

// find is a span of a name that is within one of another name, directly or not; within "" is any.
func (r *otlpReceiver) find(name, within string) *otlp.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	byID := map[string]*otlp.Span{}
	for _, s := range r.spans {
		byID[string(s.GetSpanId())] = s
	}
	for _, s := range r.spans {
		if !strings.HasPrefix(s.GetName(), name) {
			continue
		}
		for of := s; of != nil; of = byID[string(of.GetParentSpanId())] {
			if within == "" || of.GetName() == within {
				return s
			}
		}
	}
	return nil
}

// TestTraces has a server that sends traces: an answer to a customer is followed through transport, store, jobs and relay to
// a webhook, and nothing of it leaks.
func TestTraces(t *testing.T) {
	t.Parallel()
	traces, hooks := &otlpReceiver{}, make(chan struct{}, 100)
	receiver := httptest.NewServer(traces)
	defer receiver.Close()
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hooks <- struct{}{} }))
	defer hook.Close()
	relay := newSink(t, 0)
	s := newServer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20letmein",
		"HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none", "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true")
	s.mailbox(url.Values{"name": {"Zebra desk"}, "email": {"zebra@example.org"}})
	s.ok("POST", "/accounts/1/webhooks", url.Values{"url": {hook.URL + "/hidden-zebra"}, "events[]": {"*"}}, nil)
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	form := url.Values{
		"channel": {"email"}, "to": {"zebra.customer@example.com"}, "subject": {"Zebra subject"},
		"interactions[0][type]": {"user"}, "interactions[0][body]": {"Zebra text"},
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.http+apiBase+"/accounts/1/conversations", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusCreated {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	const request = "POST /api/v1/accounts/{account_id}/conversations"
	for _, want := range []struct{ name, within string }{
		{request, ""}, {"transaction", request}, {"INSERT", "transaction"}, {"INSERT", request},
		{"send mail", "job mail.send"}, {"send webhook", "job " + helpdesk.JobWebhook}, {"transaction", "job mail.send"},
	} {
		testenv.Eventually(t, want.name+" within "+want.within, func() bool { return traces.find(want.name, want.within) != nil })
	}
	if got := hex.EncodeToString(traces.find(request, "").GetTraceId()); got != traceID {
		t.Errorf("the request is in the trace %s", got)
	}
	sent, posted := traces.find("job mail.send", ""), traces.find(request, "")
	if links := sent.GetLinks(); len(links) != 1 || hex.EncodeToString(links[0].GetTraceId()) != traceID || string(sent.GetTraceId()) == string(posted.GetTraceId()) {
		t.Errorf("the job has the links %v", links)
	}
	s.stop()
	traces.mu.Lock()
	defer traces.mu.Unlock()
	if traces.auth != "Bearer letmein" {
		t.Errorf("authorization %q", traces.auth)
	}
	for _, secret := range []string{"ebra", s.token, "whsec", "example.com", hook.URL, relay.address} {
		if strings.Contains(traces.raw.String(), secret) {
			t.Errorf("the traces have %q", secret)
		}
	}
	log, err := os.ReadFile(s.stderr.Name())
	if err != nil || !regexp.MustCompile(`"webhook: delivery tried".*"trace_id":"[0-9a-f]{32}"`).Match(log) {
		t.Errorf("no line of a job names its trace: %v\n%s", err, log)
	}
}

// Traces are sent as configured by the standard variables, and unsupported values are refused.
func TestTracesWanted(t *testing.T) {
	t.Parallel()
	const endpoint, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for name, tt := range map[string]struct {
		env           map[string]string
		wanted, fails bool
	}{
		"nothing":         {nil, false, false},
		"an endpoint":     {map[string]string{endpoint: "http://x"}, true, false},
		"one of traces":   {map[string]string{traces: "http://x/v1/traces"}, true, false},
		"disabled":        {map[string]string{endpoint: "http://x", "OTEL_SDK_DISABLED": "true"}, false, false},
		"metrics only":    {map[string]string{endpoint: "http://x", "OTEL_TRACES_EXPORTER": "none"}, false, false},
		"the protocol":    {map[string]string{endpoint: "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_TRACES_EXPORTER": "otlp"}, true, false},
		"gRPC":            {map[string]string{endpoint: "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, true},
		"gRPC of traces":  {map[string]string{endpoint: "http://x", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, false, true},
		"another program": {map[string]string{endpoint: "http://x", "OTEL_TRACES_EXPORTER": "zipkin"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted, err := tracing.Wanted(func(name string) string { return tt.env[name] })
			if wanted != tt.wanted || (err != nil) != tt.fails {
				t.Errorf("%v %v", wanted, err)
			}
		})
	}
}
