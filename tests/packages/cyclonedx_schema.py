"""Holds a bill of materials, JSON on standard input, to CycloneDX's own schema, and prints what is wrong.

Run by the interpreter that has the package with the schemas, whose code is not used.
"""

import importlib.util
import json
import sys
from pathlib import Path

from jsonschema import Draft7Validator
from referencing import Registry, Resource

bill = json.load(sys.stdin)
(package,) = importlib.util.find_spec("cyclonedx").submodule_search_locations
schemas = Path(package) / "schema" / "_res"
registry = Registry()
for file in schemas.glob("*.schema.json"):
    resource = Resource.from_contents(json.loads(file.read_text(encoding="utf-8")))
    registry = registry.with_resource(resource.id(), resource)
schema = json.loads((schemas / f"bom-{bill['specVersion']}.SNAPSHOT.schema.json").read_text(encoding="utf-8"))
validator = Draft7Validator(schema, registry=registry)
print(json.dumps([f"{error.json_path}: {error.message}" for error in validator.iter_errors(bill)]))
