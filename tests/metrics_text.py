"""Reads metrics (`openmetrics`, the default, or `text`) from standard input with the public parser and prints every sample's name once.

The parser refuses what the format forbids: samples out of their family, wrong suffixes and units, numbers that are none,
buckets that do not add up, a missing end.
"""

import sys

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as text

form = text if sys.argv[1:] == ["text"] else openmetrics
families = list(form.text_string_to_metric_families(sys.stdin.read()))
for family in families:
    assert family.documentation, f"{family.name} has no help"
    assert family.type != "unknown", f"{family.name} has no type"
names = {sample.name for family in families for sample in family.samples}
print("\n".join(sorted(names)))
