from abc import ABC, abstractmethod


class Report(ABC):
    title = "Report"

    def render(self, rows):
        parts = [self.header()]
        parts.extend(self.line(i, row) for i, row in enumerate(rows, 1))
        if footer := self.footer(rows):
            parts.append(footer)
        return "\n".join(parts)

    def header(self):
        return self.title

    @abstractmethod
    def line(self, number, row):
        """One line for a row."""

    def footer(self, rows):
        return ""


class Text(Report):
    title = "TEXT"

    def line(self, number, row):
        return f"{number}. {row['name']}: {row['n']}"


class Html(Report):
    def header(self):
        return f"<h1>{super().header()}</h1>\n<ul>"

    def line(self, number, row):
        return "  <li>{name} <b>{n}</b></li>".format(**row)

    def footer(self, rows):
        return f"</ul><p>{len(rows)} rows, {sum(r['n'] for r in rows)} in all</p>"


rows = [{"name": "errors", "n": context.count("ERROR")}, {"name": "warnings", "n": context.count("WARNING")}]
for cls in (Text, Html):
    print(f"-- {cls.__name__}")
    print(cls().render(rows))
print(Report.line.__doc__)
