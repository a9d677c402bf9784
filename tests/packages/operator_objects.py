"""Holds objects of the Prometheus operator, a JSON list on standard input, to the operator's own definitions.

Run by the interpreter that has the models made from them. A field that is not defined is as wrong as a value that is: a
cluster would drop the one silently and refuse the other.
"""

import json
import sys

from cloudcoil.models.prometheus_operator import v1
from pydantic import ValidationError

MODELS = {"PodMonitor": v1.PodMonitor, "PrometheusRule": v1.PrometheusRule}


def faults(one):
    try:
        MODELS[one["kind"]].model_validate(one, extra="forbid")
    except ValidationError as error:
        return [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False)]
    return []


def main():
    found = {}
    for one in json.load(sys.stdin):
        found[f"{one['kind']} {one['metadata']['name']}"] = faults(one)
    print(json.dumps(found))


main()
