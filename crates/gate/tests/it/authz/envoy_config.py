"""Reads a configuration with Envoy's published definitions, without Envoy.

envoy_config.py DEFINITIONS FILE   writes as JSON what it says
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

import yaml  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from envoy.config.bootstrap.v3 import bootstrap_pb2  # noqa: E402

# Messages that the configuration holds as `Any` must be known.
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2  # noqa: E402
from envoy.extensions.filters.http.router.v3 import router_pb2  # noqa: F401, E402
from envoy.extensions.filters.network.http_connection_manager.v3 import (  # noqa: E402
    http_connection_manager_pb2,
)
from envoy.extensions.http.early_header_mutation.header_mutation.v3 import (  # noqa: E402
    header_mutation_pb2,
)
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2  # noqa: E402

# `@type` marks an `Any`; the rest is the message's own.
config = json_format.ParseDict(yaml.safe_load(open(sys.argv[2])), bootstrap_pb2.Bootstrap())
resources = config.static_resources
manager = http_connection_manager_pb2.HttpConnectionManager()
resources.listeners[0].filter_chains[0].filters[0].typed_config.Unpack(manager)
asks = ext_authz_pb2.ExtAuthz()
manager.http_filters[0].typed_config.Unpack(asks)
gate = next(c for c in resources.clusters if c.name == asks.grpc_service.envoy_grpc.cluster_name)
endpoint = gate.load_assignment.endpoints[0].lb_endpoints[0].endpoint
protocol = http_protocol_options_pb2.HttpProtocolOptions()
for options in gate.typed_extension_protocol_options.values():
    options.Unpack(protocol)
first = header_mutation_pb2.HeaderMutation()
manager.early_header_mutation_extensions[0].typed_config.Unpack(first)
json.dump(
    {
        "remote address": manager.use_remote_address.value,
        "removes": list(manager.route_config.request_headers_to_remove),
        "removes first": [mutation.remove for mutation in first.mutations],
        "filters": [http_filter.name for http_filter in manager.http_filters],
        "fails open": asks.failure_mode_allow,
        "version": asks.transport_api_version,
        "http/2": protocol.explicit_http_config.HasField("http2_protocol_options"),
        "slashes": manager.path_with_escaped_slashes_action,
        "port": endpoint.address.socket_address.port_value,
    },
    sys.stdout,
)
