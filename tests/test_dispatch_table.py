"""The computed table: equal to what a running dispatcher reports, and the rules one by one."""

from __future__ import annotations

import pytest

from tests import dispatcher
from torchtalkd.conventions import load
from torchtalkd.facts import DispatchKeys
from torchtalkd.link.dispatch_table import dispatch_table, stands_for


@pytest.fixture(scope="module")
def keys() -> DispatchKeys:
    return load("pytorch").rules.dispatch


def test_every_entry_is_that_of_the_running_dispatcher(keys: DispatchKeys) -> None:
    for operator in dispatcher.reported():
        registered = {
            key: where for key, where, *flags in operator["registrations"] if "inactive" not in flags
        }
        table = dispatch_table(registered, dispatcher.fallbacks(), keys)
        assert {key: [e.kind, e.registered] for key, e in table.items()} == operator["table"], operator["op"]


IMPLICIT, EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
NESTED, BATCHED = "CompositeImplicitAutogradNestedTensor", "FuncTorchBatchedDecomposition"


@pytest.mark.parametrize(
    ("registered", "key", "kind", "where"),
    [
        (["CPU", EXPLICIT], "CPU", "kernel", "CPU"),
        (["CPU", EXPLICIT], "CUDA", "default backend kernel", EXPLICIT),
        ([IMPLICIT], "AutogradCPU", "math kernel", IMPLICIT),
        ([IMPLICIT, "CPU", "Autograd"], "AutogradCPU", "autograd kernel", "Autograd"),
        ([IMPLICIT, "CPU", "Autograd"], "AutogradCUDA", "math kernel", IMPLICIT),
        ([IMPLICIT, NESTED], "NestedTensorCPU", "nested kernel", NESTED),
        ([EXPLICIT], "NestedTensorCPU", None, None),
        ([BATCHED], "FuncTorchBatched", "batched kernel", BATCHED),
        (["CPU"], "Tracer", "backend fallback", "fallback"),
        (["CPU"], "CUDA", None, None),
    ],
)
def test_the_order_of_the_rules(
    keys: DispatchKeys, registered: list[str], key: str, kind: str | None, where: str | None
) -> None:
    entry = dispatch_table({k: k for k in registered}, {"Tracer": "fallback"}, keys).get(key)
    assert (entry and entry.kind, entry and entry.registered) == (kind, where)


def test_the_sets_behind_the_alias_keys(keys: DispatchKeys) -> None:
    assert stands_for("CompositeExplicitAutograd", "SparseXLA", keys)
    assert not stands_for("CompositeExplicitAutogradNonFunctional", "SparseCPU", keys)
    assert not stands_for("CompositeExplicitAutogradNonFunctional", "QuantizedLazy", keys)
    assert stands_for("CompositeImplicitAutograd", "Functionalize", keys)
    assert not stands_for("CompositeExplicitAutograd", "NestedTensorCPU", keys)
