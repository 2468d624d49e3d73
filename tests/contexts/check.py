"""Compares what came with what a step expects; every difference is a line of text."""

import painter as painting
from cases import Picture, shortened


def differences(step, outcome, painter):
    found = []
    found += text_differs("stdout", step.stdout, outcome.stdout)
    found += text_differs("stderr", step.stderr, outcome.stderr)
    found += error_differs(step.error, outcome.errors)
    if step.ends:
        return found if outcome.ended else found + ["the kernel did not end"]
    if outcome.ended:
        return found + ["the kernel ended"]
    found += main_differs(step, outcome.mains, painter)
    found += displays_differ(step.displays, outcome.displays, painter)
    if outcome.status != step.expected_status():
        found.append(f"status {outcome.status}, not {step.expected_status()}")
    if step.order is not None and outcome.order != step.order:
        found.append(f"order {outcome.order}, not {step.order}")
    return found


def text_differs(what, expected, text):
    if hasattr(expected, "complaint"):
        complaint = expected.complaint(text)
        return [f"{what}: {complaint}"] if complaint else []
    return [] if text == expected else [f"{what}: {shortened(text)}, not {shortened(expected)}"]


def error_differs(expected, errors):
    if expected is None:
        return [f"an error: {error['name']}: {error['value']}\n{error['traceback']}" for error in errors]
    if len(errors) != 1:
        return [f"{len(errors)} errors in place of {expected.name}"]
    error = errors[0]
    found = text_differs("error name", expected.name, error["name"])
    found += text_differs("error value", expected.value, error["value"])
    found += text_differs("traceback", expected.traceback, error["traceback"])
    if "\x1b" in error["traceback"] or "_kernel." in error["traceback"]:
        found.append(f"colours or frames of the kernel: {shortened(error['traceback'])}")
    return found


def main_differs(step, mains, painter):
    if step.value is None:
        return [f"a value: {shortened(main)}" for main in mains]
    if len(mains) != 1:
        return [f"{len(mains)} values"]
    found = formats_differ("value", {"text": step.value, **step.formats}, mains[0], painter)
    return found + [f"the value has {name}" for name in step.no_formats if name in mains[0]]


def displays_differ(expected, displays, painter):
    if expected is None:
        return []
    if len(expected) != len(displays):
        return [f"{len(displays)} displays, not {len(expected)}: {shortened(displays)}"]
    found = []
    for number, (one, display) in enumerate(zip(expected, displays), 1):
        found += formats_differ(f"display {number}", one, display, painter)
    return found


def formats_differ(what, expected, formats, painter):
    found = []
    for name, value in expected.items():
        if name not in formats:
            found.append(f"{what} has no {name}, but {sorted(formats)}")
        elif isinstance(value, Picture):
            found += [f"{what}, {name}: {text}" for text in painting.differences(painter, value.code, formats[name])]
        else:
            found += text_differs(f"{what}, {name}", value, formats[name])
    return found
