"""Types that users keep in state, where a serializer can find them again."""

from __future__ import annotations

import enum
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import BaseModel, PrivateAttr, RootModel


class Order(BaseModel):
    class Line(BaseModel):
        class Size(enum.Enum):
            SMALL = "small"

        size: Any = None

    class State(enum.Enum):
        OPEN = "open"

    note: Any = None
    _seen: int = PrivateAttr(default=0)


class Numbers(RootModel[list[int]]):
    pass


class Point(NamedTuple):
    x: Any
    y: Any


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Total:
    net: int
    gross: int = field(init=False, default=0)
    tags: Any = None

    @cached_property
    def label(self) -> str:
        return f"{self.net} net"


@dataclass(frozen=True)
class Frozen:
    __slots__ = ("held",)
    held: Any


class Basket(list[Any]):
    pass


class Settings(OrderedDict[str, Any]):
    pass


class Name(str):
    __slots__ = ("origin",)


class Ticket:
    """Nothing any serializer knows."""

    def __init__(self, held: Any = None) -> None:
        self.held = held
