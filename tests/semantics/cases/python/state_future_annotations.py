from __future__ import annotations

import typing


def f(a: Undefined, b: list[int] | None = None) -> int: ...


value: Undefined
print(f.__annotations__, __annotations__, typing.get_type_hints(lambda: 0))
