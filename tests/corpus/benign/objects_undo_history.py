class Editor:
    def __init__(self, text=""):
        self.text = text
        self._undo, self._redo = [], []

    def do(self, command, *args):
        handler = getattr(self, f"do_{command}", None)
        if handler is None:
            raise AttributeError(f"no command {command!r}")
        before = self.text
        handler(*args)
        self._undo.append(before)
        self._redo.clear()
        return self

    def do_insert(self, at, what):
        self.text = self.text[:at] + what + self.text[at:]

    def do_delete(self, start, end):
        self.text = self.text[:start] + self.text[end:]

    def do_replace(self, old, new):
        if old not in self.text:
            raise ValueError(f"{old!r} not found")
        self.text = self.text.replace(old, new)

    def undo(self):
        if self._undo:
            self._redo.append(self.text)
            self.text = self._undo.pop()
        return self

    def redo(self):
        if self._redo:
            self._undo.append(self.text)
            self.text = self._redo.pop()
        return self


e = Editor("hello world")
print(e.do("insert", 5, ",").do("replace", "world", "there").text)
print(e.undo().text, "|", e.undo().text, "|", e.undo().text, "|", e.redo().text)
print(e.do("delete", 0, 1).text, len(e._undo), e.redo().text)
for bad in (("replace", "xyz", ""), ("shout",)):
    try:
        e.do(*bad)
    except (ValueError, AttributeError) as error:
        print(type(error).__name__, error)
print([name[3:] for name in dir(Editor) if name.startswith("do_")])
