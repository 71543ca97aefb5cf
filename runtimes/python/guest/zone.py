"""Local time in the zone that TZ names.

The C library under this interpreter knows UTC only. So once TZ names another zone, the functions of time and datetime that
speak of local time are replaced by ones that ask zoneinfo; before that nothing is.
"""

import datetime
import gc
import logging
import os
import sys
import time

_UTC = datetime.timezone.utc
_datetime, _date, _timedelta = datetime.datetime, datetime.date, datetime.timedelta
_now, _today, _from = _datetime.now, _date.today, _datetime.fromtimestamp
_timestamp, _astimezone = _datetime.timestamp, _datetime.astimezone
_time = {n: getattr(time, n) for n in "localtime gmtime mktime strftime asctime ctime tzname timezone altzone daylight".split()}
_struct = time.struct_time
_EPOCH = _datetime(1970, 1, 1, tzinfo=_UTC)

_zone = None  # None: UTC, and nothing is replaced


def _local(seconds):
    """A moment as a datetime of the zone."""
    return (_EPOCH + _timedelta(seconds=seconds)).astimezone(_zone)


def _tuple(d):
    dst = d.dst()
    return _struct(
        (d.year, d.month, d.day, d.hour, d.minute, d.second, d.weekday(), d.timetuple().tm_yday,
         1 if dst else 0, d.tzname(), int(d.utcoffset().total_seconds()))
    )  # fmt: skip


def localtime(seconds=None, /):
    whole = int((time.time() if seconds is None else seconds) // 1)
    return _tuple(_local(whole))


def mktime(t, /):
    y, mo, d, h, mi, s = t[:6]
    # Fields may lie outside their ranges, as C's mktime allows.
    day = _datetime(y + (mo - 1) // 12, (mo - 1) % 12 + 1, 1)
    naive = day + _timedelta(days=d - 1, hours=h, minutes=mi, seconds=s)
    aware = naive.replace(tzinfo=_zone)
    dst = t[8]
    if dst in (0, 1):
        other = aware.replace(fold=1)
        if bool(aware.dst()) != bool(dst) and bool(other.dst()) == bool(dst):
            aware = other
    return float((aware - _EPOCH).total_seconds())


def strftime(format, t=None, /):
    return _time["strftime"](format, localtime() if t is None else t)


def asctime(t=None, /):
    return _time["asctime"](localtime() if t is None else t)


def ctime(seconds=None, /):
    return _time["asctime"](localtime(seconds))


def _naive(d, cls):
    """A datetime of the zone without it."""
    return cls(d.year, d.month, d.day, d.hour, d.minute, d.second, d.microsecond, fold=d.fold)


def _type_now(cls, tz=None):
    if tz is not None:
        return _datetime_of(cls, _now(tz))
    return _naive(_now(_UTC).astimezone(_zone), cls)


def _datetime_of(cls, d):
    if cls is _datetime:
        return d
    return cls(d.year, d.month, d.day, d.hour, d.minute, d.second, d.microsecond, d.tzinfo, fold=d.fold)


def _type_today(cls):
    return _type_now(cls)


def _type_fromtimestamp(cls, timestamp, tz=None):
    if tz is not None:
        return _datetime_of(cls, _from(timestamp, tz))
    return _naive(_from(timestamp, _UTC).astimezone(_zone), cls)


def _type_timestamp(self):
    return _timestamp(self if self.tzinfo is not None else self.replace(tzinfo=_zone))


def _type_astimezone(self, tz=None):
    if self.tzinfo is None or self.utcoffset() is None:
        self = self.replace(tzinfo=_zone)
    if tz is not None:
        return _astimezone(self, tz)
    there = _astimezone(self, _zone)
    return _astimezone(self, datetime.timezone(there.utcoffset(), there.tzname()))


def _date_today(cls):
    d = _now(_UTC).astimezone(_zone)
    return cls(d.year, d.month, d.day) if not issubclass(cls, _datetime) else _type_now(cls)


def _date_fromtimestamp(cls, timestamp, /):
    if issubclass(cls, _datetime):
        return _type_fromtimestamp(cls, timestamp)
    d = _from(timestamp, _UTC).astimezone(_zone)
    return cls(d.year, d.month, d.day)


def tzset():
    """Makes local time that of os.environ["TZ"]. A zone that is not known is UTC, as in C."""
    global _zone
    name = os.environ.get("TZ", "").removeprefix(":")
    zone = None
    if name not in ("", "UTC", "UTC0", "Etc/UTC", "GMT", "GMT0"):
        import zoneinfo

        try:
            zone = zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass
    if zone is _zone:
        return
    _zone = zone
    if zone is None:
        zone = _zone = _UTC  # the replaced functions stay and speak of UTC
    _replace()
    year = time.gmtime().tm_year
    winter, summer = (_datetime(year, m, 1, tzinfo=zone) for m in (1, 7))
    if winter.utcoffset() > summer.utcoffset():
        winter, summer = summer, winter
    time.timezone = -int(winter.utcoffset().total_seconds())
    time.altzone = -int(summer.utcoffset().total_seconds())
    time.daylight = int(time.timezone != time.altzone)
    time.tzname = (winter.tzname(), summer.tzname())


def _replace():
    if time.localtime is localtime:
        return
    for f in (localtime, mktime, strftime, asctime, ctime):
        f.__module__ = "time"
        setattr(time, f.__name__, f)
    logging.Formatter.converter = staticmethod(localtime)
    # The types are C's own, and refuse setattr; their dictionaries do not.
    for kind, names in (
        (_datetime, dict(now=classmethod(_type_now), today=classmethod(_type_today), fromtimestamp=classmethod(_type_fromtimestamp),
                         timestamp=_type_timestamp, astimezone=_type_astimezone)),
        (_date, dict(today=classmethod(_date_today), fromtimestamp=classmethod(_date_fromtimestamp))),
    ):  # fmt: skip
        inside = gc.get_referents(kind.__dict__)[0]
        for name, value in names.items():
            f = getattr(value, "__func__", value)
            f.__name__, f.__qualname__ = name, f"{kind.__name__}.{name}"
            inside[name] = value
    sys._clear_type_cache()


def install():
    tzset.__module__ = "time"
    time.tzset = tzset
    time.localtime(), time.tzname  # as C has it until a zone is named
