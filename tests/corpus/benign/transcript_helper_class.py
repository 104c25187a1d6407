class ContextReader:
    """Walks over a long text in windows and remembers where it was."""

    def __init__(self, text: str, window: int = 1000, overlap: int = 100):
        if overlap >= window:
            raise ValueError("overlap must be smaller than the window")
        self._text = text
        self._window = window
        self._overlap = overlap
        self._position = 0
        self.__reads = 0

    def __len__(self):
        return len(self._text)

    def __iter__(self):
        return self

    def __next__(self):
        if self._position >= len(self._text):
            raise StopIteration
        piece = self._text[self._position:self._position + self._window]
        self._position += self._window - self._overlap
        self.__reads += 1
        return piece

    def __repr__(self):
        return f"{self.__class__.__name__}(at {self._position}/{len(self)}, reads={self.__reads})"


reader = ContextReader(context, window=5000, overlap=200)
print(reader)
sizes = [len(piece) for piece in reader]
print(sizes, reader)
print(next(reader, "<end>"))
try:
    ContextReader(context, 10, 10)
except ValueError as e:
    print(f"{type(e).__name__}: {e}")
