import copy
import dataclasses
import enum
import pickle


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: float = 0.5
    color: Color = Color.RED


def f():
    return "f"


data = pickle.dumps([Point(1), Color.RED, f, Point])
print(b"__main__" in data, pickle.loads(data)[0], pickle.loads(data)[2](), copy.deepcopy(Point(3)), Point(1) < Point(2))
print(repr(Point), Point.__module__, dataclasses.fields(Point)[1].default)
try:
    pickle.dumps(lambda: 0)
except Exception as error:
    print(type(error).__name__, str(error).split(" at ")[0])
