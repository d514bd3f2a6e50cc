"""Writes board.json, the Grafana board of a run: python3 board.py > board.json

Needs grafana-foundation-sdk from PyPI, as requirements.txt has it. The board is committed, so that nobody needs this to watch.
"""

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef

SOURCE = DataSourceRef(type_val="prometheus", uid="prometheus")

LOAD = "{{server}} {{workload}} {{level}}"

# A row, and its panels: title, unit, expression, legend.
ROWS = [
    (
        "Run",
        [
            ("Trials done", "percentunit", "bench_trials_done / (bench_trials_known > 0)", ""),
            ("Time left", "s", "bench_time_left_seconds", ""),
            ("Trials without a sample", "short", "bench_trials_failed_total", ""),
            ("Runs now", "short", "bench_trial_running", LOAD),
        ],
    ),
    (
        "Samples: medians of the trials so far",
        [
            ("Requests a second", "reqps", "bench_requests_per_second", LOAD),
            ("Latency, 99th percentile", "s", 'bench_latency_seconds{quantile="0.99"}', LOAD),
            ("CPU time for each request", "s", "bench_cpu_per_request_seconds", LOAD),
        ],
    ),
    (
        "Servers that run now",
        [
            ("Calls answered", "reqps", "server:rpc_requests:rate", "{{server}}"),
            ("Calls answered with an error", "reqps", "server:rpc_errors:rate", "{{server}}"),
            ("Processors used", "short", "server:process_cpu_seconds:rate", "{{server}}"),
            ("CPU time for each call", "s", "server:cpu_seconds_per_request:ratio", "{{server}}"),
            ("Memory", "bytes", 'process_resident_memory_bytes{job="servers"}', "{{server}}"),
            ("Open files", "short", 'process_open_fds{job="servers"}', "{{server}}"),
            ("Connections", "short", "rpc_server_connections_open", "{{server}}"),
            ("Connections accepted", "cps", "rate(rpc_server_connections_accepted_total[10s])", "{{server}}"),
            ("Bytes received", "Bps", "deriv(rpc_server_connections_open_received_bytes[10s])", "{{server}}"),
            ("Bytes sent", "Bps", "deriv(rpc_server_connections_open_sent_bytes[10s])", "{{server}}"),
            ("Busy tokio workers", "short", "sum by (server) (rate(tokio_worker_busy_seconds_total[10s]))", "{{server}}"),
            ("Tokio tasks", "short", "tokio_alive_tasks", "{{server}}"),
            ("Tasks in tokio's global queue", "short", "tokio_global_queue_depth", "{{server}}"),
        ],
    ),
    (
        "Calls by method, of servers with --metrics-calls",
        [
            (
                "Calls",
                "reqps",
                "server_method:rpc_server_call_duration_seconds:rate",
                "{{server}} {{rpc_method}} {{outcome}}",
            ),
            ("Duration, median", "s", "server_method:rpc_server_call_duration_seconds:p50", "{{server}} {{rpc_method}}"),
            (
                "Duration, 99th percentile",
                "s",
                "server_method:rpc_server_call_duration_seconds:p99",
                "{{server}} {{rpc_method}}",
            ),
            ("Calls in flight", "short", "rpc_server_calls_in_flight", "{{server}}"),
        ],
    ),
    (
        "Machine",
        [
            ("Processors used", "short", 'sum(rate(node_cpu_seconds_total{mode!="idle"}[5s]))', ""),
            ("Memory available", "bytes", "node_memory_MemAvailable_bytes", ""),
            ("Full listen queues", "cps", "rate(node_netstat_TcpExt_ListenOverflows[10s])", ""),
        ],
    ),
]


def panel(title, unit, expression, legend):
    """A panel with one expression; those of the run as a whole are one number."""
    query = prometheus.Dataquery().expr(expression).legend_format(legend or title).ref_id("A")
    kind = stat if expression.startswith("bench_t") and not legend else timeseries
    built = kind.Panel().title(title).unit(unit).datasource(SOURCE).with_target(query).height(7).span(6)
    if kind is timeseries:
        shown = common.VizLegendOptions().show_legend(True).placement(LegendPlacement.BOTTOM)
        built = built.legend(shown.display_mode(LegendDisplayMode.LIST)).min(0)
    return built


def board():
    built = dashboard.Dashboard("RPC benchmark").uid("rpc-bench").refresh("5s").time("now-15m", "now").timezone("browser")
    for title, panels in ROWS:
        built = built.with_row(dashboard.Row(title))
        for each in panels:
            built = built.with_panel(panel(*each))
    return built.build()


if __name__ == "__main__":
    print(JSONEncoder(sort_keys=True, indent=1).encode(board()))
