from typing import Protocol, runtime_checkable


@runtime_checkable
class Exporter(Protocol):
    name: str

    def export(self, rows: list[dict]) -> str: ...


class CsvExporter:
    name = "csv"

    def export(self, rows):
        header = list(rows[0])
        return "\n".join([",".join(header)] + [",".join(str(r[h]) for h in header) for r in rows])


class MarkdownExporter:
    name = "markdown"

    def export(self, rows):
        header = list(rows[0])
        out = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
        out += ["| " + " | ".join(str(r[h]) for h in header) + " |" for r in rows]
        return "\n".join(out)


class Broken:
    name = "broken"


rows = [{"city": "Bern", "people": 134_000}, {"city": "Genf", "people": 203_000}]
for exporter in (CsvExporter(), MarkdownExporter(), Broken()):
    if not isinstance(exporter, Exporter):
        print(f"skipping {exporter.name}")
        continue
    print(f"--- {exporter.name}")
    print(exporter.export(rows))
