import abc
import typing


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


class Box(typing.NamedTuple):
    width: int
    height: "int" = 1


T = typing.TypeVar("T")
print(typing.get_type_hints(Box), Box(2), typing.get_type_hints(Shape.area), T, typing.Generic[T])
try:
    Shape()
except TypeError as error:
    print(error)
