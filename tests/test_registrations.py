"""What torchgen registers: rule by rule here, and all of PyTorch's against the running dispatcher."""

from __future__ import annotations

import pytest

from tests import dispatcher
from torchtalkd.codegen.registrations import (
    DEFAULT,
    Overload,
    generated_registrations,
    groups,
    root_name,
    view_copy_name,
)
from torchtalkd.codegen.schema import parse_schema
from torchtalkd.conventions import load
from torchtalkd.facts import Torchgen
from torchtalkd.keys import operator_name

RULES = Torchgen(
    shards={"VariableType": 5, "TraceType": 5},
    manual_autograd=("resize_",),
    view_functions=("view",),
    not_functionalized=("record_stream",),
    functionalized_by_hand=("lift",),
)


def overload(schema: str, *dispatch_keys: str, **more: object) -> Overload:
    read = parse_schema(schema)
    made = Overload(f"aten::{read.name}", read, dispatch_keys)
    return made._replace(**more)  # type: ignore[arg-type]


def keys_of(*overloads: Overload, of: int = 0) -> set[str]:
    mine = overloads[of]
    found = generated_registrations(mine, groups(overloads)[mine.name], {}, RULES)
    return {generated.dispatch_key for generated in found}


F = overload("f(Tensor self) -> Tensor", delegate="aten::f.out")
F_IN_PLACE = overload("f_(Tensor(a!) self) -> Tensor(a!)", delegate="aten::f.out")
F_OUT = overload(
    "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "CPU", "CUDA", "SparseCPU", structured=True
)


def test_a_structured_group_shares_the_kernels_of_its_out_variant() -> None:
    group = (F, F_IN_PLACE, F_OUT)
    structured = {"CPU", "CUDA", "Meta"}
    assert keys_of(*group) == structured | {
        "CompositeExplicitAutogradNonFunctional",
        "Autograd",
        "Tracer",
    }
    assert keys_of(*group, of=1) >= {
        "CompositeExplicitAutogradNonFunctional",
        "Functionalize",
        "ADInplaceOrView",
    }
    out = keys_of(*group, of=2)
    assert out >= structured | {"SparseCPU", "Functionalize", "ADInplaceOrView"}
    assert "CompositeExplicitAutogradNonFunctional" not in out


def test_a_composite_has_no_autograd_of_its_own_but_with_a_formula() -> None:
    composite = overload("g(Tensor self) -> Tensor", "CompositeImplicitAutograd")
    assert keys_of(composite) == {"CompositeImplicitAutograd", "Tracer"}
    assert "Autograd" in keys_of(composite._replace(derivative=(DEFAULT,), has_formula=True))


def test_a_derivative_may_be_of_one_backend() -> None:
    own = overload("g(Tensor self) -> Tensor", "CPU", derivative=(DEFAULT, "AutogradCUDA"), has_formula=True)
    assert keys_of(own) >= {"Autograd", "AutogradCUDA"}


@pytest.mark.parametrize(
    ("schema", "chosen"),
    [
        ("ones(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", True),  # noqa: E501
        ("ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", False),  # noqa: E501
        ("new_ones(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", False),  # noqa: E501
        ("f(Tensor self, *, ScalarType? dtype=None) -> Tensor", False),
    ],
)  # fmt: skip
def test_only_factories_choose_a_backend(schema: str, *, chosen: bool) -> None:
    assert ("BackendSelect" in keys_of(overload(schema, "CompositeExplicitAutograd"))) == chosen


def test_what_is_written_by_hand_is_not_generated() -> None:
    resize = overload("resize_(Tensor(a!) self, SymInt[] size) -> Tensor(a!)", "CPU")
    assert keys_of(resize).isdisjoint({"Autograd", "Tracer", "ADInplaceOrView"})
    recorded = overload("record_stream(Tensor(a!) self, Stream s) -> ()", "CUDA")
    assert "Functionalize" not in keys_of(recorded)
    manual = overload("data(Tensor self) -> Tensor", "CompositeImplicitAutograd", manual_kernel=True)
    assert "CompositeImplicitAutograd" not in keys_of(manual)


def test_an_in_place_operator_without_a_meta_kernel_gets_one() -> None:
    schema = "h_(Tensor(a!) self) -> Tensor(a!)"
    assert "Meta" in keys_of(overload(schema, "CPU"))
    assert "Meta" not in keys_of(overload(schema, "CompositeExplicitAutograd"))
    assert "Meta" not in keys_of(overload("h_(Tensor(a!)[] self) -> ()", "CPU"))


def test_names() -> None:
    assert root_name(parse_schema("add_.Tensor(Tensor(a!) self) -> Tensor(a!)")) == "add"
    assert root_name(parse_schema("__iand__.Scalar(Tensor(a!) self) -> Tensor(a!)")) == "and"
    assert root_name(parse_schema("f_functional(Tensor self) -> (Tensor, Tensor out)")) == "f"
    assert root_name(parse_schema("__and__.Scalar(Tensor self) -> Tensor")) == "and"
    view = overload("slice.Tensor(Tensor(a) self) -> Tensor(a)", "CPU")
    assert view_copy_name(view) == "aten::slice_copy.Tensor"
    assert view_copy_name(F) == ""


def test_a_shard_follows_the_name_alone() -> None:
    """The shards that the published build of 2.6.0 has; each operator's by its own name."""
    rules = load("pytorch").rules.torchgen
    for operator in dispatcher.reported():
        name = operator_name(operator["op"])
        traced = next((w for key, w, *_ in operator["registrations"] if key == "Tracer"), "")
        if not traced.startswith("generated/TraceType_") or operator["schema"] is None:
            continue
        mine = overload(operator["schema"].partition("::")[2], "CPU")
        found = generated_registrations(mine, {mine.schema.kind: mine}, {}, rules)
        assert [f"generated/{g.file}" for g in found if g.dispatch_key == "Tracer"] == [traced], name
