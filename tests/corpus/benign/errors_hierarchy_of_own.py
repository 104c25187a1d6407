class AppError(Exception):
    code = 500

    def __init__(self, message="", **details):
        super().__init__(message)
        self.details = details

    def __str__(self):
        base = super().__str__() or self.__class__.__name__
        return base + (f" ({', '.join(f'{k}={v}' for k, v in self.details.items())})" if self.details else "")


class NotFound(AppError):
    code = 404


class Forbidden(AppError):
    code = 403


class Retryable(AppError):
    code = 503
    retry_after = 1.5


def handle(path):
    match path.split("/"):
        case ["", "admin", *_]:
            raise Forbidden(user="guest")
        case ["", "items", ident] if ident.isdigit():
            return {"id": int(ident)}
        case ["", "busy"]:
            raise Retryable("try later")
        case _:
            raise NotFound(f"no page {path}", tried=1)


for path in ("/items/7", "/admin/users", "/nothing", "/busy", "/items/x"):
    try:
        print(200, handle(path))
    except Retryable as e:
        print(e.code, e, f"after {e.retry_after}s")
    except AppError as e:
        print(e.code, e, repr(e.args), [c.__name__ for c in type(e).__mro__[:-2]])
