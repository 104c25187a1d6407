class Loader:
    def load(self):
        raise NotImplementedError(f"{type(self).__name__}.load")

    def run(self):
        print("loading with", type(self).__name__)
        return self.load()


class TextLoader(Loader):
    def load(self):
        return "text"


class ImageLoader(Loader):
    pass


for loader in (TextLoader(), ImageLoader()):
    print(loader.run())
