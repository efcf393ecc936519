#!/usr/bin/env python3
"""Takes the pictures of the dashboards out of what a test left behind, so that they can be looked at and kept.

    .ci/pictures.py OUTPUTS_ZIP FOLDER      the zip of //e2e/metrics:metrics_test; the folder is made anew

Prints each picture's path. Ends with 1 if there is none of a board, in one of both forms.
"""
import os
import shutil
import sys
import zipfile

PICTURES = [board + form for board in ("koord-queue", "operations") for form in (".png", ".svg")]


def main(outputs, folder):
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with zipfile.ZipFile(outputs) as left_behind:
            pictures = {name: left_behind.read("dashboards/" + name) for name in PICTURES}
    except (OSError, KeyError, zipfile.BadZipFile) as why:
        sys.exit("no pictures of the dashboards in %s: %s" % (outputs, why))
    empty = [name for name in PICTURES if not pictures[name]]
    if empty:
        sys.exit("%s: empty: %s" % (outputs, ", ".join(empty)))
    os.makedirs(folder)
    for name in PICTURES:
        path = os.path.join(folder, name)
        with open(path, "wb") as out:
            out.write(pictures[name])
        print("%s  %d bytes" % (path, len(pictures[name])))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: .ci/pictures.py OUTPUTS_ZIP FOLDER")
    main(*sys.argv[1:])
