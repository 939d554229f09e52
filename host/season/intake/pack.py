"""Packs a bot's folder into an archive. The same files give the same bytes, so that a season recognises them."""

import gzip
import io
import tarfile
from pathlib import Path

from host.base.errors import UserError
from host.submissions.file_tree import FileTree, TreeLimits, read_files


def packed(folder: Path, limits: TreeLimits) -> bytes:
    """Return the bytes of a .tar.gz of a folder.

    Raise UserError if a bot may not have one of the files, or if they exceed the limits.
    """
    tree = FileTree(folder, limits)
    if tree.problems:
        raise UserError(tree.problems, 4)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in read_files(folder, tree.names, limits.file_bytes):
            entry = tarfile.TarInfo(file.name)
            entry.size, entry.mode = len(file.content), 0o755 if file.executable else 0o644
            archive.addfile(entry, io.BytesIO(file.content))
    return gzip.compress(plain.getvalue(), mtime=0)
