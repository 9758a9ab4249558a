"""What a file is, by its first bytes, if it is not the table that it was given as."""

import re

HEAD = 2**16  # how many of its first bytes tell
AS_UTF8 = "save it as CSV in UTF-8 (in a spreadsheet: Save as, CSV UTF-8)"
_UNPACK = "unpack it, and upload the file inside"
_PARQUET = b"PAR1"
_STARTS = {
    b"\x89PNG": ("a PNG image", AS_UTF8),
    b"\xff\xd8\xff": ("a JPEG image", AS_UTF8),
    b"GIF8": ("a GIF image", AS_UTF8),
    b"%PDF": ("a PDF document", AS_UTF8),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook (.xls)", AS_UTF8),
    b"\x1f\x8b": ("compressed with gzip", _UNPACK),
    b"BZh": ("compressed with bzip2", _UNPACK),
    b"(\xb5/\xfd": ("compressed with zstd", _UNPACK),
    b"\xfd7zXZ": ("compressed with xz", _UNPACK),
    b"7z\xbc\xaf\x27\x1c": ("a 7-Zip archive", _UNPACK),
    _PARQUET: ("a Parquet file", "it can be uploaded as Parquet: name it .parquet"),
    b"SQLite format 3": ("a SQLite database", AS_UTF8),
    b"\x80\x04\x95": ("a pickle", AS_UTF8),
    b"\xff\xfe": ("text in UTF-16", AS_UTF8),
    b"\xfe\xff": ("text in UTF-16", AS_UTF8),
}
_ZIP = b"PK\x03\x04"
_IN_EXCEL = (b"[Content_Types].xml", b"xl/")
_JSON = re.compile(rb"\s*(\[\s*)?(\{\s*(\"|\})|\[\s*([\[\d\"]|null))")
_JSON_LINES = re.compile(rb"\s*\{[^\n]*\}\s*\n\s*\{")
_MARKUP = re.compile(rb"\s*<(!doctype html|html|\?xml)", re.IGNORECASE)


def not_csv(head: bytes) -> str:
    """Return what a file is that is not CSV, and the remedy; empty if it may be CSV."""
    for start, (kind, remedy) in _STARTS.items():
        if head.startswith(start):
            return f"this is not CSV but {kind}; {remedy}"
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.startswith(_ZIP):
        if any(part in head for part in _IN_EXCEL):
            return f"this is not CSV but an Excel workbook (.xlsx); {AS_UTF8}"
        return (
            f"this is not CSV but a ZIP archive or a spreadsheet (.xlsx); unpack it, or {AS_UTF8}"
        )
    if _JSON.match(head):
        lines = ", lines=True" if _JSON_LINES.match(head) else ""
        return (
            "this is not CSV but JSON; convert it, for example in Python: "
            f'pandas.read_json("FILE"{lines}).to_csv("FILE.csv", index=False)'
        )
    if markup := _MARKUP.match(head):
        kind = "XML" if markup[1].startswith(b"?") else "an HTML page"
        return f"this is not CSV but {kind}; export or download the data as CSV"
    return ""


def not_parquet(head: bytes) -> str:
    """Return that a file is not Parquet, and the remedy; empty if it may be."""
    if head.startswith(_PARQUET):
        return ""
    return "this is not a Parquet file; write it again, or upload it as CSV"
