"""The kustomize base and the Helm chart: rendered by the real kubectl and helm, held to Kubernetes' own schemas.

What belongs to the Prometheus operator is rendered and compared, but held to no schema."""

import json
import re

from commands import run

BUILT_IN = {"ConfigMap", "DaemonSet", "Namespace", "NetworkPolicy", "ServiceAccount"}
OPERATOR = {"PodMonitor", "PrometheusRule"}
KUBERNETES = ["1.26", "1.34"]
ALL_PARTS = ["--set=podMonitor.enabled=true", "--set=prometheusRule.enabled=true", "--set=dashboards.enabled=true"]


def objects(shipped, text):
    """The objects of a stream of YAML, by the interpreter that has a parser for it."""
    reader = "import json, sys, yaml; print(json.dumps([one for one in yaml.safe_load_all(sys.stdin) if one]))"
    rendered = shipped.scratch / "rendered.yaml"
    rendered.write_text(text, encoding="utf-8")
    with open(rendered, encoding="utf-8") as stream:
        return json.loads(run(shipped.venv / "bin" / "python3", "-c", reader, stdin=stream))


def kustomized(shipped):
    return run(shipped.tools / "kubectl", "kustomize", shipped.tree / "deploy" / "kubernetes")


def templated(shipped, *options):
    chart = shipped.tree / "deploy" / "helm" / "roce-exporter"
    return run(shipped.tools / "helm", "template", "roce-exporter", chart, "--namespace=roce-exporter", *options)


def held_to_schemas(shipped, text):
    own = [one for one in objects(shipped, text) if one["kind"] not in OPERATOR]
    assert {one["kind"] for one in own} <= BUILT_IN, own
    file = shipped.scratch / "objects.yaml"
    file.write_text("".join(f"---\n{json.dumps(one)}\n" for one in own), encoding="utf-8")
    for version in KUBERNETES:
        run(shipped.venv / "bin" / "kubernetes-validate", "--strict", f"--kubernetes-version={version}", file)


def base_is_valid(shipped):
    held_to_schemas(shipped, kustomized(shipped))


def chart_is_valid(shipped):
    run(shipped.tools / "helm", "lint", "--strict", shipped.tree / "deploy" / "helm" / "roce-exporter")
    held_to_schemas(shipped, templated(shipped, *ALL_PARTS))
    config = ["--set=config.sampler.interval=20ms", "--set=webConfigSecret=web", "--set=args={--log.level=warn}"]
    text = templated(shipped, *config)
    held_to_schemas(shipped, text)
    assert "--log.level=warn" in text and "interval: 20ms" in text and "secretName: web" in text


def chart_refuses_wrong_values(shipped):
    for wrong in ["port=70000", "podMonitor.interval=often", "imagee.tag=1", "args={no-flag}"]:
        chart = shipped.tree / "deploy" / "helm" / "roce-exporter"
        said = run(shipped.tools / "helm", "template", "roce-exporter", chart, f"--set={wrong}", fails=True)
        assert "schema" in said, said


def comparable(one):
    """An object without what the two ways name differently on purpose: labels, names made from the release's."""
    text = json.dumps(one, sort_keys=True)
    text = re.sub(r'"(helm\.sh/chart|app\.kubernetes\.io/[a-z-]+)": "[^"]*"(, )?', "", text)
    made = json.loads(text)
    made["metadata"] = {"name": made["metadata"]["name"]}
    return made


def chart_and_base_say_the_same(shipped):
    def by_name(text):
        return {(one["kind"], one["metadata"]["name"]): one for one in objects(shipped, text)}

    base, chart = by_name(kustomized(shipped)), by_name(templated(shipped, *ALL_PARTS))
    base = {key: one for key, one in base.items() if key[0] != "Namespace"}
    assert set(base) == set(chart), set(base) ^ set(chart)
    for key, one in base.items():
        other = chart[key]
        if key[0] == "DaemonSet":
            ours, theirs = one["spec"]["template"]["spec"], other["spec"]["template"]["spec"]
            for spec in (ours, theirs):
                (container,) = spec["containers"]
                container.pop("imagePullPolicy", None)
                container["args"] = [flag for flag in container["args"] if "listen-address" not in flag]
            assert ours == theirs, f"{key}:\n{json.dumps(ours, indent=1)}\n{json.dumps(theirs, indent=1)}"
        elif key[0] in {"ConfigMap", "PrometheusRule"}:
            part = "data" if key[0] == "ConfigMap" else "spec"
            stripped = lambda value: json.loads(json.dumps(value).replace('\\n"', '"'))
            assert stripped(one[part]) == stripped(other[part]), key
        else:
            assert comparable(one) == comparable(other), f"{key}: {comparable(one)} {comparable(other)}"


CHECKS = [
    base_is_valid,
    chart_is_valid,
    chart_refuses_wrong_values,
    chart_and_base_say_the_same,
]
