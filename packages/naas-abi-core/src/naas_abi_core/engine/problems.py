"""Turns what pydantic found wrong into problems that name the file, line, key and mend."""

from __future__ import annotations

from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from naas_abi_core.engine.secrets import Secrets
from naas_abi_core.engine.yaml_file import KeyPath, YamlFile, dotted
from naas_abi_core.errors import Problem, nearest

__all__ = ["problem_at", "problems_of"]

_EXPECTED: Final = {
    "bool_parsing": "true or false is expected",
    "bool_type": "true or false is expected",
    "dict_type": "keys and values are expected",
    "int_parsing": "a whole number is expected",
    "int_type": "a whole number is expected",
    "float_parsing": "a number is expected",
    "float_type": "a number is expected",
    "list_type": "a list is expected",
    "model_type": "keys and values are expected",
    "model_attributes_type": "keys and values are expected",
    "path_type": "a path is expected",
    "string_too_short": "it is empty",
    "string_type": "text is expected",
    "tuple_type": "a list is expected",
}


def problem_at(file: YamlFile | None, what: str, key: KeyPath, mend: str) -> Problem:
    """A problem at ``key`` of ``file``, or of a configuration that was built in code."""
    if file is None:
        return Problem(what, dotted(key), mend=mend)
    return Problem(what, dotted(key), file.path, file.line(key), mend)


def problems_of(
    error: ValidationError,
    model: type[BaseModel],
    file: YamlFile | None,
    secrets: Secrets,
    prefix: KeyPath = (),
) -> list[Problem]:
    """Everything ``error`` found in the values of ``model``, which sit below ``prefix``."""
    return [
        _problem(details, model, file, secrets, prefix)
        for details in error.errors(include_url=False)
    ]


def _problem(
    details: ErrorDetails,
    model: type[BaseModel],
    file: YamlFile | None,
    secrets: Secrets,
    prefix: KeyPath,
) -> Problem:
    location = details["loc"]
    key = (*prefix, *location)
    if details["type"] == "extra_forbidden":
        known = _keys_at(model, location[:-1])
        what = f"there is no such key{nearest(str(location[-1]), known)}"
        return problem_at(file, what, key, f"Valid here: {', '.join(known) or 'none'}.")
    if details["type"] == "missing":
        return problem_at(file, "this key is missing", key, "Add it.")
    told = _EXPECTED.get(details["type"])
    if told is not None:
        what = f"{told}, not {_kind(details['input'])}"
        what = told if details["type"] == "string_too_short" else what
    else:
        # A module's own validator may have put the value into its sentence.
        what = str(secrets.mask(details["msg"].removeprefix("Value error, ")))
    return problem_at(file, what, key, "Correct the value.")


def _keys_at(model: type[BaseModel], location: KeyPath) -> list[str]:
    """Names of the fields of the model that sits at ``location`` below ``model``."""
    current: Any = model
    for part in location:
        if isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(str(part))
            current = None if field is None else field.annotation
        elif current is not None:
            # An item of a list or mapping: the annotation's last argument is the item's type.
            current = next((each for each in reversed(get_args(current)) if _is_item(each)), None)
        current = _model_in(current)
    if isinstance(current, type) and issubclass(current, BaseModel):
        return sorted(field.alias or name for name, field in current.model_fields.items())
    return []


def _is_item(annotation: Any) -> bool:
    return annotation is not Ellipsis and annotation is not type(None)


def _model_in(annotation: Any) -> Any:
    """The model of an ``X | None``, else the annotation itself."""
    origin_arguments = [each for each in get_args(annotation) if each is not type(None)]
    if type(None) in get_args(annotation) and len(origin_arguments) == 1:
        return origin_arguments[0]
    return annotation


def _kind(value: object) -> str:
    kinds = {
        bool: "true or false",
        dict: "keys and values",
        float: "a number",
        int: "a number",
        list: "a list",
        str: "text",
        type(None): "nothing",
    }
    return kinds.get(type(value), f"a {type(value).__name__}")
