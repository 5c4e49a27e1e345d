"""Why something cannot be done with a snapshot. Each message is a whole sentence for the user."""


class SnapshotError(Exception):
    """The snapshot that is meant does not exist, does not fit, or is none."""


class WrongName(SnapshotError):
    """What was given cannot be a snapshot's name."""


class WrongArchive(SnapshotError):
    """A file is no whole archive of ours; `str()` says why."""
