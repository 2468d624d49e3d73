import logging
import sys

logging.warning("to stderr")
logging.info("not shown")
log = logging.getLogger("named")
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(module)s %(lineno)d %(funcName)s %(processName)s %(threadName)s %(message)s"))
log.addHandler(handler)
log.propagate = False


def work():
    log.error("formatted %d", 3)
    try:
        1 / 0
    except ZeroDivisionError:
        log.exception("with the traceback")


work()
